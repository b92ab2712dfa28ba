from pathlib import Path


def test_orders(postgresql):
    postgresql.execute(Path("orders.sql").read_text())
    insert = "INSERT INTO orders (id, item) VALUES (1, 'tea'), (DEFAULT, 'milk') RETURNING id"
    first, second = (id for (id,) in postgresql.execute(insert))
    assert first == 1 < second
