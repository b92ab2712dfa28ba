"""The script and a table, in one transaction."""

from pathlib import Path

import psycopg

with psycopg.connect() as connection:
    connection.execute(Path("snowflake.sql").read_text())
    connection.execute(Path("orders.sql").read_text())
