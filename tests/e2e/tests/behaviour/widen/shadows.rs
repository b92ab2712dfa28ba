//! The first phase: shadow columns, and the trigger that keeps them.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of};

use super::walk::{Walk, owner};

const TABLES: &str = "
    CREATE TABLE orders (id serial PRIMARY KEY, item text);
    CREATE TABLE lines (order_id integer REFERENCES orders, \"Other Order\" smallint REFERENCES orders);
    COMMENT ON COLUMN orders.id IS 'it''s the key';
    GRANT SELECT (id, item) ON orders TO PUBLIC;
    INSERT INTO orders (item) SELECT 'old' FROM generate_series(1, 10);";

const ORDERS: Walk = Walk { relation: "orders", goal: "prepare", more: "" };

#[test]
fn rows_that_are_written_have_their_keys_twice() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    client.batch_execute(TABLES).expect("tables");
    // The tables are in another order than their names.
    for table in ["app.lines", "app.orders"] {
        let next = ORDERS.next(&mut client, 0).expect("a row");
        assert_eq!((next.phase.as_str(), next.object.as_deref()), ("shadow columns", Some(table)));
        next.execute(&mut client).expect("executed");
        let again = error_of(next.execute(&mut client));
        assert_eq!(again.code(), &SqlState::DUPLICATE_COLUMN, "{again}");
    }
    let next = ORDERS.next(&mut client, 0).expect("a row");
    assert_ne!(next.phase, "shadow columns");

    let writes = "
        INSERT INTO orders (item) VALUES ('new');
        UPDATE orders SET id = 100 WHERE id = 1;
        INSERT INTO orders VALUES (200, 'with a key') ON CONFLICT (id) DO UPDATE SET id = 300;
        INSERT INTO orders VALUES (200, 'with a key') ON CONFLICT (id) DO UPDATE SET id = 300;
        UPDATE orders SET snowflake_widen_1 = 5 WHERE id = 300;
        INSERT INTO lines VALUES (300, NULL), (NULL, 11);";
    client.batch_execute(writes).expect("written");
    let same = "SELECT count(*) FROM orders WHERE snowflake_widen_1 = id";
    assert_eq!(bigint(&mut client, same), 3);
    let same = "
        SELECT count(*) FROM lines
        WHERE (snowflake_widen_1, snowflake_widen_2) IS NOT DISTINCT FROM (order_id, \"Other Order\")";
    assert_eq!(bigint(&mut client, same), 2);
    // A subscription applies rows as a replica, where most triggers do not fire.
    let as_replica = "
        SET session_replication_role = replica; INSERT INTO app.orders VALUES (400, 'replicated')";
    cluster.connect().batch_execute(as_replica).expect("written");
    let replicated = "SELECT snowflake_widen_1 FROM orders WHERE id = 400";
    assert_eq!(bigint(&mut client, replicated), 400);

    let described = "SELECT col_description('orders'::regclass, 3) = 'it''s the key'
                        AND has_column_privilege('public', 'orders', 'snowflake_widen_1', 'SELECT')
                        AND NOT has_column_privilege('public', 'orders', 'snowflake_widen_1', 'UPDATE')";
    assert!(client.query_one(described, &[]).expect("a row").get::<_, bool>(0));
}

#[test]
fn a_column_that_is_renamed_is_copied_as_before() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    client.batch_execute(TABLES).expect("tables");
    for _ in 0..2 {
        ORDERS.next(&mut client, 0).expect("a row").execute(&mut client).expect("executed");
    }
    let renamed = "
        ALTER TABLE orders RENAME id TO number; INSERT INTO orders (item) VALUES ('new');
        ALTER TABLE orders ADD COLUMN z int; ALTER TABLE orders DROP COLUMN z;";
    client.batch_execute(renamed).expect("written");
    assert_eq!(bigint(&mut client, "SELECT snowflake_widen_1 FROM orders WHERE item = 'new'"), 11);
    client.batch_execute("ALTER TABLE orders RENAME snowflake_widen_1 TO x").expect("renamed");
    let error = error_of(client.batch_execute("INSERT INTO orders (item) VALUES ('new')"));
    assert_eq!(error.code(), &SqlState::UNDEFINED_COLUMN);
    assert_eq!(error.message(), "column \"snowflake_widen_1\" does not exist");
    assert!(error.hint().is_some());
}

