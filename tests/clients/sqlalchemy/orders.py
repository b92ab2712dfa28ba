from sqlalchemy import BigInteger, create_engine, insert, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(
        BigInteger,
        primary_key=True,
        autoincrement=False,
        server_default=text("snowflake_nextval()"),
    )
    item: Mapped[str]


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
