//! Clients of Python programs.

use snowflake_e2e::bigint;

use crate::program::{Program, row};

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
fn assert_issued_at(program: &Program, printed: &str) {
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

/// Django: the migration has the default and the generated column. `save()` sets the ID, and
/// `bulk_create()` does with keys that are automatic for Django.
#[test]
fn django() {
    let program = Program::of("django");
    program.python(&["manage.py", "makemigrations", "orders"]);
    program.python(&["manage.py", "migrate"]);
    let again = program.python(&["manage.py", "makemigrations", "--check", "--dry-run"]);
    assert!(again.contains("No changes detected"), "{again}");
    let printed = program.python(&["insert.py"]);
    let (cups, orders): (Vec<&str>, Vec<&str>) =
        printed.lines().partition(|line| line.starts_with("cup "));
    assert_eq!(program.assert_orders(&orders.join("\n")), 3);
    assert_issued_at(&program, &printed);
    let wrong = "SELECT count(*) FROM orders WHERE created_at <> snowflake_timestamp(id)";
    assert_eq!(bigint(&mut program.cluster.connect(), wrong), 0);
    assert_eq!(ids(&cups), program.ids("cups"));
}

fn ids(lines: &[&str]) -> Vec<i64> {
    lines.iter().filter_map(|line| row(line)).map(|(_, id)| id).collect()
}

/// `inspectdb` takes a key with the default for an automatic one, so that rows can be inserted, and
/// `bulk_create()` sets IDs. It makes no model of what belongs to the extension.
#[test]
fn django_inspects_a_default() {
    let program = Program::of("django");
    program
        .cluster
        .connect()
        .batch_execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text)",
        )
        .expect("a table");
    let models = program.python(&["manage.py", "inspectdb"]);
    assert_eq!(models.matches("(models.Model)").count(), 1, "{models}");
    assert!(models.contains("id = models.BigAutoField(primary_key=True)"), "{models}");
    program.write("orders/models.py", &models);
    let printed = program.python(&["-c", INSPECTED]);
    assert_eq!(program.assert_orders(&printed), 3);
}

const INSPECTED: &str = r#"
import django
django.setup()
from orders.models import Orders
orders = [Orders.objects.create(item="tea")]
orders += Orders.objects.bulk_create([Orders(item="milk"), Orders(item="sugar")])
for order in orders:
    print(order.item, order.id)
"#;

/// `bulk_create()` leaves an expression in place of the ID, if the key has a `db_default`.
#[test]
fn django_does_not_set_ids_of_a_db_default_in_bulk() {
    let program = Program::of("django");
    program.python(&["manage.py", "makemigrations", "orders"]);
    program.python(&["manage.py", "migrate"]);
    let bulk = "import django; django.setup(); from orders.models import Order
print(*[type(o.id).__name__ for o in Order.objects.bulk_create([Order(item='a'), Order(item='b')])])";
    assert_eq!(program.python(&["-c", bulk]), "DatabaseDefault DatabaseDefault\n");
    assert_eq!(program.ids("orders").len(), 2);
}
