//! What could go wrong while COPY uses the stand-in of `snowflake_nextval()`, which is not volatile:
//! statements within it, expressions that outlive it, and roles that may not execute one of the two
//! functions.

use postgres::error::SqlState;
use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, assert_distinct, bigints, error_of};

use crate::copied_keys::copy_in;

const STAND_IN: &str = "snowflake_internal.snowflake_nextval_in_copy()";

const ORDERS: &str = "CREATE TABLE orders (
    id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number bigint)";

fn copy_three(client: &mut Client, table: &str) {
    let copy = format!("COPY {table} (number) FROM STDIN");
    copy_in(client, &copy, b"1\n2\n3\n").unwrap_or_else(|error| panic!("{table}: {error:?}"));
}

/// A trigger that COPY fires executes statements of all kinds.
#[test]
fn statements_within_a_copy_take_distinct_ids() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let file = cluster.directory().join("numbers").display().to_string();
    client
        .batch_execute(&format!(
            "{ORDERS};
             CREATE TABLE inner_copy (LIKE orders INCLUDING DEFAULTS);
             CREATE TABLE failed_copy (LIKE orders INCLUDING DEFAULTS, CHECK (number < 3));
             CREATE TABLE selected (LIKE orders INCLUDING DEFAULTS);
             CREATE TABLE twice (first bigint, second bigint);
             CREATE TABLE seven AS SELECT generate_series(1, 7)::bigint AS number;
             COPY (TABLE seven) TO '{file}';
             CREATE FUNCTION two(OUT first bigint, OUT second bigint) LANGUAGE plpgsql AS
                'BEGIN first := snowflake_nextval(); second := snowflake_nextval(); END';
             CREATE FUNCTION two_of_sql() RETURNS TABLE (first bigint, second bigint) LANGUAGE sql AS
                'SELECT snowflake_nextval(), snowflake_nextval()';
             CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $act$
             BEGIN
                BEGIN
                    COPY failed_copy (number) FROM '{file}';
                EXCEPTION WHEN check_violation THEN NULL;
                END;
                EXECUTE format('ALTER TABLE seven ADD COLUMN id_%s bigint '
                               'DEFAULT snowflake_nextval()', new.number);
                EXECUTE format('CREATE TABLE made_%s AS SELECT snowflake_nextval() AS id '
                               'FROM seven', new.number);
                INSERT INTO selected (number) SELECT number FROM seven;
                COPY inner_copy (number) FROM '{file}';
                EXECUTE format('ALTER TABLE seven ADD COLUMN jd_%s bigint '
                               'DEFAULT snowflake_nextval()', new.number);
                INSERT INTO twice SELECT * FROM two();
                INSERT INTO twice SELECT * FROM two_of_sql();
                INSERT INTO selected (id) VALUES (snowflake_nextval()), (snowflake_nextval());
                RETURN new;
             END $act$;
             CREATE TRIGGER act $when INSERT ON orders FOR EACH ROW EXECUTE FUNCTION act()"
        )
        .replace("$when", "BEFORE"))
        .expect("tables");
    let ids = "SELECT id FROM orders UNION ALL SELECT id FROM inner_copy
        UNION ALL SELECT id FROM selected UNION ALL SELECT first FROM twice
        UNION ALL SELECT second FROM twice";
    let made: String = ["1", "2", "3"]
        .map(|number| {
            format!(
                " UNION ALL SELECT id_{number} FROM seven UNION ALL SELECT jd_{number} FROM seven
                 UNION ALL SELECT id FROM made_{number}"
            )
        })
        .concat();
    copy_three(&mut client, "orders");
    let taken = bigints(&mut client, &format!("{ids} {made}"));
    // The order, then by each: 7 of COPY, 9 in selected, 4 of the functions, and 21 made.
    assert_eq!(taken.len(), 3 * (1 + 7 + 9 + 4 + 21));
    assert_distinct(taken);
    // The same after the row.
    client
        .batch_execute(
            "DROP TRIGGER act ON orders;
             DROP TABLE made_1, made_2, made_3;
             TRUNCATE orders, inner_copy, selected, twice;
             ALTER TABLE seven DROP COLUMN id_1, DROP COLUMN id_2, DROP COLUMN id_3,
                DROP COLUMN jd_1, DROP COLUMN jd_2, DROP COLUMN jd_3;
             CREATE TRIGGER act AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION act()",
        )
        .expect("emptied");
    copy_three(&mut client, "orders");
    let taken = bigints(&mut client, &format!("{ids} {made}"));
    assert_eq!(taken.len(), 3 * (1 + 7 + 9 + 4 + 21));
    assert_distinct(taken);
}