#[test]
fn the_trigger_copies_only_what_it_was_made_for() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute("CREATE TABLE t (a int, b bigint, c text)").expect("a table");
    let before = "BEFORE INSERT OR UPDATE ON t FOR EACH ROW";
    let cases = [
        ("AFTER INSERT ON t FOR EACH ROW", "'a', '1', 'b'", "39P01"),
        ("BEFORE INSERT ON t FOR EACH STATEMENT", "'a', '1', 'b'", "39P01"),
        (before, "'a', '1'", "22023"),
        (before, "'a', '1', 'c'", "42804"),
        (before, "'c', '3', 'b'", "42804"),
        (before, "'b', '2', 'b'", "42804"),
        (before, "'z', '9', 'b'", "42703"),
        (before, "'z', 'a', 'b'", "42703"),
        (before, "'a', '1', 'z'", "42703"),
    ];
    for (event, arguments, code) in cases {
        let create = format!(
            "BEGIN; CREATE TRIGGER t {event} EXECUTE FUNCTION snowflake_widen_copy({arguments})"
        );
        client.batch_execute(&create).expect("a trigger");
        let error = error_of(client.batch_execute("INSERT INTO t VALUES (1)"));
        assert_eq!(error.code().code(), code, "{event} {arguments}: {error}");
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
    let error = error_of(client.batch_execute("SELECT snowflake_widen_copy()"));
    assert_ne!(error.code().code(), "XX000");
}

#[test]
fn only_a_session_of_the_owner_widens() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    client.batch_execute(TABLES).expect("tables");
    let app = Walk { relation: "app.orders", ..ORDERS };
    let mut superuser = cluster.connect();
    for role in ["SELECT", "SET ROLE app"] {
        superuser.batch_execute(role).expect("a role");
        let error = error_of(app.next(&mut superuser, 0));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE);
        assert_eq!(error.hint(), Some("Connect as app."));
    }
    superuser.batch_execute("RESET ROLE; ALTER ROLE app NOLOGIN").expect("no login");
    let error = error_of(app.next(&mut superuser, 0));
    let hint = error.hint().expect("a hint");
    assert!(hint.starts_with("Connect as app after ALTER ROLE app LOGIN, or "), "{hint}");
    superuser.batch_execute("GRANT CREATE ON SCHEMA public TO PUBLIC").expect("granted");
    let error = error_of(ORDERS.next(&mut client, 0));
    assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE);
    client.batch_execute("SET search_path = pg_catalog").expect("set");
    let next = client.query("SELECT phase FROM public.snowflake_widen_next('app.orders')", &[]);
    assert_eq!(next.expect("a row").len(), 1);
    // PostgreSQL 19 does not allow it to be off.
    if cluster.programs().major() < 19 {
        client.batch_execute("SET standard_conforming_strings = off").expect("set");
        let error =
            error_of(client.query("SELECT * FROM public.snowflake_widen_next('app.orders')", &[]));
        assert_eq!(error.message(), "standard_conforming_strings is off");
    }
}

/// Others can make checks of any name on tables of their own.
#[test]
fn only_the_owner_says_which_columns_have_shadows() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    let mut mallory = owner(&cluster, "mallory");
    client.batch_execute(TABLES).expect("tables");
    let key = bigint(&mut client, "SELECT 'orders'::regclass::oid::bigint");
    let check = format!("CONSTRAINT snowflake_widen_same_1_{key} CHECK (a = b)");
    let table = format!("CREATE TABLE t (a integer, b bigint, {check})");
    mallory.batch_execute(&table).expect("a table");
    for _ in 0..2 {
        let next = ORDERS.next(&mut client, 0).expect("a row");
        assert_eq!(next.phase, "shadow columns");
        next.execute(&mut client).expect("executed");
    }
    assert_ne!(ORDERS.next(&mut client, 0).expect("a row").phase, "shadow columns");
}
