//! What belongs to other roles is not changed, called or read with the rights of the owner: the
//! conversion is refused, and names it.

use postgres::error::SqlState;
use snowflake_e2e::error_of;

use super::{TABLE, assert_refused, session, spied, start};

#[test]
fn what_belongs_to_several_owners_is_refused_and_named() {
    let (cluster, mut client) = start();
    session(&cluster, "mallory").batch_execute(TABLE).expect("a table");
    session(&cluster, "app")
        .batch_execute(
            "CREATE TABLE customers (id serial PRIMARY KEY);
             INSERT INTO customers DEFAULT VALUES;
             GRANT REFERENCES ON customers TO mallory;
             CREATE TABLE parted (id int, day int) PARTITION BY RANGE (day);
             CREATE TABLE parent (id serial);
             CREATE SEQUENCE mixed_keys;
             CREATE TABLE mixed (id int PRIMARY KEY DEFAULT nextval('mixed_keys'));
             CREATE TABLE big (id bigserial PRIMARY KEY);
             GRANT REFERENCES ON big TO mallory;",
        )
        .expect("tables");
    session(&cluster, "mallory")
        .batch_execute(
            "CREATE TABLE mallory.visits (customer int REFERENCES public.customers CHECK \
             (mallory.spy('check') AND customer > 0));
             INSERT INTO mallory.visits VALUES (1);
             CREATE TABLE mallory.refers (id bigint REFERENCES public.big CHECK (mallory.spy('check') AND id > 0));",
        )
        .expect("tables");
    client
        .batch_execute(
            "CREATE TABLE mallory.part PARTITION OF parted FOR VALUES FROM (0) TO (10);
             CREATE TABLE mallory.child () INHERITS (parent);
             ALTER TABLE mallory.part OWNER TO mallory;
             ALTER TABLE mallory.child OWNER TO mallory;
             ALTER SEQUENCE mixed_keys OWNER TO mallory;",
        )
        .expect("tables");
    let since = cluster.log().len();
    for (relation, others) in [
        ("customers", "table mallory.visits"),
        ("parted", "table mallory.part"),
        ("parent", "table mallory.child"),
        ("mixed", "sequence public.mixed_keys"),
    ] {
        for user in ["app", "postgres"] {
            for dry_run in [true, false] {
                assert_refused(
                    &mut session(&cluster, user),
                    &format!("SELECT snowflake_convert('{relation}', 'id', {dry_run})"),
                    "objects to be changed belong to app and to mallory",
                    &format!(
                        "A conversion runs as one role, which must own everything that it changes. Of mallory: {others}."
                    ),
                );
            }
        }
    }
    // A foreign key is checked in every partition of the table that refers.
    client
        .batch_execute(
            "CREATE TABLE months (id serial PRIMARY KEY);
             CREATE TABLE weeks (id int, month int REFERENCES months) PARTITION BY RANGE (id);
             CREATE TABLE mallory.week PARTITION OF weeks FOR VALUES FROM (0) TO (10);
             ALTER TABLE mallory.week OWNER TO mallory;",
        )
        .expect("tables");
    assert_refused(
        &mut client,
        "SELECT snowflake_convert('months', 'id')",
        "objects to be changed belong to postgres and to mallory",
        "A conversion runs as one role, which must own everything that it changes. Of mallory: table mallory.week.",
    );
    // A report names all owners, each once, and first.
    let report = "SELECT kind || ' ' || object
        FROM snowflake_convert_report(schema => 'public') WITH ORDINALITY
            AS r (kind, object, reason, remedy, rewritten, lock, n)
        ORDER BY n LIMIT 2";
    let rows = client.query(report, &[]).expect("a report");
    let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let expected = ["obstacle role mallory", "obstacle role postgres"];
    assert_eq!(rows, expected);
    // A bigint key is not rewritten, and neither is what refers to it: nothing of mallory's is
    // reached.
    client.batch_execute("SELECT snowflake_convert('big', 'id', false)").expect("converted");
    assert_eq!(spied(&cluster, since), [""; 0]);
}

