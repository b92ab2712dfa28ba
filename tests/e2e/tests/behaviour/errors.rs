//! What an error says, and what it does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, Register, error_of};

/// An error of a statement that a conversion executes is PostgreSQL's own, with the statement as
/// context.
#[test]
fn an_error_of_an_executed_statement_is_as_it_was_raised() {
    let cluster = Cluster::builder().environment("RUST_BACKTRACE=1".into()).start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
             BEGIN
                 RAISE EXCEPTION 'refused' USING ERRCODE = 'P0042', DETAIL = 'The detail.', HINT = 'The hint.', SCHEMA = 's',
                     TABLE = 't', COLUMN = 'c', DATATYPE = 'd', CONSTRAINT = 'n';
             END $$;
             CREATE TABLE orders (id bigserial PRIMARY KEY);
             CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse();",
        )
        .expect("an event trigger");
    let error =
        error_of(client.query("SELECT snowflake_convert('orders', 'id', dry_run => false)", &[]));
    assert_eq!((error.code().code(), error.message()), ("P0042", "refused"));
    assert_eq!((error.detail(), error.hint()), (Some("The detail."), Some("The hint.")));
    assert_eq!((error.schema(), error.table(), error.column()), (Some("s"), Some("t"), Some("c")));
    assert_eq!((error.datatype(), error.constraint()), (Some("d"), Some("n")));
    assert_eq!(
        error.where_(),
        Some(
            "PL/pgSQL function refuse() line 3 at RAISE\nSQL statement \"ALTER TABLE \
             public.orders ALTER COLUMN id SET DEFAULT public.snowflake_nextval();\"\n\
             while changing table public.orders"
        )
    );

    // Caught, it is the same, and leaves nothing behind for the next error.
    client
        .batch_execute(
            "DO $$
             DECLARE context text; shown text;
             BEGIN
                 BEGIN
                     PERFORM snowflake_convert('orders', 'id', dry_run => false);
                 EXCEPTION WHEN SQLSTATE 'P0042' THEN
                     GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, shown = CONSTRAINT_NAME;
                     ASSERT context LIKE '%SQL statement \"ALTER TABLE%PL/pgSQL function inline_code_block line 5 at PERFORM', context;
                     ASSERT shown = 'n';
                 END;
                 BEGIN
                     PERFORM snowflake_from_base62('?');
                 EXCEPTION WHEN SQLSTATE '22P02' THEN
                     GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, shown = CONSTRAINT_NAME;
                     ASSERT context NOT LIKE '%ALTER TABLE%', context;
                     ASSERT shown = '';
                 END;
                 ASSERT current_user = 'postgres';
             END $$",
        )
        .expect("as asserted");
}

/// A handler that raises the error again has caught others meanwhile.
#[test]
fn an_error_that_is_raised_again_is_not_taken_for_another() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
             BEGIN
                 RAISE EXCEPTION 'first' USING ERRCODE = 'P0042';
             EXCEPTION WHEN SQLSTATE 'P0042' THEN
                 BEGIN
                     RAISE EXCEPTION 'second' USING ERRCODE = 'P0043', DETAIL = 'Swallowed.';
                 EXCEPTION WHEN SQLSTATE 'P0043' THEN NULL;
                 END;
                 RAISE;
             END $$;
             CREATE TABLE orders (id serial PRIMARY KEY);
             CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse();",
        )
        .expect("an event trigger");
    let error =
        error_of(client.query("SELECT snowflake_convert('orders', 'id', dry_run => false)", &[]));
    assert_eq!((error.message(), error.detail()), ("first", None));
}

#[test]
fn an_ordinary_error_shows_no_backtrace() {
    let cluster = Cluster::builder().environment("RUST_BACKTRACE=1".into()).start();
    let mut client = cluster.connect();
    for (query, detail) in [
        ("SELECT snowflake_parse(-1)", Some("The value is -1.")),
        ("SELECT snowflake_currval()", None),
        (
            "SELECT snowflake_set_floor('infinity')",
            Some(
                "The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 \
                 17:30:30.208+00.",
            ),
        ),
    ] {
        let error = error_of(client.query(query, &[]));
        assert_eq!(error.detail(), detail, "{query}");
    }
}

/// An error that PostgreSQL raises while the extension calls it.
#[test]
fn an_error_of_postgresql_shows_no_backtrace() {
    let mut cluster = Cluster::builder()
        .environment("RUST_BACKTRACE=1".into())
        .set("snowflake.max_burst", "-1")
        .start();
    let mut client = cluster.connect();
    client.batch_execute("SET statement_timeout = '100ms'").expect("set");
    let error = error_of(
        client.query("SELECT count(*) FROM (SELECT snowflake_nextval(2000000000)) AS ids", &[]),
    );
    assert_eq!((error.code(), error.detail()), (&SqlState::QUERY_CANCELED, None), "{error:?}");
    drop(client);
    cluster.stop();
    fs::set_permissions(Register::path(&cluster), fs::Permissions::from_mode(0o000))
        .expect("root, or the owner");
    cluster.start_again();
    let error = error_of(cluster.connect().query("SELECT snowflake_nextval()", &[]));
    assert_eq!(
        (error.code(), error.detail()),
        (&SqlState::INSUFFICIENT_PRIVILEGE, None),
        "{error:?}"
    );
}

/// Whoever changes the type that the extension returns is told so.
#[test]
fn a_changed_type_of_the_parts_is_an_error() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let parse = "SELECT snowflake_parse(1268118639732232192)::text";
    let expected = "(1268118639732232192,\"2020-06-03 09:53:38.874+00\",5,9,0)";
    for (change, back) in [
        ("ADD ATTRIBUTE t text", "DROP ATTRIBUTE t"),
        ("DROP ATTRIBUTE sequence", "ADD ATTRIBUTE sequence integer"),
        ("ALTER ATTRIBUTE worker_id TYPE text", "ALTER ATTRIBUTE worker_id TYPE integer"),
        ("ALTER ATTRIBUTE worker_id TYPE bigint", "ALTER ATTRIBUTE worker_id TYPE integer"),
    ] {
        client.batch_execute(&format!("ALTER TYPE snowflake_parts {change}")).expect(change);
        for query in [
            parse,
            "SELECT * FROM snowflake_parse(1)",
            "SELECT (snowflake_parse(1, '2015-01-01+00')).id",
        ] {
            let error = error_of(client.query(query, &[]));
            assert_eq!(error.code(), &SqlState::DATATYPE_MISMATCH, "{change}: {error}");
            assert_eq!(error.message(), "type snowflake_parts is not what the extension created");
        }
        client.batch_execute(&format!("ALTER TYPE snowflake_parts {back}")).expect(back);
        let parsed: String = client.query_one(parse, &[]).expect("parsed").get(0);
        assert_eq!(parsed, expected, "after {change} and {back}");
    }
}
