//! Roles that may do nothing but execute the functions, and what they try.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, NEXT, Run, assert_increasing, bigint, error_of};

use super::{TAKE_LOCK, install, plain_server};

/// A server on which a role may do nothing but execute the functions, although sequences of the
/// owner were to be for everybody.
fn start_with_role() -> Cluster {
    let cluster = plain_server().start_bare();
    let mut owner = cluster.connect();
    owner.run(
        "CREATE ROLE app LOGIN;
             ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO PUBLIC, app;
             ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;",
    );
    install(&cluster, "postgres");
    owner.run("GRANT EXECUTE ON FUNCTION snowflake_nextval() TO app");
    cluster
}

#[test]
fn a_role_needs_no_right_but_execute_and_has_no_other() {
    let cluster = start_with_role();
    let mut app = cluster.connect_as("app", "postgres");
    let ids: Vec<i64> = (0..200).map(|_| bigint(&mut app, NEXT)).collect();
    assert_increasing(&ids);
    for sequence in ["snowflake_counter", "snowflake_reserved"] {
        for refused in [
            format!("SELECT nextval('{sequence}')"),
            format!("SELECT setval('{sequence}', 1)"),
            format!("SELECT last_value FROM {sequence}"),
            format!("ALTER SEQUENCE {sequence} RESTART"),
        ] {
            let error = error_of(app.batch_execute(&refused));
            assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{refused}");
        }
    }
    // A transaction that only reads gets no ID.
    app.run("SET default_transaction_read_only = on");
    let error = error_of(app.query_one(NEXT, &[]));
    assert_eq!(error.code(), &SqlState::READ_ONLY_SQL_TRANSACTION, "{error:?}");
}

/// Operators and functions of every name and type that the function could mean, in a schema of the
/// caller that comes first, and none of them is called.
#[test]
fn nothing_of_the_callers_search_path_is_called() {
    let cluster = start_with_role();
    cluster.run("CREATE SCHEMA app AUTHORIZATION app");
    let mut app = cluster.connect_as("app", "postgres");
    app.run(
        "DO $do$
         DECLARE
             f record;
             types oid[] := '{int2,int4,int8,float8,numeric,interval,text,name,oid}'::regtype[];
         BEGIN
             FOR f IN
                 SELECT o.oid AS operator, o.oprname, o.oprleft::regtype AS l, o.oprright::regtype AS r,
                        o.oprresult::regtype AS result
                 FROM pg_operator AS o
                 WHERE o.oprleft = ANY (types)
                   AND o.oprright = ANY (types)
             LOOP
                 EXECUTE format('CREATE FUNCTION app.captured_%s(%s, %s) RETURNS %s LANGUAGE plpgsql AS
                     $$ BEGIN RAISE ''captured''; END $$', f.operator, f.l, f.r, f.result);
                 EXECUTE format('CREATE OPERATOR app.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = app.captured_%s)',
                     f.oprname, f.l, f.r, f.operator);
             END LOOP;
             FOR f IN
                 SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS arguments,
                        p.prorettype::regtype AS result
                 FROM pg_proc AS p
                 WHERE p.prokind = 'f' AND NOT p.proretset AND p.provariadic = 0 AND (
                     p.proname IN ('nextval', 'setval', 'pg_sequence_last_value', 'current_setting', 'set_config',
                                   'format', 'date_part', 'clock_timestamp', 'current_database')
                     OR p.proname ~ '^pg_(try_)?advisory' OR p.proname ~ '^snowflake_')
                   AND p.prorettype <> 'snowflake_parts'::regtype
             LOOP
                 EXECUTE format('CREATE FUNCTION app.%I(%s) RETURNS %s LANGUAGE plpgsql AS
                     $$ BEGIN RAISE ''captured''; END $$', f.proname, f.arguments, f.result);
             END LOOP;
             CREATE DOMAIN app.int8 AS integer CHECK (false);
             CREATE DOMAIN app.float8 AS integer CHECK (false);
             CREATE DOMAIN app.interval AS integer CHECK (false);
             CREATE TABLE app.snowflake_counter ();
             CREATE TABLE app.snowflake_reserved ();
         END $do$;
         SET search_path = app, pg_catalog;",
    );
    for trap in ["SELECT 1 = 1", "SELECT set_config('a.b', 'c', true)"] {
        assert_eq!(error_of(app.batch_execute(trap)).message(), "captured");
    }
    // In a loop, and with moves between.
    let next = "SELECT public.snowflake_nextval()";
    let mut ids: Vec<i64> = (0..200).map(|_| bigint(&mut app, next)).collect();
    for _ in 0..20 {
        app.run("SELECT pg_sleep(0.004)");
        ids.push(bigint(&mut app, next));
    }
    assert_increasing(&ids);
    let mut holder = cluster.connect();
    holder.run(TAKE_LOCK);
    app.run("SET lock_timeout = '50ms'; SELECT pg_sleep(0.01)");
    let error = error_of(app.query_one(next, &[]));
    assert_eq!(error.code(), &SqlState::LOCK_NOT_AVAILABLE, "{error:?}");
    assert!(error.detail().expect("a detail").starts_with("Process "));
}