/// What is created again belongs to the owner of the tables, and what that calls or reads belongs to
/// this role or to a superuser.
#[test]
fn dependents_of_other_roles_are_refused_and_named() {
    let (cluster, mut client) = start();
    let mut mallory = session(&cluster, "mallory");
    mallory
        .batch_execute(
            "CREATE TABLE mallory.notes (id int);
             GRANT USAGE ON SCHEMA mallory TO app; GRANT SELECT ON mallory.notes TO app;",
        )
        .expect("a table");
    let convert = "SELECT snowflake_convert('orders', 'id', dependents => 'recreate'";
    let theirs = "A conversion runs as one role, which must own everything that it changes. Of postgres: materialized view public.theirs.";
    let called = |what: &str| format!("They would be used with the rights of app: {what}.");
    for (dependent, message, detail) in [
        (
            "CREATE MATERIALIZED VIEW theirs AS SELECT id FROM orders",
            "objects to be changed belong to app and to postgres",
            theirs.to_owned(),
        ),
        (
            "SET ROLE app; CREATE VIEW v AS SELECT id, mallory.spy('view', id) FROM orders",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text,bigint)"),
        ),
        (
            "SET ROLE app; CREATE VIEW v AS SELECT o.id FROM orders AS o JOIN mallory.notes USING (id)",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("table mallory.notes"),
        ),
        (
            "SET ROLE app; CREATE FUNCTION mine() RETURNS bigint IMMUTABLE
                 BEGIN ATOMIC SELECT mallory.spy('body', 1); END;
             CREATE VIEW v AS SELECT id, mine() FROM orders",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text,bigint)"),
        ),
        (
            "SET ROLE app; CREATE VIEW v AS SELECT id, 1::mallory.watched FROM orders",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text,bigint), type mallory.watched"),
        ),
        (
            "SET ROLE app; ALTER TABLE orders ADD CHECK (mallory.spy('check'))",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text)"),
        ),
        (
            "SET ROLE app; CREATE INDEX ON orders (mallory.spy('index', id))",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text,bigint)"),
        ),
    ] {
        session(&cluster, "app")
            .batch_execute("CREATE TABLE orders (id serial PRIMARY KEY)")
            .expect("a table");
        client
            .batch_execute(&format!("{dependent}; RESET ROLE"))
            .unwrap_or_else(|error| panic!("{dependent}: {error:?}"));
        let since = cluster.log().len();
        for way in [")", ", rehearse => true)", ", dry_run => false)"] {
            let query = format!("{convert}{way}");
            for user in ["app", "postgres"] {
                let Err(error) = session(&cluster, user).query(&query, &[]) else {
                    panic!("{dependent}: {query} was executed");
                };
                let code = error.code();
                assert_eq!(code, Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{dependent}: {error}");
            }
        }
        let report =
            "SELECT reason FROM snowflake_convert_report('orders') WHERE kind = 'obstacle'";
        let rows = client.query(report, &[]).expect("a report");
        let reasons: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let mut reason = format!("{message}. {detail}");
        reason[..1].make_ascii_uppercase();
        assert!(reasons.contains(&reason), "{dependent}: {reason}: {reasons:#?}");
        assert_eq!(spied(&cluster, since), [""; 0], "{dependent}");
        client
            .batch_execute("DROP TABLE orders CASCADE; DROP FUNCTION IF EXISTS mine")
            .expect("dropped");
    }
}

/// In a schema of another role, the names of statements can become those of other objects.
#[test]
fn schemas_of_other_roles_are_refused_and_named() {
    let (cluster, mut client) = start();
    const DETAIL: &str = "The owner of a schema can put other objects in the place of those that the statements name.";
    client
        .batch_execute(
            "CREATE TABLE plain (id serial PRIMARY KEY);
             CREATE TABLE mallory.lines (plain_id int REFERENCES plain);
             CREATE TABLE own (id serial PRIMARY KEY);
             CREATE TABLE mallory.notes (id int);
             CREATE VIEW v AS SELECT o.id FROM own AS o JOIN mallory.notes USING (id);",
        )
        .expect("tables");
    for call in [
        "snowflake_convert('plain', 'id', false)",
        "snowflake_convert('own', 'id', false, dependents => 'recreate')",
        "snowflake_convert('own', 'id', rehearse => true, dependents => 'recreate')",
    ] {
        let message = "schema mallory belongs to mallory, and not to postgres or a superuser";
        assert_refused(&mut client, &format!("SELECT {call}"), message, DETAIL);
    }
    // The schema public belongs to the owner of the database.
    client.batch_execute("CREATE DATABASE theirs OWNER mallory").expect("a database");
    let mut theirs = cluster.connect_to("theirs");
    theirs
        .batch_execute(
            "CREATE EXTENSION snowflake; CREATE EXTENSION snowflake_convert;
             CREATE TABLE plain (id serial PRIMARY KEY)",
        )
        .expect("a table");
    for call in [
        "snowflake_convert(schema => 'public', dry_run => false)",
        "snowflake_revert('plain', 'id')",
    ] {
        assert_refused(
            &mut theirs,
            &format!("SELECT {call}"),
            "schema public belongs to pg_database_owner, and not to postgres or a superuser",
            DETAIL,
        );
    }
    let error = error_of(theirs.query("SELECT snowflake_convert('plain', 'id')", &[]));
    assert_eq!(
        error.hint(),
        Some(
            "Give all objects to be changed to mallory, or run ALTER SCHEMA public OWNER TO postgres, first."
        )
    );
    theirs.batch_execute("ALTER TABLE plain OWNER TO mallory").expect("altered");
    theirs
        .batch_execute("SELECT snowflake_convert(schema => 'public', dry_run => false)")
        .expect("converted as the owner of the database");
}

/// Where others create functions, a name that is parsed again can become that of one of theirs, since
/// the type of its argument has changed.
#[test]
fn schemas_in_which_others_create_functions_are_refused_and_named() {
    let (cluster, mut client) = start();
    session(&cluster, "app")
        .batch_execute(
            "CREATE FUNCTION public.label(anyelement) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1::text';
             CREATE TABLE orders (id serial PRIMARY KEY CHECK (public.label(id) <> 'x'));
             CREATE TABLE plain (id serial PRIMARY KEY CHECK (id > 0));
             INSERT INTO orders DEFAULT VALUES;",
        )
        .expect("a table");
    session(&cluster, "mallory")
        .batch_execute(
            "CREATE FUNCTION public.label(bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
                 $$ BEGIN PERFORM mallory.act('overload'); RETURN $1; END $$",
        )
        .expect("an overload");
    let since = cluster.log().len();
    let convert = "SELECT snowflake_convert('orders', 'id', dry_run => false)";
    assert_refused(
        &mut client,
        convert,
        "others than app can create objects in schema public",
        "After columns change their type, another function or operator could be called in place of: function public.label(anyelement).",
    );
    assert_eq!(spied(&cluster, since), [""; 0]);
    client
        .batch_execute(
            "SELECT snowflake_convert('plain', 'id', dry_run => false);
             REVOKE CREATE ON SCHEMA public FROM mallory; DROP FUNCTION public.label(bigint);",
        )
        .expect("what the hint says");
    client.batch_execute(convert).expect("converted");
}
