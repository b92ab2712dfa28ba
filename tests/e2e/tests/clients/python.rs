//! Clients of Python programs.

use crate::program::Program;

/// psycopg: an ID is an int, and its time a datetime; with RETURNING, of many rows, and by COPY.
#[test]
fn psycopg() {
    let program = Program::of("psycopg");
    let printed = program.python(&["orders.py"]);
    assert_eq!(program.assert_orders(&printed), 1003);
    assert_issued_at(&program, &printed);
}

/// Asserts that the program printed the types of the ID of `tea` and of its time, and this time.
#[track_caller]
pub fn assert_issued_at(program: &Program, printed: &str) {
    let query = "SELECT to_char(snowflake_timestamp(id), 'YYYY-MM-DD\"T\"HH24:MI:SS')
         FROM orders WHERE item = 'tea'";
    let row = program.cluster.connect().query_one(query, &[]).expect("a row");
    let expected = format!("<class 'int'> <class 'datetime.datetime'> {}", row.get::<_, &str>(0));
    assert!(printed.lines().any(|line| line.starts_with(&expected)), "{expected}\n{printed}");
}

/// SQLAlchemy: a flush inserts row by row, and a bulk insert with one statement for 1,000 rows.
#[test]
fn sqlalchemy() {
    let program = Program::of("sqlalchemy");
    let printed = program.python(&["orders.py"]);
    assert_eq!(program.assert_orders(&printed), 1004);
    assert_eq!(program.inserts("orders"), 3 + 1 + 1);
}

/// A table that SQLAlchemy reads from the database takes IDs from its default, and so does one that
/// is declared with a `FetchedValue`. A column that is declared with `autoincrement=True` becomes a
/// serial, whatever its default.
#[test]
fn sqlalchemy_reflects_the_default_and_makes_a_serial_of_autoincrement() {
    let program = Program::of("sqlalchemy");
    program
        .cluster
        .connect()
        .batch_execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text)",
        )
        .expect("a table");
    let printed = program.python(&["-c", REFLECTION]);
    assert_eq!(program.assert_orders(&printed), 2);
    assert!(printed.contains("id BIGSERIAL NOT NULL"), "{printed}");
}

const REFLECTION: &str = r#"
from sqlalchemy import *
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

engine = create_engine("postgresql+psycopg://")
metadata = MetaData()
orders = Table("orders", metadata, autoload_with=engine)
with engine.begin() as connection:
    print("tea", connection.execute(insert(orders).values(item="tea")).inserted_primary_key[0])
key = Column("id", BigInteger, primary_key=True, server_default=FetchedValue())
orders = Table("orders", MetaData(), key, Column("item", Text))
with engine.begin() as connection:
    print("milk", connection.execute(insert(orders).values(item="milk")).inserted_primary_key[0])
default = text("snowflake_nextval()")
key = Column("id", BigInteger, primary_key=True, autoincrement=True, server_default=default)
print(CreateTable(Table("serial", metadata, key)).compile(dialect=postgresql.dialect()))
"#;
