//! The whole way: what comes out is what plain ALTERs make of the same schema, and no row is lost.

use std::time::Instant;

use postgres::error::SqlState;
use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, dump_text, error_of};

use super::shop::{DEPENDENTS, PLAIN, ROWS, SHOP, WRITES};
use super::walk::{Next, Walk, owner};

const ALSO: &str = "also => '{log.order_id}'";
const PREPARE: Walk = Walk { relation: "orders", goal: "prepare", more: ALSO };
// What was named for the goal "prepare" need not be named again.
const SWAP: Walk = Walk { goal: "swap", more: "", ..PREPARE };
const ABANDON: Walk = Walk { goal: "abandon", ..SWAP };

/// All rows.
const CONTENT: &str = r#"
    SELECT concat_ws(E'\n',
        (SELECT string_agg(concat_ws(' ', id, item, parent, tags, weight), ',' ORDER BY id) FROM orders),
        (SELECT string_agg(concat_ws(' ', number, note, order_id), ',' ORDER BY number) FROM lines),
        (SELECT string_agg(concat_ws(' ', "The Order", note, amount), ',' ORDER BY "The Order", note, amount)
         FROM "In Voices"),
        (SELECT string_agg(concat_ws(' ', entry, order_id, what), ',' ORDER BY entry) FROM log))"#;

/// A cluster with the shop in database postgres, and a session of its owner.
fn shop() -> (Cluster, Client) {
    let cluster = Cluster::start_with_conversion();
    cluster.connect().batch_execute("CREATE ROLE reader").expect("a role");
    let mut client = owner(&cluster, "app");
    for part in [SHOP, DEPENDENTS, ROWS] {
        client.batch_execute(part).expect("a shop");
    }
    (cluster, client)
}

/// A dump without the rows, in which the order of columns does not count.
fn schema(cluster: &Cluster, database: &str) -> Vec<String> {
    let dump = dump_text(cluster, &["--schema-only", "--schema=app", database]);
    let mut lines: Vec<String> =
        dump.lines().map(|line| line.trim_end_matches(',').to_owned()).collect();
    lines.sort();
    lines
}

fn content(client: &mut Client) -> String {
    client.query_one(CONTENT, &[]).expect("rows").get(0)
}

fn write(client: &mut Client, number: usize) {
    let writes = WRITES.replace("{}", &number.to_string());
    client.batch_execute(&writes).unwrap_or_else(|error| panic!("{number}: {error:?}"));
}

#[test]
fn a_dump_is_that_of_plain_alters_and_every_row_is_there() {
    let (cluster, mut client) = shop();
    cluster.connect().batch_execute("CREATE DATABASE plain").expect("a database");
    let mut plain = cluster.config().user("app").dbname("plain").connect(NoTls).expect("a session");
    let create = "CREATE SCHEMA app AUTHORIZATION app";
    cluster.connect_to("plain").batch_execute(create).expect("a schema");
    for part in [SHOP, PLAIN, DEPENDENTS, ROWS] {
        plain.batch_execute(part).expect("a shop");
    }
    client.batch_execute("ANALYZE").expect("analyzed");
    let mut number = 0;
    let mut phases = Vec::new();
    let last = PREPARE
        .walk(&mut client, |client, next| {
            number += 1;
            write(client, number);
            write(&mut plain, number);
            // Autovacuum might analyze a table before.
            if phases.last() != Some(&next.phase) && next.phase != "analyze" {
                phases.push(next.phase.clone());
            }
        })
        .expect("prepared");
    assert_eq!(last.phase, "ready");
    assert_eq!(
        phases.join(", "),
        "shadow columns, backfill, vacuum, compare, backfill, vacuum, compare, backfill, vacuum, compare, \
         backfill, vacuum, compare, not null, checks, validate, indexes, foreign keys, validate, statistics"
    );
    assert_eq!(content(&mut client), content(&mut plain));

    let swap = SWAP.next(&mut client, 0).expect("a row");
    assert_eq!((swap.phase.as_str(), swap.object.as_deref()), ("swap", Some("app.orders")));
    swap.execute(&mut client).expect("swapped");
    let again = error_of(swap.execute(&mut client));
    assert_eq!(again.code(), &SqlState::T_R_SERIALIZATION_FAILURE, "{again}");
    for walk in [PREPARE, SWAP] {
        assert_eq!(walk.next(&mut client, 0).expect("a row").phase, "done");
    }
    assert_eq!(ABANDON.next(&mut client, 0).expect("a row").phase, "nothing");
    write(&mut client, number + 1);
    write(&mut plain, number + 1);
    assert_eq!(content(&mut client), content(&mut plain));
    let (widened, altered) = (schema(&cluster, "postgres"), schema(&cluster, "plain"));
    let only = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|line| !other.contains(line)).cloned().collect()
    };
    // PostgreSQL writes the columns of a statistics object in their order in the table.
    assert_eq!(
        only(&widened, &altered),
        ["CREATE STATISTICS app.together ON weight, parent FROM app.orders;"]
    );
    assert_eq!(
        only(&altered, &widened),
        ["CREATE STATISTICS app.together ON parent, weight FROM app.orders;"]
    );
    assert_eq!(widened.len(), altered.len());
    let large = "INSERT INTO orders (id, item) VALUES (4000000000, 'large')";
    let late = error_of(client.batch_execute(large));
    assert_eq!(late.constraint(), Some("late"));
    client.batch_execute("ALTER TABLE orders DROP CONSTRAINT late").expect("dropped");
    client.batch_execute(large).expect("inserted");
}

