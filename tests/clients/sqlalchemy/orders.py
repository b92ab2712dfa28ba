from models import Base, Order
from sqlalchemy import create_engine, insert
from sqlalchemy.orm import Session

# The connection is that of the environment: PGHOST and others, or what is set here.
engine = create_engine("postgresql+psycopg://")
Base.metadata.create_all(engine)

# A flush sends one statement for each row, and sets the IDs that it returns.
with Session(engine) as session:
    orders = [Order(item=item) for item in ["tea", "milk", "sugar"]]
    session.add_all(orders)
    session.commit()
    for order in orders:
        print(order.item, order.id)

# A bulk insert sends many rows with each statement.
with Session(engine) as session:
    cups = [{"item": f"cup-{number}"} for number in range(1000)]
    for order in session.scalars(insert(Order).returning(Order), cups):
        print(order.item, order.id)
    session.commit()

# Core, without objects.
with engine.begin() as connection:
    returned = connection.execute(insert(Order).values(item="cake").returning(Order.id))
    print("cake", returned.scalar_one())
