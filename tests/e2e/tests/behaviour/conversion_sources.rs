//! Which functions a conversion reads, since any role can create functions, as large as it wants.

use std::thread;

use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, bigint, error_of, eventually};

/// A trigger of the table calls a function of the owner, which calls one of another role.
const OWNERS: &str = "
    CREATE TABLE orders (id serial PRIMARY KEY);
    CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM other.log(1); RETURN NEW; END';
    CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION audit();
    CREATE FUNCTION near() RETURNS int LANGUAGE plpgsql AS
        'DECLARE x int; BEGIN SELECT max(id) INTO x FROM orders; RETURN x; END';";

const OTHERS: &str = "
    CREATE FUNCTION far() RETURNS text LANGUAGE plpgsql AS
        'DECLARE x int; BEGIN SELECT max(id) INTO x FROM orders; RETURN x; END';
    CREATE FUNCTION log(text) RETURNS text LANGUAGE plpgsql AS
        'DECLARE x int; BEGIN RETURN x; END';
    CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS
        'DECLARE x int; BEGIN x := NEW.id; RETURN NEW; END';
    CREATE FUNCTION viewed(bigint) RETURNS text LANGUAGE plpgsql AS
        'DECLARE x int; BEGIN SELECT max(id) INTO x FROM orders; RETURN x; END';
    GRANT USAGE ON SCHEMA other TO PUBLIC;";

fn setting() -> (Cluster, Client, Client) {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE ROLE app LOGIN; CREATE ROLE other LOGIN;
             GRANT CREATE ON SCHEMA public TO app; CREATE SCHEMA other AUTHORIZATION other;",
        )
        .expect("roles");
    let session = |role: &str| {
        let mut client = cluster.config().user(role).connect(NoTls).expect("a session");
        client.batch_execute("SET search_path = \"$user\", public").expect("set");
        client
    };
    let (mut app, mut other) = (session("app"), session("other"));
    app.batch_execute(OWNERS).expect("a table");
    other.batch_execute(OTHERS).expect("functions");
    (cluster, app, other)
}

fn reason(client: &mut Client, object: &str) -> Option<String> {
    let query =
        "SELECT string_agg(reason, ' ') FROM snowflake_convert_report('orders') WHERE object = $1";
    client.query_one(query, &[&object]).expect("a report").get(0)
}

#[test]
fn functions_of_other_roles_are_read_where_the_tables_lead_to_them() {
    let (cluster, mut app, _other) = setting();
    assert!(
        reason(&mut app, "public.near()")
            .is_some_and(|reason| reason.contains("names a converted table"))
    );
    assert_eq!(reason(&mut app, "other.far()"), None);
    // A name that is called need not be that of this function.
    let unread = reason(&mut app, "other.log(text)").expect("a row");
    assert!(unread.contains("was not read, and triggers of public.orders call it"), "{unread}");
    for (leads, object) in [
        (
            "CREATE TRIGGER u BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION other.fired()",
            "other.fired()",
        ),
        ("CREATE VIEW v AS SELECT other.viewed(id) FROM orders", "other.viewed(bigint)"),
        ("ALTER TABLE orders ADD CHECK (other.viewed(id) <> '')", "other.viewed(bigint)"),
        (
            "CREATE RULE r AS ON UPDATE TO orders DO ALSO SELECT other.viewed(NEW.id)",
            "other.viewed(bigint)",
        ),
        ("ALTER TABLE orders ADD x text DEFAULT other.viewed(1)", "other.viewed(bigint)"),
    ] {
        let mut client = cluster.connect();
        client.batch_execute(&format!("BEGIN; {leads}")).expect(leads);
        let reason = reason(&mut client, object).unwrap_or_else(|| panic!("{leads}: no row"));
        assert!(reason.contains("integer parameters, results or variables"), "{leads}: {reason}");
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// PostgreSQL knows the size of a source without reading it.
#[test]
fn a_function_above_a_megabyte_is_named_and_not_read() {
    let (_cluster, mut app, mut other) = setting();
    let large = |name: &str, size: usize| {
        format!(
            "CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS
                 $f$ DECLARE x int; BEGIN /* {} */ SELECT max(id) INTO x FROM orders; RETURN NEW; END $f$",
            "orders ".repeat(size / 7)
        )
    };
    app.batch_execute(&large("large", 2 << 20)).expect("a function");
    other.batch_execute(&large("large", 2 << 20)).expect("a function");
    let unread = reason(&mut app, "public.large()").expect("a row");
    assert!(unread.contains("Its source, which has 2048 kB, was not read."), "{unread}");
    assert_eq!(reason(&mut app, "other.large()"), None);
    // Of one that a trigger calls, somebody has to know.
    let trigger =
        "CREATE TRIGGER u BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION other.large()";
    app.batch_execute(trigger).expect("a trigger");
    let unread = reason(&mut app, "other.large()").expect("a row");
    assert!(unread.contains("and triggers of public.orders call it"), "{unread}");
    let convert = "SELECT snowflake_convert('orders', 'id', dry_run => false,
        acknowledged => ARRAY['other.log(text)']::regprocedure[])";
    let error = error_of(app.query(convert, &[]));
    assert!(error.detail().is_some_and(|detail| detail.contains("other.large()")), "{error:?}");
    // Nor is the text of it in the statements.
    let longest = "SELECT max(length(statement))::bigint FROM snowflake_convert('orders', 'id')";
    assert!(bigint(&mut app, longest) < 10_000);
    app.batch_execute(&large("large", 1000)).expect("a function");
    let read = reason(&mut app, "public.large()").expect("a row");
    assert!(read.contains("integer parameters, results or variables"), "{read}");
}

/// What a conversion waits for, nobody else has to wait for it to read functions.
#[test]
fn functions_are_read_before_the_lock_and_not_again() {
    let (cluster, mut app, _other) = setting();
    let mut client = cluster.connect();
    client.batch_execute("BEGIN; LOCK TABLE orders IN ACCESS SHARE MODE").expect("locked");
    let converting = thread::spawn(move || {
        let convert = "SELECT statement FROM snowflake_convert('orders', 'id', dry_run => false,
            acknowledged => ARRAY['other.log(text)']::regprocedure[]) WHERE step = 'functions'";
        let rows = app.query(convert, &[]).expect("converted");
        rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
    });
    let mut watcher = cluster.connect();
    eventually("the conversion waits for the table", || {
        let waiting =
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'orders'::regclass";
        bigint(&mut watcher, waiting) == 1
    });
    watcher
        .batch_execute(
            "CREATE OR REPLACE FUNCTION near() RETURNS int LANGUAGE plpgsql AS
                 'DECLARE y int; BEGIN SELECT min(id) INTO y FROM orders; RETURN y; END'",
        )
        .expect("replaced");
    client.batch_execute("COMMIT").expect("released");
    let statements = converting.join().expect("converted");
    assert!(statements.contains("max(id) INTO x"), "{statements}");
}