#[test]
fn what_is_abandoned_is_as_it_was() {
    let (cluster, mut client) = shop();
    client.batch_execute("ANALYZE").expect("analyzed");
    let (before, rows) =
        (dump_text(&cluster, &["--schema-only", "postgres"]), content(&mut client));
    // Abandoned at first in the first phase, then in the third, and so on.
    let mut phases = 0;
    loop {
        let (mut position, mut seen) = (0, Vec::new());
        let last = loop {
            let next = PREPARE.next(&mut client, position).expect("a row");
            if next.statement.is_none() || seen.len() > phases {
                break next.phase;
            }
            next.execute(&mut client).expect("executed");
            position = next.position;
            if !seen.contains(&next.phase) {
                seen.push(next.phase);
            }
        };
        assert_eq!(ABANDON.walk(&mut client, |_, _| {}).expect("abandoned").phase, "nothing");
        assert_eq!(dump_text(&cluster, &["--schema-only", "postgres"]), before, "{seen:?}");
        assert_eq!(content(&mut client), rows, "{seen:?}");
        if last == "ready" {
            break;
        }
        phases += 2;
    }
    assert!(phases > 8, "{phases}");
}

#[test]
fn a_swap_is_refused_if_anything_has_changed() {
    let (cluster, mut client) = shop();
    let mut other = cluster.config().user("app").connect(NoTls).expect("a session");
    let error = error_of(SWAP.next(&mut client, 0));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    assert_eq!(error.message(), "not everything is prepared for the swap of app.orders");
    assert_eq!(PREPARE.walk(&mut client, |_, _| {}).expect("prepared").phase, "ready");
    let changes = [
        ("CREATE INDEX new ON orders (id, weight)", "indexes", "DROP INDEX new"),
        ("DROP INDEX terms", "drop index", ""),
        (
            "ALTER TABLE orders ADD CONSTRAINT small CHECK (id < 100000)",
            "checks",
            "ALTER TABLE orders DROP CONSTRAINT small",
        ),
        (
            "ALTER TABLE orders DROP CONSTRAINT positive; ALTER TABLE orders ADD CONSTRAINT positive CHECK (id > 1)",
            "leftovers",
            "",
        ),
        (
            "CREATE TABLE later (of_order integer REFERENCES orders)",
            "shadow columns",
            "DROP TABLE later",
        ),
        ("GRANT SELECT (id) ON orders TO PUBLIC", "properties", ""),
        ("COMMENT ON COLUMN orders.id IS NULL", "properties", ""),
        ("ALTER TABLE lines ALTER order_id DROP NOT NULL", "shadow columns", ""),
        ("ALTER TABLE lines ALTER order_id SET NOT NULL", "shadow columns", ""),
        ("CREATE VIEW another AS SELECT id FROM orders", "", ""),
        ("ALTER TABLE orders ALTER parent SET DEFAULT 11", "", ""),
        ("ALTER SEQUENCE orders_id_seq INCREMENT 2", "", ""),
        ("COMMENT ON VIEW above IS 'another'", "", ""),
        ("CREATE OR REPLACE VIEW heavy AS SELECT id, item FROM orders WHERE weight > 6", "", ""),
        ("ALTER FUNCTION touched() STABLE", "", "ALTER FUNCTION touched() VOLATILE"),
        ("DROP STATISTICS together", "leftovers", ""),
    ];
    for (number, (change, phase, undo)) in changes.into_iter().enumerate() {
        let swap = SWAP.next(&mut client, 0).expect("a row");
        assert_eq!(swap.phase, "swap", "{change}");
        // What the same transaction has changed counts, too.
        let in_transaction = Next {
            locks: Some(format!("{change}; {}", swap.locks.as_deref().expect("locks"))),
            ..swap
        };
        let first = error_of(in_transaction.execute(&mut client));
        let swap = SWAP.next(&mut client, 0).expect("a row");
        [&mut client, &mut other][number % 2].batch_execute(change).expect("changed");
        let error = error_of(swap.execute(&mut client));
        assert_eq!(first.code(), error.code(), "{change}: {first}");
        match phase {
            "" => {
                assert_eq!(error.code(), &SqlState::T_R_SERIALIZATION_FAILURE, "{change}: {error}")
            }
            phase => {
                let code = &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
                assert_eq!(error.code(), code, "{change}: {error}");
                let next = PREPARE.next(&mut client, 0).expect("a row");
                assert_eq!(next.phase, phase, "{change}");
            }
        }
        client.batch_execute(undo).expect("undone");
        let last = PREPARE.walk(&mut client, |_, _| {}).expect("prepared");
        assert_eq!(last.phase, "ready", "{change}");
    }
    SWAP.next(&mut client, 0).expect("a row").execute(&mut client).expect("swapped");
}

