//! The report on keys that take no values of a sequence: those that are converted, those whose values a
//! function or the application makes, and a column that is named. What cannot hold their values is the
//! same as after a conversion.

use postgres::Client;
use snowflake_e2e::{Cluster, error_of};

/// Other kinds of keys, each with the call that reports on it.
const KEYS: [(&str, &str); 9] = [
    ("bigint DEFAULT snowflake_nextval() PRIMARY KEY", "schema => 'public'"),
    ("bigint DEFAULT snowflake_nextval() PRIMARY KEY", "'orders'"),
    ("bigint DEFAULT snowflake_nextval() PRIMARY KEY", "'orders', 'id'"),
    ("bigint DEFAULT snowflake_nextval()", "schema => 'public'"),
    ("bigint DEFAULT timestamp_id('orders') PRIMARY KEY", "schema => 'public'"),
    ("bigint PRIMARY KEY", "schema => 'public'"),
    ("integer PRIMARY KEY", "'orders'"),
    ("integer PRIMARY KEY", "schema => 'public'"),
    ("integer", "'orders', 'id'"),
];

const FUNCTION: &str = "
    CREATE FUNCTION timestamp_id(name text) RETURNS bigint LANGUAGE sql VOLATILE AS
        $$ SELECT (extract(epoch FROM now()) * 1000)::bigint << 16 $$;";

/// What cannot hold the key of table orders, and the object that the report names for it.
const NARROW: [(&str, &str); 24] = [
    ("CREATE TABLE items (order_id integer)", "public.items.order_id"),
    ("CREATE TABLE lists (order_ids integer[])", "public.lists.order_ids"),
    ("CREATE TABLE camels (\"orderId\" smallint)", "public.camels.\"orderId\""),
    (
        "CREATE DOMAIN ref AS integer; CREATE TABLE domains (order_id ref)",
        "public.domains.order_id",
    ),
    ("CREATE TYPE item AS (order_id integer)", "public.item.order_id"),
    ("CREATE TABLE max_ids (max_order_id integer)", "public.max_ids.max_order_id"),
    (
        "CREATE FUNCTION total(order_id integer) RETURNS integer LANGUAGE sql AS
             'SELECT n FROM orders WHERE id = $1'",
        "public.total(integer)",
    ),
    (
        "CREATE FUNCTION last() RETURNS bigint LANGUAGE plpgsql AS
             'DECLARE x integer; BEGIN SELECT max(id) INTO x FROM orders; RETURN x; END'",
        "public.last()",
    ),
    (
        "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
             'DECLARE x int; BEGIN x := NEW.id; RETURN NEW; END';
         CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION audit()",
        "public.audit()",
    ),
    (
        "CREATE VIEW open AS SELECT id FROM orders;
         CREATE FUNCTION of_view() RETURNS bigint LANGUAGE plpgsql AS
             'DECLARE x integer; BEGIN SELECT min(id) INTO x FROM open; RETURN x; END'",
        "public.of_view()",
    ),
    (
        "CREATE FUNCTION parsed(integer) RETURNS bigint LANGUAGE sql
             BEGIN ATOMIC SELECT count(*) FROM orders WHERE id = $1; END",
        "public.parsed(integer)",
    ),
    ("CREATE VIEW cast_of AS SELECT id::smallint FROM orders", "view public.cast_of"),
    (
        "CREATE VIEW in_sum AS SELECT n, CAST(o.id AS smallint) + 1 FROM orders AS o",
        "view public.in_sum",
    ),
    (
        "CREATE MATERIALIZED VIEW stored AS SELECT id::smallint FROM orders",
        "materialized view public.stored",
    ),
    (
        "CREATE VIEW nested AS SELECT x::smallint FROM (SELECT n, id FROM orders) AS s (n, x)",
        "view public.nested",
    ),
    (
        "CREATE VIEW with_part AS WITH s AS (SELECT n, id AS x FROM orders) SELECT x::smallint FROM s",
        "view public.with_part",
    ),
    (
        "CREATE VIEW below AS SELECT n, id FROM orders;
         CREATE VIEW above AS SELECT id::smallint FROM below",
        "view public.above",
    ),
    ("CREATE VIEW arrays AS SELECT array_agg(id)::smallint[] FROM orders", "view public.arrays"),
    ("CREATE VIEW by_text AS SELECT id::text::integer FROM orders", "view public.by_text"),
    ("CREATE VIEW oids AS SELECT id::oid FROM orders", "view public.oids"),
    ("CREATE INDEX narrow ON orders ((id::smallint))", "index public.narrow"),
    (
        "ALTER TABLE orders ADD CHECK (id::smallint > n)",
        "constraint orders_check on table public.orders",
    ),
    (
        "CREATE TABLE log (pk smallint);
         CREATE RULE r AS ON INSERT TO orders DO ALSO INSERT INTO log VALUES (NEW.id::smallint)",
        "rule r on table public.orders",
    ),
    ("CREATE POLICY p ON orders USING (id::smallint = n)", "policy p on table public.orders"),
];

