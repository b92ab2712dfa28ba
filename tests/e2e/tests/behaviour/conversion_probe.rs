//! A rehearsal tries statements of the application after those of the conversion, as the owner, and
//! nothing of them stays.

use postgres::Client;
use postgres::error::{DbError, SqlState};
use postgres::fallible_iterator::FallibleIterator;
use snowflake_e2e::{Cluster, bigint, error_of};

use super::conversion_attacks::{mallory, spied, start};
use super::conversion_foreseen::owner;

/// Code that a larger key breaks: what there is, a statement that runs it, and what PostgreSQL says.
const BROKEN: [(&str, &str, SqlState, &str); 9] = [
    (
        "CREATE FUNCTION lock() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(42, NEW.id); RETURN NEW; END';
         CREATE TRIGGER lock BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION lock()",
        "INSERT INTO orders (item) VALUES ('x')",
        SqlState::UNDEFINED_FUNCTION,
        "pg_advisory_xact_lock(integer, bigint)",
    ),
    (
        "CREATE TABLE audit (pk integer);
         CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO audit VALUES (NEW.id); RETURN NULL; END';
         CREATE TRIGGER audit AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION audit()",
        "INSERT INTO orders (item) VALUES ('x')",
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "integer out of range",
    ),
    (
        "CREATE TABLE audit (pk integer);
         CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO audit SELECT id FROM added; RETURN NULL; END';
         CREATE TRIGGER audit AFTER INSERT ON orders REFERENCING NEW TABLE AS added
             FOR EACH STATEMENT EXECUTE FUNCTION audit()",
        "INSERT INTO orders (item) VALUES ('x')",
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "integer out of range",
    ),
    (
        "CREATE TABLE audit (pk integer);
         CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO audit VALUES (NEW.id); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER audit AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION audit()",
        "INSERT INTO orders (item) VALUES ('x')",
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "integer out of range",
    ),
    (
        "CREATE FUNCTION letter() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN NEW.item := chr(NEW.id); RETURN NEW; END';
         CREATE TRIGGER letter BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION letter()",
        "INSERT INTO orders (item) VALUES ('x'); UPDATE orders SET item = 'y' WHERE item = 'x'",
        SqlState::UNDEFINED_FUNCTION,
        "chr(bigint)",
    ),
    (
        "CREATE TABLE audit (pk integer);
         CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN EXECUTE format('INSERT INTO audit VALUES (%s)', NEW.id); RETURN NULL; END $$;
         CREATE TRIGGER audit AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION audit()",
        "INSERT INTO orders (item) VALUES ('x')",
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "integer out of range",
    ),
    (
        "CREATE FUNCTION lock(o orders) RETURNS void LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(1, o.id); END'",
        "INSERT INTO orders (item) VALUES ('x'); SELECT lock(o) FROM orders AS o",
        SqlState::UNDEFINED_FUNCTION,
        "pg_advisory_xact_lock(integer, bigint)",
    ),
    (
        "CREATE TABLE lines (order_id integer REFERENCES orders);
         CREATE FUNCTION lock() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(42, NEW.order_id); RETURN NEW; END';
         CREATE TRIGGER lock BEFORE INSERT ON lines FOR EACH ROW EXECUTE FUNCTION lock()",
        "INSERT INTO orders (item) VALUES ('x'); INSERT INTO lines SELECT max(id) FROM orders",
        SqlState::UNDEFINED_FUNCTION,
        "pg_advisory_xact_lock(integer, bigint)",
    ),
    (
        "CREATE TABLE audit (pk integer); CREATE TABLE notes (id serial, note text);
         CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO audit SELECT max(id) FROM orders; RETURN NULL; END';
         CREATE TRIGGER audit AFTER INSERT ON notes FOR EACH ROW EXECUTE FUNCTION audit()",
        "INSERT INTO orders (item) VALUES ('x'); INSERT INTO notes (note) VALUES ('y')",
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "integer out of range",
    ),
];

fn owned() -> (Cluster, Client) {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster);
    client
        .batch_execute("CREATE TABLE orders (id serial PRIMARY KEY, item text)")
        .expect("a table");
    (cluster, client)
}

/// Rehearses with these statements, each of which is one element of the argument.
fn rehearse(client: &mut Client, probe: &[&str]) -> Result<u64, postgres::Error> {
    let query = "SELECT snowflake_convert('orders', rehearse => true, probe => $1)";
    client.execute(query, &[&probe])
}

fn text_of(error: &DbError) -> String {
    let texts = [error.detail(), error.hint()].map(Option::unwrap_or_default);
    format!("{}\n{}", error.message(), texts.join("\n"))
}

