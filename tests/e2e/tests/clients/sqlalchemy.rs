//! SQLAlchemy, and Alembic, which makes migrations of what differs between its models and the
//! database.

use snowflake_e2e::error_of;

use crate::program::{Program, use_own_schema};

/// A table that SQLAlchemy reads from the database takes IDs from its default, and so does one that
/// is declared with a `FetchedValue`. A column that is declared with `autoincrement=True` becomes a
/// serial, whatever its default.
#[test]
fn sqlalchemy_reflects_the_default_and_makes_a_serial_of_autoincrement() {
    let program = Program::of("sqlalchemy");
    program
        .sql("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text)");
    let printed = program.eval("python -c", REFLECTION);
    assert_eq!(program.assert_orders(&printed), 2);
    assert!(printed.contains("id BIGSERIAL NOT NULL"), "{printed}");
}

const REFLECTION: &str = r#"
from sqlalchemy import *
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

engine = create_engine("postgresql+psycopg://")
key = Column("id", BigInteger, primary_key=True, server_default=FetchedValue())
for item, orders in [
    ("tea", Table("orders", MetaData(), autoload_with=engine)),
    ("milk", Table("orders", MetaData(), key, Column("item", Text))),
]:
    with engine.begin() as connection:
        print(item, connection.execute(insert(orders).values(item=item)).inserted_primary_key[0])
default = text("snowflake_nextval()")
key = Column("id", BigInteger, primary_key=True, autoincrement=True, server_default=default)
print(CreateTable(Table("serial", MetaData(), key)).compile(dialect=postgresql.dialect()))
"#;

/// Sets up Alembic by `alembic init`, with `env.py` and the models of the program.
fn alembic() -> Program {
    let program = Program::of("sqlalchemy");
    program.run("alembic init migrations");
    program.write(ENV, &program.read("env.py"));
    program
}

/// Makes a migration of all differences. Returns its statements.
#[track_caller]
pub fn revision(program: &Program, name: &str) -> String {
    program.run(&format!("alembic revision --autogenerate --rev-id {name}"));
    let migration = program.read(&format!("migrations/versions/{name}_.py"));
    let (_, upgrade) = migration.split_once("def upgrade()").expect("an upgrade");
    upgrade.split("def downgrade()").next().expect("an upgrade").to_owned()
}

/// Asserts that the models are like the database.
#[track_caller]
pub fn assert_no_difference(program: &Program) {
    let found = program.run("alembic check");
    assert!(found.contains("No new upgrade operations detected"), "{found}");
}

/// Inserts orders through the model.
#[track_caller]
fn assert_inserts(program: &Program) {
    let insert = r#"
from models import Order
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

with Session(create_engine("postgresql+psycopg://")) as session:
    orders = [Order(item=item) for item in ["tea", "milk", "sugar"]]
    session.add_all(orders)
    session.commit()
    for order in orders:
        print(order.item, order.id)
"#;
    assert_eq!(program.assert_orders(&program.eval("python -c", insert)), 3);
}

/// The configuration of Alembic.
pub const ENV: &str = "migrations/env.py";
const FILTER: &str = "        include_name=include_name,\n";
const DEFAULTS: &str = "        compare_server_default=True,\n";

/// A migration creates the table with the default, and there is no difference afterwards, also if
/// Alembic compares defaults, and wherever the extension is.
#[test]
fn alembic_leaves_the_extension_alone() {
    for own_schema in [false, true] {
        let program = alembic();
        if own_schema {
            use_own_schema(&program.cluster);
        }
        let created = revision(&program, "first");
        let default = "server_default=sa.text('snowflake_nextval()')";
        assert!(created.contains(default) && !created.contains("drop"), "{created}");
        program.run("alembic upgrade head");
        assert_no_difference(&program);
        program.replace(ENV, FILTER, &[FILTER, DEFAULTS].concat());
        assert_no_difference(&program);
        assert_inserts(&program);
    }
}

/// With `include_schemas`, and without `include_name`, a migration drops the tables of the
/// extension, and fails.
#[test]
fn alembic_drops_the_tables_of_all_schemas() {
    let program = alembic();
    program.replace(ENV, FILTER, "");
    let migration = revision(&program, "first");
    let drop = "op.drop_table('snowflake_layout', schema='snowflake_internal')";
    assert!(migration.contains(drop), "{migration}");
    let said = program.error("alembic upgrade head");
    assert!(said.contains("because extension snowflake requires it"), "{said}");
}

/// After a conversion, a model that keeps its identity column takes IDs if it is a `BigInteger`,
/// and Alembic finds no difference, nor with the model of the page. If it keeps an `Integer`, a
/// migration makes the converted column one again, and inserts fail.
#[test]
fn alembic_after_a_conversion() {
    let program = alembic();
    let declared = program.read("models.py");
    let identity = |of_type: &str| {
        let key = format!("        {of_type}, Identity(),\n");
        let models = declared.replace("import BigInteger", "import BigInteger, Identity, Integer");
        let models = models.replace("        BigInteger,\n", &key);
        let models = models.replace("        autoincrement=False,\n", "");
        models.replace("        server_default=text(\"snowflake_nextval()\"),\n", "")
    };
    let [narrow, wide] = ["Integer", "BigInteger"].map(identity);
    program.write("models.py", &narrow);
    assert!(revision(&program, "first").contains("sa.Identity("));
    program.run("alembic upgrade head");
    program.sql(
        "ALTER TABLE orders ALTER id DROP IDENTITY, ALTER id TYPE bigint,
            ALTER id SET DEFAULT snowflake_nextval()",
    );

    program.write("models.py", &wide);
    assert_no_difference(&program);
    assert_inserts(&program);
    program.replace(ENV, FILTER, &[FILTER, DEFAULTS].concat());
    program.write("models.py", &declared);
    assert_no_difference(&program);

    program.replace(ENV, DEFAULTS, "");
    program.write("models.py", &narrow);
    let migration = revision(&program, "second");
    assert!(migration.contains("type_=sa.Integer()"), "{migration}");
    program.sql("TRUNCATE orders");
    program.run("alembic upgrade head");
    let insert = "INSERT INTO orders (item) VALUES ('tea')";
    let error = error_of(program.cluster.connect().batch_execute(insert));
    assert_eq!(error.message(), "integer out of range");
}
