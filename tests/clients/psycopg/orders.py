import psycopg

# The connection is that of the environment: PGHOST and others, or what is set here.
with psycopg.connect(autocommit=True) as connection:
    insert = "INSERT INTO orders (item) VALUES (%s) RETURNING id, snowflake_timestamp(id)"
    order_id, issued_at = connection.execute(insert, ["tea"]).fetchone()
    print("tea", order_id)
    print(type(order_id).__name__)
    print("issued at", round(issued_at.timestamp() * 1000))

    # Many rows, whose IDs are wanted: one result for each row, in order.
    items = ["milk", "sugar"]
    cursor = connection.cursor()
    cursor.executemany(insert, [[item] for item in items], returning=True)
    for item, result in zip(items, cursor.results()):
        print(item, result.fetchone()[0])

    # Very many rows: take the IDs first, and COPY them with the rows.
    items = [f"cup-{number}" for number in range(1000)]
    ids = cursor.execute("SELECT snowflake_nextval(%s)", [len(items)]).fetchall()
    with cursor.copy("COPY orders (id, item) FROM STDIN") as copy:
        for (order_id,), item in zip(ids, items):
            copy.write_row([order_id, item])
            print(item, order_id)