#[test]
fn a_probe_finds_what_code_does_with_a_key() {
    let (_cluster, mut client) = owned();
    for (code, probe, sqlstate, words) in BROKEN {
        client.batch_execute(&format!("BEGIN; {code}")).expect(code);
        rehearse(&mut client, &[]).unwrap_or_else(|error| panic!("{code}: {error:?}"));
        let statements: Vec<&str> = probe.split("; ").collect();
        client.batch_execute("SAVEPOINT tried").expect("a savepoint");
        let error = error_of(rehearse(&mut client, &statements));
        assert_eq!(*error.code(), sqlstate, "{code}: {error:?}");
        let text = text_of(&error);
        assert!(text.contains(words), "{code}: {text}");
        // Which statement it was, and where in the code.
        let last = statements.last().expect("a statement");
        assert!(text.contains(&format!("Statement: {last}\n")), "{code}: {text}");
        let place = format!("statement {} of the probe fails", statements.len());
        assert!(text.starts_with(&place), "{code}: {text}");
        assert!(text.contains("PL/pgSQL function "), "{code}: {text}");
        // It is so: the conversion breaks this statement.
        let convert = "ROLLBACK TO tried;
            SELECT snowflake_convert('orders', dry_run => false, acknowledged => ARRAY(
                SELECT oid::regprocedure FROM pg_proc WHERE proowner = 'app'::regrole))";
        client.batch_execute(convert).unwrap_or_else(|error| panic!("{code}: {error:?}"));
        let failed = client.batch_execute(&format!("{probe}; SET CONSTRAINTS ALL IMMEDIATE"));
        assert_eq!(*error_of(failed).code(), sqlstate, "{code}");
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

#[test]
fn nothing_of_a_probe_stays() {
    let (cluster, mut client) = owned();
    let mut listener = cluster.connect();
    listener.batch_execute("LISTEN orders").expect("listens");
    client
        .batch_execute(
            "CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_notify('orders', NEW.id::text); RETURN NULL; END $$;
             CREATE TRIGGER told AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION told();
             INSERT INTO orders VALUES (DEFAULT, 'kept');",
        )
        .expect("a trigger");
    let probe = [
        "INSERT INTO orders (item) VALUES ('one'); INSERT INTO orders (item) VALUES ('two')",
        "SELECT 1 / (count(*) = 3)::integer FROM orders",
        "SELECT n FROM generate_series(1, 1000000) AS n",
        "TABLE orders",
        "EXPLAIN ANALYZE DELETE FROM orders",
        "SELECT 1 / (count(*) = 0)::integer FROM orders",
        "CREATE TABLE made (x int)",
        "INSERT INTO made VALUES (1)",
        "ALTER TABLE orders RENAME TO former",
        "DROP TABLE former CASCADE",
        "NOTIFY orders, 'by hand'",
        "SET DateStyle = 'German'",
        "SET LOCAL app.tenant = '7'",
        "DO $$ BEGIN INSERT INTO made VALUES (2); END $$",
        "",
        "-- nothing",
    ];
    // This session keeps a plan of the trigger for integers.
    let error = error_of(rehearse(&mut client, &probe));
    assert_eq!(*error.code(), SqlState::DATATYPE_MISMATCH, "{error:?}");
    assert!(error.hint().expect("a hint").ends_with("rehearse in a new session."), "{error:?}");
    let mut client = cluster.config().user("app").connect(postgres::NoTls).expect("a session");
    rehearse(&mut client, &probe).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders WHERE item = 'kept'"), 1);
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM pg_class WHERE relname = 'made'"), 0);
    let settings = client
        .query_one(
            "SELECT current_setting('DateStyle') <> 'German, DMY',
                    coalesce(current_setting('app.tenant', true), '') = '',
                    pg_typeof(id)::text = 'integer'
             FROM orders",
            &[],
        )
        .expect("settings");
    for column in 0..3 {
        assert!(settings.get::<_, bool>(column), "{column}");
    }
    listener.batch_execute("SELECT 1").expect("a query");
    let mut notifications = listener.notifications();
    let told = notifications.iter().map(|one| Ok(one.payload().to_owned()));
    let told: Vec<String> = told.collect().expect("what was told");
    assert_eq!(told, ["1"], "those of the INSERT before the rehearsal");
}

#[test]
fn what_a_statement_sets_holds_for_those_after_it() {
    let (_cluster, mut client) = owned();
    client
        .batch_execute(
            "CREATE FUNCTION of_tenant() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN NEW.item := current_setting('app.tenant'); RETURN NEW; END $$;
             CREATE TRIGGER of_tenant BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION of_tenant();",
        )
        .expect("a trigger");
    let insert = "INSERT INTO orders DEFAULT VALUES";
    let error = error_of(rehearse(&mut client, &[insert]));
    assert_eq!(*error.code(), SqlState::UNDEFINED_OBJECT, "{error:?}");
    let is_there = "SELECT 1 / count(*) FROM orders WHERE item = 'seven' AND id > 1000000000000";
    for set in ["SET app.tenant = 'seven'", "SELECT set_config('app.tenant', 'seven', true)"] {
        rehearse(&mut client, &[set, insert, is_there]).unwrap_or_else(|error| panic!("{error:?}"));
    }
}

/// Each would end the transaction, change who runs the next statement, or leave something behind.
#[test]
fn a_probe_stays_in_its_place() {
    let (_cluster, mut client) = owned();
    client
        .batch_execute("CREATE PROCEDURE ends() LANGUAGE plpgsql AS 'BEGIN COMMIT; END'")
        .expect("made");
    let (denied, ended) = (SqlState::INSUFFICIENT_PRIVILEGE, SqlState::FEATURE_NOT_SUPPORTED);
    let terminated = SqlState::INVALID_TRANSACTION_TERMINATION;
    for (statement, sqlstate) in [
        ("COMMIT", &ended),
        ("ROLLBACK", &ended),
        ("BEGIN", &ended),
        ("SAVEPOINT one", &ended),
        ("ROLLBACK TO tried", &ended),
        ("PREPARE TRANSACTION 'one'", &ended),
        ("INSERT INTO orders DEFAULT VALUES; COMMIT; DROP TABLE orders", &ended),
        ("DO $$ BEGIN COMMIT; END $$", &terminated),
        ("CALL ends()", &terminated),
        ("COPY orders FROM STDIN", &ended),
        ("COPY orders TO STDOUT", &ended),
        ("SET ROLE NONE", &denied),
        ("RESET ROLE", &denied),
        ("SET SESSION AUTHORIZATION DEFAULT", &denied),
        ("SELECT set_config('role', 'none', false)", &denied),
        ("LISTEN orders", &denied),
        ("CREATE TEMPORARY TABLE left_behind (x int)", &denied),
        ("DECLARE kept CURSOR WITH HOLD FOR SELECT 1", &denied),
        ("PREPARE kept AS SELECT 1", &denied),
        ("DISCARD ALL", &denied),
        ("VACUUM orders", &SqlState::ACTIVE_SQL_TRANSACTION),
    ] {
        client.batch_execute("BEGIN; SAVEPOINT tried").expect("begun");
        let error =
            error_of(rehearse(&mut client, &["INSERT INTO orders DEFAULT VALUES", statement]));
        assert_eq!(error.code(), sqlstate, "{statement}: {error:?}");
        let text = text_of(&error);
        assert!(text.contains(&format!("Statement: {statement}")), "{statement}: {text}");
        assert!(text.starts_with("statement 2 of the probe fails"), "{statement}: {text}");
        client
            .batch_execute("ROLLBACK TO tried; INSERT INTO orders (item) VALUES ('after'); COMMIT")
            .expect(statement);
    }
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders WHERE item IS NULL"), 0);
    assert_eq!(
        bigint(&mut client, "SELECT count(*) FROM pg_prepared_statements WHERE name = 'kept'"),
        0
    );
}

#[test]
fn a_probe_needs_a_rehearsal_and_statements() {
    let (_cluster, mut client) = owned();
    for (arguments, sqlstate, message) in [
        (
            "probe => '{SELECT 1}'",
            SqlState::INVALID_PARAMETER_VALUE,
            "probe needs rehearse => true",
        ),
        (
            "probe => '{SELECT 1}', dry_run => false",
            SqlState::INVALID_PARAMETER_VALUE,
            "probe needs rehearse => true",
        ),
        (
            "probe => '{SELECT 1,NULL}', rehearse => true",
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "a statement must not be NULL",
        ),
    ] {
        let error = error_of(
            client.query(&format!("SELECT snowflake_convert('orders', {arguments})"), &[]),
        );
        assert_eq!((error.code(), error.message()), (&sqlstate, message), "{arguments}");
    }
    client
        .batch_execute("SELECT snowflake_convert('orders', rehearse => true, probe => NULL)")
        .expect("the default");
    // A probe can be tried again after the conversion.
    client
        .batch_execute("SELECT snowflake_convert('orders', dry_run => false)")
        .expect("converted");
    let again =
        "SELECT snowflake_convert('orders', 'id', rehearse => true, probe => '{SELECT 1 / 0}')";
    assert_eq!(*error_of(client.query(again, &[])).code(), SqlState::DIVISION_BY_ZERO);
}

/// A query that is canceled ends the whole, and is no word on the probe.
#[test]
fn a_canceled_probe_is_canceled() {
    let (_cluster, mut client) = owned();
    client.batch_execute("SET statement_timeout = '2s'").expect("set");
    let error = error_of(rehearse(&mut client, &["SELECT pg_sleep(60)"]));
    assert_eq!(*error.code(), SqlState::QUERY_CANCELED);
    assert!(!error.message().contains("probe"), "{error:?}");
}

/// Triggers of others' tables that the session has deferred are not fired as the owner.
#[test]
fn deferred_triggers_of_the_session_are_not_fired_by_a_probe() {
    let (cluster, mut client) = start();
    mallory(&cluster)
        .batch_execute(
            "CREATE TABLE mallory.bait (x int);
             CREATE FUNCTION mallory.bite() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM mallory.act('deferred'); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER bite AFTER INSERT ON mallory.bait DEFERRABLE INITIALLY DEFERRED
                 FOR EACH ROW EXECUTE FUNCTION mallory.bite();
             GRANT USAGE ON SCHEMA mallory TO PUBLIC; GRANT INSERT ON mallory.bait TO PUBLIC;",
        )
        .expect("bait");
    client
        .batch_execute(
            "CREATE TABLE orders (id serial PRIMARY KEY, item text);
             BEGIN; INSERT INTO mallory.bait VALUES (1); SAVEPOINT before;",
        )
        .expect("tables");
    let error = error_of(rehearse(&mut client, &["SELECT 1"]));
    assert_eq!(*error.code(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error:?}");
    assert_eq!(
        error.message(),
        "a probe cannot be tried in a transaction that has deferred triggers"
    );
    client.batch_execute("ROLLBACK").expect("rolled back");
    assert_eq!(spied(&cluster), [""; 0]);
}

/// What a superuser has tried runs as the owner, and no function that is mallory's does.
#[test]
fn a_probe_of_a_superuser_runs_as_the_owner() {
    let (cluster, mut admin) = start();
    admin
        .batch_execute(
            "CREATE ROLE app LOGIN; GRANT CREATE ON SCHEMA public TO app;
             SET ROLE app;
             CREATE TABLE orders (id serial PRIMARY KEY, item text);
             CREATE FUNCTION says() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE LOG 'trigger runs as %', current_user;
                 BEGIN EXECUTE 'SET ROLE NONE'; RAISE LOG 'the trigger became %', current_user;
                 EXCEPTION WHEN insufficient_privilege THEN NULL; END;
                 EXECUTE 'ALTER ROLE app SUPERUSER'; RETURN NEW;
                 EXCEPTION WHEN insufficient_privilege THEN RETURN NEW; END $$;
             CREATE TRIGGER says BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION says();
             RESET ROLE;",
        )
        .expect("a table");
    let insert = "INSERT INTO orders (item) VALUES ('x')";
    rehearse(&mut admin, &[insert]).unwrap_or_else(|error| panic!("{error:?}"));
    let log = cluster.log();
    assert!(log.contains("trigger runs as app"), "{log}");
    assert!(!log.contains("the trigger became"), "{log}");
    // A function in somebody else's schema is not found by its name alone.
    mallory(&cluster)
        .batch_execute(
            "CREATE FUNCTION mallory.lookup() RETURNS boolean LANGUAGE sql AS
                 $$ SELECT mallory.act('lookup') $$;
             CREATE FUNCTION mallory.bite() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM mallory.act('trigger'); RETURN NEW; END $$;
             GRANT USAGE ON SCHEMA mallory TO PUBLIC;",
        )
        .expect("functions");
    admin.batch_execute("SET search_path = mallory, public").expect("a path");
    let error = error_of(rehearse(&mut admin, &["SELECT lookup()"]));
    assert_eq!(*error.code(), SqlState::UNDEFINED_FUNCTION, "{error:?}");
    // Nor does what the owner has let mallory attach to the table.
    admin
        .batch_execute(
            "RESET search_path; GRANT TRIGGER ON orders TO mallory; SET ROLE mallory;
             CREATE TRIGGER bite BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION mallory.bite();
             RESET ROLE;",
        )
        .expect("a trigger");
    let error = error_of(rehearse(&mut admin, &[insert]));
    assert_eq!(*error.code(), SqlState::INSUFFICIENT_PRIVILEGE, "{error:?}");
    assert!(text_of(&error).contains("function mallory.bite()"), "{error:?}");
    assert_eq!(spied(&cluster), [""; 0]);
    // Who may not become the owner may not try anything.
    let mut other = mallory(&cluster);
    let error = error_of(rehearse(&mut other, &[insert]));
    assert_eq!(*error.code(), SqlState::INSUFFICIENT_PRIVILEGE, "{error:?}");
    assert_eq!(bigint(&mut admin, "SELECT count(*) FROM orders"), 0);
}