/// A session plans the check of a domain once. One that is planned during a COPY keeps the stand-in,
/// which takes IDs in every other statement, too, and is an error in ALTER TABLE.
#[test]
fn the_check_of_a_domain_outlives_the_copy_it_was_planned_in() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE noted (id bigint);
             CREATE FUNCTION note(id bigint) RETURNS boolean LANGUAGE plpgsql AS
                'BEGIN INSERT INTO noted VALUES (id); RETURN true; END';
             CREATE DOMAIN noting AS bigint CHECK (note(snowflake_nextval()));
             CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(), number noting);
             CREATE TABLE seven AS SELECT generate_series(1, 7) AS n",
        )
        .expect("tables");
    copy_three(&mut client, "orders");
    client
        .batch_execute(
            "INSERT INTO orders (number) SELECT generate_series(4, 1000);
             INSERT INTO orders (number) VALUES (1001), (1002);
             PREPARE p AS INSERT INTO orders (number) VALUES (1003); EXECUTE p; EXECUTE p",
        )
        .expect("rows");
    copy_three(&mut client, "orders");
    let ids = bigints(&mut client, "SELECT id FROM orders UNION ALL SELECT id FROM noted");
    assert_eq!(ids.len(), 2 * (3 + 997 + 4 + 3));
    assert_distinct(ids);
    let error =
        error_of(client.batch_execute("ALTER TABLE seven ADD COLUMN number noting DEFAULT 1"));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    assert_eq!(error.message(), "snowflake_nextval_in_copy() cannot be called in ALTER TABLE");
    assert!(error.hint().expect("a hint").contains("new session"), "{error:?}");
    // Another session has not planned it in a COPY.
    let mut other = cluster.connect();
    other.batch_execute("ALTER TABLE seven ADD COLUMN number noting DEFAULT 1").expect("a column");
}

/// The same where the cast of a variable keeps it.
#[test]
fn the_cast_of_a_variable_outlives_the_copy_it_was_planned_in() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(&format!(
            "{ORDERS};
             CREATE TYPE key AS (id bigint);
             CREATE FUNCTION key(number integer) RETURNS key LANGUAGE sql
                RETURN ROW (snowflake_nextval())::key;
             CREATE CAST (integer AS key) WITH FUNCTION key(integer) AS ASSIGNMENT;
             CREATE TABLE taken (id bigint);
             CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS
                'DECLARE k key; BEGIN
                    k := 1; INSERT INTO taken VALUES (k.id);
                    k := 2; INSERT INTO taken VALUES (k.id);
                    RETURN new;
                END';
             CREATE TRIGGER take BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION take()"
        ))
        .expect("tables");
    copy_three(&mut client, "orders");
    let insert = "INSERT INTO orders (number) SELECT generate_series(1, 100)";
    client.batch_execute(insert).expect("rows");
    let ids = bigints(&mut client, "SELECT id FROM orders UNION ALL SELECT id FROM taken");
    assert_eq!(ids.len(), 3 * 103);
    assert_distinct(ids);
}