#[test]
fn a_swap_asks_nothing_under_its_locks_if_nothing_has_changed() {
    let (_cluster, mut client) = shop();
    assert_eq!(PREPARE.walk(&mut client, |_, _| {}).expect("prepared").phase, "ready");
    // Autovacuum changes the catalog, too.
    let is_fast = (0..5).any(|_| {
        let swap = SWAP.next(&mut client, 0).expect("a row");
        let statement = swap.statement.expect("a statement");
        let (guard, _) = statement.split_once(';').expect("a guard");
        client.batch_execute(&format!("BEGIN; {}", swap.locks.expect("locks"))).expect("locked");
        let [first, second] = [(); 2].map(|()| {
            let begin = Instant::now();
            client.batch_execute(guard).expect("the same");
            begin.elapsed()
        });
        client.batch_execute("ROLLBACK").expect("rolled back");
        first < second / 3
    });
    assert!(is_fast);
}

#[test]
fn a_function_that_has_read_a_row_is_compiled_when_it_is_altered() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    let create = "
        CREATE TABLE t (id serial PRIMARY KEY);
        INSERT INTO t DEFAULT VALUES;
        CREATE FUNCTION after() RETURNS bigint LANGUAGE plpgsql AS
            'DECLARE r record; BEGIN SELECT * INTO r FROM t; RETURN r.id + 1; END'";
    client.batch_execute(create).expect("a function");
    client.batch_execute("SELECT after()").expect("compiled");
    for goal in ["prepare", "swap"] {
        Walk { relation: "t", goal, more: "" }.walk(&mut client, |_, _| {}).expect("executed");
    }
    let error = error_of(client.batch_execute("SELECT after()"));
    assert_eq!(error.code(), &SqlState::DATATYPE_MISMATCH, "{error}");
    client.batch_execute("ALTER FUNCTION after() VOLATILE; SELECT after()").expect("compiled");
}
