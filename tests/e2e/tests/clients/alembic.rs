//! Alembic, which makes migrations of what differs between SQLAlchemy's models and the database.

use std::process::Output;

use snowflake_e2e::error_of;

use crate::program::{Program, error, stdout, use_own_schema};

/// What `alembic init` sets up, with `env.py` and the models of the program.
fn program() -> Program {
    let program = Program::of("alembic");
    stdout(alembic(&program, &["init", "migrations"]));
    program.write(ENV, &program.read("env.py"));
    program
}

/// What Alembic's command line does.
pub fn alembic(program: &Program, arguments: &[&str]) -> Output {
    program.tool("alembic", arguments)
}

/// Makes a migration of all differences. Returns its statements.
#[track_caller]
pub fn revision(program: &Program, name: &str) -> String {
    stdout(alembic(program, &["revision", "--autogenerate", "--rev-id", name]));
    let migration = program.read(&format!("migrations/versions/{name}_.py"));
    let (_, upgrade) = migration.split_once("def upgrade()").expect("an upgrade");
    upgrade.split("def downgrade()").next().expect("an upgrade").to_owned()
}

#[track_caller]
fn upgrade(program: &Program) {
    stdout(alembic(program, &["upgrade", "head"]));
}

/// Asserts that the models are like the database.
#[track_caller]
pub fn assert_no_difference(program: &Program) {
    let found = stdout(alembic(program, &["check"]));
    assert!(found.contains("No new upgrade operations detected"), "{found}");
}

/// Inserts three orders through the model.
#[track_caller]
fn assert_inserts(program: &Program) {
    assert_eq!(program.assert_orders(&program.python(&["-c", INSERT])), 3);
}

const INSERT: &str = r#"
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

/// What configures it.
pub const ENV: &str = "migrations/env.py";
const ALL_SCHEMAS: &str = "        include_schemas=True,\n";
const FILTER: &str = "        include_name=include_name,\n";
const DEFAULTS: &str = "        compare_server_default=True,\n";

/// A migration creates the table with the default, and there is no difference afterwards, also if
/// Alembic compares defaults, and wherever the extension is.
#[test]
fn the_extension_is_left_alone() {
    for own_schema in [false, true] {
        let program = program();
        if own_schema {
            use_own_schema(&program.cluster);
        }
        let created = revision(&program, "first");
        let default = "server_default=sa.text('snowflake_nextval()')";
        assert!(created.contains(default) && !created.contains("drop"), "{created}");
        upgrade(&program);
        assert_no_difference(&program);
        program.replace(ENV, FILTER, &[FILTER, DEFAULTS].concat());
        assert_no_difference(&program);
        assert_inserts(&program);
    }
}

/// With `include_schemas`, and without `include_name`, a migration drops the tables of the
/// extension, and fails.
#[test]
fn the_tables_of_all_schemas_are_dropped() {
    let program = program();
    program.replace(ENV, FILTER, "");
    let migration = revision(&program, "first");
    let drop = "op.drop_table('snowflake_layout', schema='snowflake_internal')";
    assert!(migration.contains(drop), "{migration}");
    let said = error(alembic(&program, &["upgrade", "head"]));
    assert!(said.contains("because extension snowflake requires it"), "{said}");
}

/// Without both, Alembic looks at one schema, where the extension has no tables.
#[test]
fn views_are_not_looked_at() {
    let program = program();
    program.replace(ENV, &[ALL_SCHEMAS, FILTER].concat(), "");
    let created = revision(&program, "first");
    assert!(created.contains("create_table") && !created.contains("drop"), "{created}");
    upgrade(&program);
    assert_no_difference(&program);
}

/// A program whose model has an identity of this type, and whose table was converted; and the model
/// as the page declares it.
fn converted(of_type: &str) -> (Program, String) {
    const CONVERT: &str = "SELECT FROM snowflake_convert('orders', 'id', dry_run => false)";
    let program = program();
    let declared = program.read("models.py");
    program.write("models.py", &IDENTITY.replace("KEY", of_type));
    assert!(revision(&program, "first").contains("sa.Identity("));
    upgrade(&program);
    program.cluster.connect().batch_execute(CONVERT).expect("a conversion");
    (program, declared)
}

const IDENTITY: &str = r#"
from sqlalchemy import BigInteger, Identity, Integer
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

class Base(DeclarativeBase):
    pass

class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(KEY, Identity(), primary_key=True)
    item: Mapped[str]
"#;

/// A model that keeps `Identity()` after a conversion takes IDs if it is a `BigInteger`. Where
/// Alembic compares defaults, it fails, and finds no difference with the model of the program.
#[test]
fn a_model_that_keeps_its_identity_takes_ids() {
    let (program, declared) = converted("BigInteger");
    assert_no_difference(&program);
    assert_inserts(&program);
    program.replace(ENV, FILTER, &[FILTER, DEFAULTS].concat());
    let said = error(alembic(&program, &["check"]));
    assert!(said.trim_end().ends_with("AssertionError"), "{said}");
    program.write("models.py", &declared);
    assert_no_difference(&program);
}

/// If the model keeps an `Integer`, a migration makes the converted column one again, and inserts
/// fail.
#[test]
fn an_integer_is_changed_back() {
    let (program, _) = converted("Integer");
    let migration = revision(&program, "second");
    assert!(migration.contains("type_=sa.Integer()"), "{migration}");
    upgrade(&program);
    let error = error_of(
        program.cluster.connect().batch_execute("INSERT INTO orders (item) VALUES ('tea')"),
    );
    assert_eq!(error.message(), "integer out of range");
}