/// What looks like these, and can hold it.
const WIDE: &str = "
    CREATE VIEW wide AS SELECT id, n::smallint, id::text AS t, id::numeric AS d FROM orders;
    CREATE VIEW other AS SELECT x::smallint FROM (SELECT n FROM orders) AS s (x);
    CREATE TABLE fine (order_id bigint, order_ids bigint[], orders integer);
    CREATE FUNCTION harmless(n integer) RETURNS integer LANGUAGE sql AS 'SELECT n + 1';";

fn rows(client: &mut Client, arguments: &str) -> Vec<(String, String, String)> {
    let query = format!("SELECT kind, object, reason FROM snowflake_convert_report({arguments})");
    let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

#[test]
fn what_cannot_hold_other_keys_is_reported() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(FUNCTION).expect("a function");
    for (key, arguments) in KEYS {
        let orders = format!("BEGIN; CREATE TABLE orders (id {key}, n integer)");
        client.batch_execute(&orders).expect(key);
        client.batch_execute(WIDE).expect(WIDE);
        let plain = rows(&mut client, arguments);
        for (narrow, _) in NARROW {
            client.batch_execute(narrow).expect(narrow);
        }
        let found = rows(&mut client, arguments);
        for (narrow, object) in NARROW {
            let is_found = |rows: &[(String, String, String)]| {
                rows.iter().any(|(kind, of, _)| kind != "change" && of == object)
            };
            assert!(is_found(&found), "{key}, {arguments}: {narrow}: {found:#?}");
            assert!(!is_found(&plain), "{key}, {arguments}: {object}: {plain:#?}");
        }
        for wide in ["view public.wide", "view public.other", "fine", "harmless"] {
            let is_named = found.iter().any(|row| row.0 == "risk" && row.1.contains(wide));
            assert!(!is_named, "{key}, {arguments}: {wide}: {found:#?}");
        }
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// PostgreSQL lets an integer refer to a bigint.
#[test]
fn an_integer_that_refers_to_a_converted_key_is_a_risk() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(FUNCTION).expect("a function");
    for key in ["DEFAULT snowflake_nextval()", "DEFAULT timestamp_id('orders')", ""] {
        client
            .batch_execute(&format!(
                "BEGIN; CREATE TABLE orders (id bigint PRIMARY KEY {key});
                 CREATE TABLE items (order_id integer REFERENCES orders);
                 CREATE TABLE notes (id bigint PRIMARY KEY REFERENCES orders);
                 CREATE TABLE lines (note integer REFERENCES notes);
                 CREATE TABLE fine (order_id bigint REFERENCES orders);"
            ))
            .expect(key);
        for arguments in ["schema => 'public'", "'orders'"] {
            let found = rows(&mut client, arguments);
            let of = |object: &str| {
                let of = |row: &&(String, String, String)| {
                    row.1 == object && row.2.contains("refers to a key")
                };
                found.iter().filter(of).count()
            };
            assert_eq!(of("public.items.order_id"), 1, "{key}, {arguments}: {found:#?}");
            assert_eq!(of("public.lines.note"), 1, "{key}, {arguments}: {found:#?}");
            assert_eq!(of("public.fine.order_id"), 0, "{key}, {arguments}: {found:#?}");
        }
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// What a conversion of the schema passes over is said in one row, and is no obstacle and no change.
#[test]
fn keys_that_a_schema_passes_over_are_named_once() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(&format!(
            "{FUNCTION}
             CREATE TABLE a (id bigint PRIMARY KEY DEFAULT timestamp_id('a'), CHECK (id < 5000000000));
             CREATE SEQUENCE a_id_seq OWNED BY a.id; CREATE VIEW next AS SELECT nextval('a_id_seq');
             CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
             CREATE TRIGGER noted BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION noted();
             CREATE TABLE b (id bigint PRIMARY KEY); INSERT INTO b VALUES (9223372036854775807);
             CREATE TABLE c (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
             CREATE TABLE d (id bigserial PRIMARY KEY);
             CREATE TABLE e (code integer PRIMARY KEY);"
        ))
        .expect("tables");
    let found = rows(&mut client, "schema => 'public'");
    let named: Vec<&String> =
        found.iter().map(|row| &row.2).filter(|reason| reason.contains("are named")).collect();
    let [named] = named[..] else { panic!("{found:#?}") };
    assert!(named.contains("public.a.id, public.b.id."), "{named}");
    assert!(found.iter().all(|(kind, ..)| kind != "obstacle"), "{found:#?}");
    let changed: Vec<&str> =
        found.iter().filter(|row| row.0 == "change").map(|row| row.1.as_str()).collect();
    assert_eq!(changed, ["public.d"], "{found:#?}");
    assert!(found.iter().all(|row| !row.2.contains("noted()")), "{found:#?}");
    // As the column is given, the report is on its conversion.
    let found = rows(&mut client, "'b', 'id'");
    assert!(found.iter().any(|(kind, ..)| kind == "obstacle"), "{found:#?}");
    // What there is nothing to say of is an error, as in a conversion.
    client.batch_execute("CREATE SCHEMA empty").expect("a schema");
    let error = error_of(client.query("SELECT snowflake_convert_report(schema => 'empty')", &[]));
    assert_eq!(error.message(), "schema empty has no keys that take values of a sequence");
    assert_eq!(error.hint(), Some("Name a table and a column to convert."));
}
