//! Public IDs: which name is whose, what an index serves, and what is an error.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, assert_increasing, bigint, bigints, error_of, explain};

/// Two keys, as a file has them.
pub const ONE: &str = "000102030405060708090a0b0c0d0e0f\n";
pub const TWO: &str = "2b7e151628aed2a6abf7158809cf4f3c\n";

/// A server with the first key.
fn server() -> (Cluster, Client) {
    let cluster = Cluster::builder().public_keys(ONE).start();
    let client = cluster.connect();
    (cluster, client)
}

fn name(client: &mut Client, id: i64, prefix: &str) -> String {
    let name = "SELECT snowflake_to_public($1, $2)";
    client.query_one(name, &[&id, &prefix]).expect("a name").get(0)
}

fn id(client: &mut Client, name: &str, prefix: &str) -> Option<i64> {
    let id = "SELECT snowflake_from_public($1, $2)";
    client.query_one(id, &[&name, &prefix]).expect("an answer").get(0)
}

#[test]
fn a_name_is_read_with_its_key_and_prefix_only() {
    let (_cluster, mut client) = server();
    for of in [0, 1, -1, i64::MIN, i64::MAX, 1_268_118_639_732_232_192] {
        for prefix in ["", "ord", "order_line"] {
            let name = name(&mut client, of, prefix);
            assert_eq!(id(&mut client, &name, prefix), Some(of), "{name}");
            assert_eq!(id(&mut client, &name, "usr"), None, "{name}");
            for changed in [format!(" {name}"), format!("{name}\n"), name.to_lowercase()] {
                assert_eq!(id(&mut client, &changed, prefix), None, "{changed}");
            }
        }
    }
    let known = "ord_4v6OhBwNrBBescGiuxQIbh";
    assert_eq!(name(&mut client, 1_268_118_639_732_232_192, "ord"), known);
    for nobodys in ["", "ord", "ord_", "ö", "\u{1}", &"z".repeat(1_000_000)] {
        assert_eq!(id(&mut client, nobodys, ""), None);
        assert_eq!(id(&mut client, nobodys, "ord"), None);
    }
}

#[test]
fn null_gives_null_and_a_wrong_prefix_is_an_error() {
    let (_cluster, mut client) = server();
    let nulls =
        "SELECT (snowflake_to_public(NULL) IS NULL AND snowflake_from_public(NULL, 'ord') IS NULL)
         ::int::bigint";
    assert_eq!(bigint(&mut client, nulls), 1);
    for function in
        ["snowflake_to_public(1, ", "snowflake_from_public('x', ", "snowflake_to_public(NULL, "]
    {
        for (prefix, code, message, detail) in [
            (
                "NULL",
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "the prefix of a public ID must not be NULL",
                None,
            ),
            (
                "'Ord'",
                SqlState::INVALID_PARAMETER_VALUE,
                "invalid prefix for a public ID",
                Some(
                    "The value is not valid: it has characters other than a to z and underscores.",
                ),
            ),
            (
                "'ord_'",
                SqlState::INVALID_PARAMETER_VALUE,
                "invalid prefix for a public ID",
                Some("The value is not valid: it begins or ends with an underscore."),
            ),
            (
                "repeat('a', 64)",
                SqlState::INVALID_PARAMETER_VALUE,
                "invalid prefix for a public ID",
                Some("The value is not valid: it has more than 63 characters."),
            ),
        ] {
            let error = error_of(client.batch_execute(&format!("SELECT {function}{prefix})")));
            assert_eq!(error.code(), &code, "{error}");
            assert_eq!(error.message(), message);
            assert_eq!(error.detail(), detail);
            assert!(error.hint().is_some());
        }
    }
}

#[test]
fn without_a_key_both_functions_say_how_to_make_one() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    for call in ["snowflake_to_public(1)", "snowflake_from_public('x', 'ord')"] {
        let error = error_of(client.batch_execute(&format!("SELECT {call}")));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
        assert_eq!(error.message(), "this server has no key for public IDs");
        assert!(error.hint().expect("a hint").contains("openssl rand -hex 16"));
    }
    let without = Cluster::builder().unset("shared_preload_libraries").start();
    let error = error_of(without.connect().batch_execute("SELECT snowflake_to_public(1)"));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    assert!(error.message().contains("shared_preload_libraries"), "{error}");
}

/// Ten thousand orders.
const ORDERS: &str = "
    CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
    INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 10000);
    ANALYZE orders";