/// Somebody who makes the stand-in a default of his own.
#[test]
fn the_stand_in_as_a_default_takes_an_id_for_each_row() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(&format!(
            "CREATE TABLE own (id bigint DEFAULT {STAND_IN}, number bigint);
             CREATE TABLE seven AS SELECT generate_series(1, 7) AS n;
             INSERT INTO own (number) SELECT generate_series(1, 1000);
             INSERT INTO own (number) VALUES (1), (2), (3);
             INSERT INTO own VALUES (DEFAULT, 1), (DEFAULT, 2);
             CREATE TABLE made AS SELECT {STAND_IN} AS id FROM generate_series(1, 100)"
        ))
        .expect("rows");
    copy_three(&mut client, "own");
    let ids = bigints(&mut client, "SELECT id FROM own UNION ALL SELECT id FROM made");
    assert_eq!(ids.len(), 1000 + 3 + 2 + 3 + 100);
    assert_distinct(ids);
    for change in ["ADD COLUMN id bigint DEFAULT", "ALTER COLUMN n TYPE bigint USING"] {
        let statement = format!("ALTER TABLE seven {change} {STAND_IN}");
        let error = error_of(client.batch_execute(&statement));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
        let within = format!("DO $$ BEGIN EXECUTE '{statement}'; END $$");
        let error = error_of(client.batch_execute(&within));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    }
}

/// A role that may execute one of the two functions only gets by COPY what it gets by INSERT.
#[test]
fn a_role_needs_the_right_to_execute_both_functions() {
    let cluster = Cluster::start();
    let mut superuser = cluster.connect();
    superuser
        .batch_execute(&format!("CREATE ROLE guest LOGIN; {ORDERS}; GRANT ALL ON orders TO guest"))
        .expect("a role");
    let connect = || cluster.config().user("guest").connect(NoTls).expect("a session");
    let mut guest = connect();
    copy_three(&mut guest, "orders");

    superuser
        .batch_execute("REVOKE EXECUTE ON FUNCTION snowflake_nextval() FROM PUBLIC")
        .expect("revoked");
    let refused = [
        "INSERT INTO orders (number) VALUES (1)",
        "SELECT snowflake_nextval()",
        &format!("SELECT {STAND_IN}"),
        &format!(
            "CREATE TEMP TABLE mine (id bigint DEFAULT {STAND_IN}); INSERT INTO mine VALUES (DEFAULT)"
        ),
    ];
    let refuse = |guest: &mut Client, statement: &str| {
        let error = error_of(guest.batch_execute(statement));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{statement}: {error}");
        let message = "permission denied for function snowflake_nextval";
        assert_eq!(error.message(), message, "{statement}");
    };
    for statement in refused {
        refuse(&mut guest, statement);
    }
    let error = error_of(copy_in(&mut guest, "COPY orders (number) FROM STDIN", b"1\n"));
    assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error}");

    // Without the stand-in, COPY inserts row by row, as before.
    superuser
        .batch_execute(&format!(
            "GRANT EXECUTE ON FUNCTION snowflake_nextval() TO PUBLIC;
             REVOKE EXECUTE ON FUNCTION {STAND_IN} FROM PUBLIC;
             REVOKE USAGE ON SCHEMA snowflake_internal FROM PUBLIC"
        ))
        .expect("granted");
    copy_three(&mut connect(), "orders");
    assert_distinct(bigints(&mut superuser, "SELECT id FROM orders"));
}

/// A schema of the extension's name, in which somebody has put a function of the stand-in's name.
#[test]
fn no_function_of_somebody_else_stands_in() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(&format!(
            "{ORDERS};
             ALTER SCHEMA snowflake_internal RENAME TO renamed;
             CREATE SCHEMA snowflake_internal;
             CREATE FUNCTION {STAND_IN} RETURNS bigint LANGUAGE plpgsql STABLE AS
                'BEGIN RAISE EXCEPTION ''trap''; END';
             CREATE FUNCTION public.snowflake_nextval_in_copy() RETURNS bigint LANGUAGE plpgsql
                STABLE AS 'BEGIN RAISE EXCEPTION ''trap''; END'"
        ))
        .expect("a trap");
    copy_three(&mut client, "orders");
    assert_distinct(bigints(&mut client, "SELECT id FROM orders"));
}
