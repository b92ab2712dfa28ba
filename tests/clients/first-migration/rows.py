"""Rows of a table that was created before."""

import psycopg

with psycopg.connect() as connection:
    for item in ["tea", "milk", "sugar"]:
        insert = "INSERT INTO orders (item) VALUES (%s) RETURNING item, id"
        print(*connection.execute(insert, [item]).fetchone())