#[test]
fn the_index_of_the_primary_key_serves_a_lookup() {
    let (_cluster, mut client) = server();
    client.batch_execute(ORDERS).expect("orders");
    let some = bigint(&mut client, "SELECT id FROM orders OFFSET 5000 LIMIT 1");
    let name = name(&mut client, some, "ord");
    let lookup = format!("SELECT id FROM orders WHERE id = snowflake_from_public('{name}', 'ord')");
    assert_eq!(bigint(&mut client, &lookup), some);
    let many = format!(
        "SELECT id FROM orders
         WHERE id = ANY (ARRAY(SELECT snowflake_from_public(n, 'ord') FROM unnest(ARRAY['{name}', 'forged']) AS n))"
    );
    assert_eq!(bigints(&mut client, &many), [some]);
    for query in [&lookup, &many] {
        let plan = explain(&mut client, query);
        assert!(plan.contains("using orders_pkey"), "{plan}");
    }

    // In a generic plan, too, which does not know the name.
    client.batch_execute("SET plan_cache_mode = force_generic_plan").expect("set");
    let prepare =
        "PREPARE find(text) AS SELECT id FROM orders WHERE id = snowflake_from_public($1, 'ord')";
    client.batch_execute(prepare).expect("prepared");
    let plan = explain(&mut client, &format!("EXECUTE find('{name}')"));
    assert!(plan.contains("using orders_pkey") && plan.contains("$1"), "{plan}");

    // A view computes the name of each row; the function of the page looks for the ID.
    let page = include_str!("../../../../docs/public-ids.md");
    let (_, definitions) = page.split_once("CREATE VIEW public_orders").expect("a view");
    let (definitions, _) = definitions.split_once("SELECT * FROM public_order(").expect("a use");
    let create = format!("CREATE VIEW public_orders{definitions}");
    client.batch_execute(&create).expect("a view and a function");
    let of_view = format!("SELECT * FROM public_orders WHERE public_id = '{name}'");
    assert!(explain(&mut client, &of_view).contains("Seq Scan"));
    let plan = explain(&mut client, &format!("SELECT * FROM public_order('{name}')"));
    assert!(plan.contains("using orders_pkey"), "{plan}");

    // The name of a column has to be computed for each row.
    let computed = format!("SELECT id FROM orders WHERE snowflake_to_public(id, 'ord') = '{name}'");
    let plan = explain(&mut client, &computed);
    assert!(plan.contains("Seq Scan"), "{plan}");
}

#[test]
fn a_generated_column_and_an_index_are_refused() {
    let (_cluster, mut client) = server();
    client.batch_execute(ORDERS).expect("orders");
    for statement in [
        "ALTER TABLE orders ADD public text GENERATED ALWAYS AS (snowflake_to_public(id)) STORED",
        "CREATE INDEX ON orders (snowflake_to_public(id))",
    ] {
        let error = error_of(client.batch_execute(statement));
        assert_eq!(error.code(), &SqlState::INVALID_OBJECT_DEFINITION, "{error}");
        assert!(
            error.message().contains("IMMUTABLE") || error.message().contains("immutable"),
            "{error}"
        );
    }
}

#[test]
fn parallel_workers_make_and_read_the_same_names() {
    let (_cluster, mut client) = server();
    client.batch_execute(ORDERS).expect("orders");
    client
        .batch_execute(
            "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
             SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2",
        )
        .expect("set");
    let check = "SELECT count(*) FROM orders
         WHERE snowflake_from_public(snowflake_to_public(id, item), item) = id";
    let plan = explain(&mut client, check);
    assert!(plan.contains("Gather"), "{plan}");
    assert_eq!(bigint(&mut client, check), 10_000);
}

#[test]
fn a_standby_makes_and_reads_names() {
    let (cluster, mut client) = server();
    let of = bigint(&mut client, "SELECT snowflake_nextval()");
    let name = name(&mut client, of, "ord");
    let mut standby = cluster.base_backup(&["--write-recovery-conf"]);
    standby.write_public_keys(ONE);
    standby
        .configure(&[("snowflake.public_key_file", &standby.public_key_file().to_string_lossy())]);
    standby.start_again();
    let mut client = standby.connect();
    assert_eq!(id(&mut client, &name, "ord"), Some(of));
    assert_eq!(self::name(&mut client, of, "ord"), name);
}

/// IDs sort by time, and their names do not.
#[test]
fn names_tell_nothing_of_the_order() {
    let (_cluster, mut client) = server();
    client.batch_execute(ORDERS).expect("orders");
    let ids = bigints(&mut client, "SELECT id FROM orders ORDER BY id");
    assert_increasing(&ids);
    let by_name = bigints(
        &mut client,
        "SELECT id FROM orders ORDER BY snowflake_to_public(id) COLLATE \"C\"",
    );
    // In a random order, the next one is greater in half of the cases.
    let greater = by_name.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!((4_700..=5_300).contains(&greater), "{greater}");
}

/// In a database with another encoding, the text of a name is bytes that mean nothing.
#[test]
fn names_are_read_in_every_encoding() {
    let (cluster, mut client) = server();
    for (database, encoding) in [("latin", "LATIN1"), ("ascii", "SQL_ASCII")] {
        let create = format!(
            "CREATE DATABASE {database} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"
        );
        client.batch_execute(&create).expect("a database");
        let mut client = cluster.connect_to(database);
        client.batch_execute("CREATE EXTENSION snowflake").expect("the extension");
        let check = "SELECT (snowflake_from_public(convert_from('\\x6f72645fe4', current_setting('server_encoding')), 'ord')
             IS NULL AND snowflake_from_public(snowflake_to_public(5, 'ord'), 'ord') = 5)::int::bigint";
        assert_eq!(bigint(&mut client, check), 1, "{database}");
    }
}
