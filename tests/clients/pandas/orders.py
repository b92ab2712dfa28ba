import pandas
import polars
from sqlalchemy import create_engine, text

# The connection is that of the environment: PGHOST and others, or what is set here.
engine = create_engine("postgresql+psycopg://")
with engine.begin() as connection:
    connection.execute(
        text(
            """CREATE TABLE orders (
                   id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
                   item text NOT NULL,
                   repeats bigint REFERENCES orders
               )"""
        )
    )

# The default gives the IDs, because the frame has none.
items = pandas.DataFrame({"item": ["tea", "milk", "sugar"]})
items.to_sql("orders", engine, if_exists="append", index=False)
with engine.begin() as connection:
    repeat = "INSERT INTO orders (item, repeats) SELECT 'cake', max(id) FROM orders"
    connection.execute(text(repeat))

# With this dtype_backend, a column of IDs in which some are NULL stays one of integers.
query = "SELECT id, item, repeats FROM orders ORDER BY id"
orders = pandas.read_sql(query, engine, dtype_backend="numpy_nullable")
for order in orders.itertuples():
    print(order.item, order.id)
print(*orders.dtypes[["id", "repeats"]])

# polars needs no option.
orders = polars.read_database(query, engine)
print(*orders.select("id", "repeats").dtypes)
