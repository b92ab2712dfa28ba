//! The recipes of docs/recipes.md that need more than one session.

use std::thread;

use postgres::Client;
use snowflake_e2e::{
    Cluster, Run, assert_distinct, at_once, bigint, bigints, eventually, meanwhile, value,
};
use snowflake_repository::page;

const PAGE: &str = "docs/recipes.md";

/// Takes what is new since the last poll, as the recipe says for rows that take IDs of pools.
struct Poller {
    client: Client,
    horizon: i64,
}

impl Poller {
    fn poll(&mut self) -> Vec<i64> {
        let query = "SELECT horizon::text::bigint, id
             FROM pg_snapshot_xmin(pg_current_snapshot()) AS horizon
             LEFT JOIN jobs ON xid >= $1::bigint::text::xid8 AND xid < horizon ORDER BY id";
        let rows = self.client.query(query, &[&self.horizon]).expect("a horizon");
        self.horizon = rows[0].get(0);
        rows.iter().filter_map(|row| row.get(1)).collect()
    }
}

/// A cluster with a table of jobs, and one of messages.
fn jobs() -> Cluster {
    let cluster = Cluster::start();
    cluster.run(
        "CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
             xid xid8 NOT NULL DEFAULT pg_current_xact_id());
         CREATE INDEX ON jobs (xid);
         CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), message text);
         CREATE TABLE sent (position bigint NOT NULL);
         INSERT INTO sent VALUES (0)",
    );
    cluster
}

const INSERT: &str = "INSERT INTO jobs DEFAULT VALUES RETURNING id";

/// Four sessions insert up to three rows in each of their transactions, and something reads them in
/// the meantime, and once more. Asserts that it got every row once, and returns them.
fn read_while_written(
    cluster: &Cluster,
    table: &str,
    mut read: impl FnMut() -> Vec<i64>,
) -> Vec<i64> {
    let mut got = Vec::new();
    let write = |number| {
        let mut client = cluster.connect();
        client.run("SET synchronous_commit = off");
        for round in 0..200 {
            client.run("BEGIN");
            for _ in 0..=(round + number) % 3 {
                client.run(&format!("INSERT INTO {table} DEFAULT VALUES"));
            }
            thread::yield_now();
            client.run("COMMIT");
        }
    };
    meanwhile(4, write, || got.extend(read()));
    loop {
        let more = read();
        if more.is_empty() {
            break;
        }
        got.extend(more);
    }
    assert_distinct(got.clone());
    let query = format!("SELECT count(*) FROM {table}");
    assert_eq!(cluster.bigint(&query), got.len() as i64);
    got
}

#[test]
fn a_poller_by_transaction_does_not_miss_a_late_commit() {
    let cluster = jobs();
    let mut poller = Poller { client: cluster.connect(), horizon: 0 };
    let (mut late, mut early) = (cluster.connect(), cluster.connect());
    late.run("BEGIN");
    let first = bigint(&mut late, INSERT);
    let second = bigint(&mut early, INSERT);
    assert!(second > first);
    // Whoever went by the largest ID alone would see the second now, and never the first.
    assert_eq!(bigints(&mut early, "SELECT id FROM jobs"), [second]);
    assert_eq!(poller.poll(), [0; 0]);
    late.run("COMMIT");
    assert_eq!(poller.poll(), [first, second]);
    assert_eq!(poller.poll(), [0; 0]);
}

#[test]
fn a_poller_by_transaction_sees_every_row_once() {
    let cluster = jobs();
    let mut poller = Poller { client: cluster.connect(), horizon: 0 };
    read_while_written(&cluster, "jobs", || poller.poll());
}

/// The query of the page finds rows that its own transaction inserted, whose IDs are after `now()`.
#[test]
fn the_last_hour_has_rows_of_this_transaction() {
    let block = page(PAGE).block("SELECT line FROM logs");
    let (_, query) = block.split_once("SELECT line").expect("a query");
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.run("CREATE TABLE logs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), line text)");
    let mut transaction = client.transaction().expect("a transaction");
    transaction.run("INSERT INTO logs DEFAULT VALUES");
    let rows = transaction.query(&format!("SELECT line{query}"), &[]);
    assert_eq!(rows.expect("rows").len(), 1);
}

/// At a low rate, where every ID is the first of its millisecond, the hash of the recipe fills
/// shards evenly, as `id % n` does not, and gives no number that is not a shard's.
#[test]
fn a_hash_spreads_over_shards() {
    const SHARD: &str = "(hashint8(id) & 2147483647) % 16";
    assert!(page(PAGE).text.contains(SHARD));
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE ids AS SELECT
         snowflake_make('2026-01-01+00'::timestamptz + n * interval '1 ms', 5, 9, 0) AS id
         FROM generate_series(1, 1600) AS n",
    );
    let mut shares_by = |shard| {
        bigints(&mut client, &format!("SELECT count(*) FROM ids GROUP BY {shard} ORDER BY 1"))
    };
    assert_eq!(shares_by("id % 16").len(), 1);
    assert_eq!(shares_by("hashint8(id) % 16").len(), 31);
    let shares = shares_by(SHARD);
    assert!(shares.len() == 16 && shares[0] > 60 && shares[15] < 140, "{shares:?}");
}

/// The statement of the page that sends a batch of the outbox.
#[test]
fn an_outbox_sends_every_message_once_in_order() {
    let send = page(PAGE).block("-- a row: the position").replace("SELECT message", "SELECT id");
    let cluster = jobs();
    let mut sender = cluster.connect();
    let sent = read_while_written(&cluster, "outbox", || {
        let rows = sender.query(&send, &[]).expect("a batch");
        rows.iter().map(|row| row.get(0)).collect()
    });
    assert!(sent.is_sorted());
}

#[test]
fn a_poller_on_a_standby_gets_every_row_once() {
    let cluster = jobs();
    let standby = cluster.standby();
    let waits = cluster.programs().major() >= 19;
    let ask = "WITH h AS MATERIALIZED (SELECT snowflake_horizon() AS horizon)
        SELECT horizon, pg_current_wal_insert_lsn()::text FROM h";
    let (mut primary, mut reader) = (cluster.connect(), standby.connect());
    let mut last = 0;
    let got = read_while_written(&cluster, "jobs", || {
        let row = primary.query_one(ask, &[]).expect("a horizon");
        let (horizon, position) = (row.get::<_, i64>(0), row.get::<_, String>(1));
        if waits {
            reader.run(&format!("WAIT FOR LSN '{position}'"));
        } else {
            let is_there = format!("SELECT pg_last_wal_replay_lsn() >= '{position}'");
            eventually("it is replayed", || value(&mut reader, &is_there));
        }
        let rows = format!("SELECT id FROM jobs WHERE id > {last} AND id <= {horizon} ORDER BY id");
        let ids = bigints(&mut reader, &rows);
        last = ids.last().copied().unwrap_or(last);
        ids
    });
    assert!(got.is_sorted());
}

/// Keys of any type over `bigint` are strings, NULLs stay, and numbers of other types are numbers.
#[test]
fn rows_as_json_have_strings_also_within_others() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let block = page(PAGE).block("CREATE FUNCTION row_as_json");
    client.run(block.split("SELECT row_as_json").next().expect("a function"));
    client.run(
        "CREATE DOMAIN key AS bigint CHECK (VALUE > 0);
         CREATE TABLE \"the orders\" (gone bigint, id key, \"item's\" text, amount numeric, parent bigint);
         ALTER TABLE \"the orders\" DROP COLUMN gone;
         CREATE TABLE notes (text text);
         INSERT INTO \"the orders\" VALUES (2126767223489040385, 'a', 2126767223489040385, NULL),
             (2126767223489040386, 'b', 1.5, 2126767223489040385);
         INSERT INTO notes VALUES ('no key')",
    );
    let query = "SELECT (row_as_json(o) || jsonb_build_object('children', (
             SELECT jsonb_agg(row_as_json(c)) FROM \"the orders\" AS c WHERE c.parent = o.id),
             'note', (SELECT row_as_json(n) FROM notes AS n)))::text
         FROM \"the orders\" AS o WHERE parent IS NULL";
    let expected = concat!(
        r#"{"id": "2126767223489040385", "note": {"text": "no key"}, "amount": 2126767223489040385, "#,
        r#""item's": "a", "parent": null, "children": [{"id": "2126767223489040386", "amount": 1.5, "#,
        r#""item's": "b", "parent": "2126767223489040385"}]}"#,
    );
    assert_eq!(value::<String>(&mut client, query), expected);
}

#[test]
fn numbers_of_invoices_have_no_gap() {
    let cluster = Cluster::start();
    let statements = page(PAGE).block("CREATE TABLE invoice_number");
    let (setup, insert) = statements.split_once("WITH next").expect("an insert");
    cluster.run(setup);
    let insert = format!("WITH next{insert}");
    let numbers: Vec<Vec<i64>> = at_once(4, |session| {
        let mut client = cluster.connect();
        let rounds = 0..50;
        let taken = rounds.filter_map(|round| {
            client.run("BEGIN");
            let number = bigint(&mut client, &insert);
            let keeps = (round + session) % 3 > 0;
            client.run(if keeps { "COMMIT" } else { "ROLLBACK" });
            keeps.then_some(number)
        });
        taken.collect()
    });
    let mut numbers = numbers.concat();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=numbers.len() as i64).collect::<Vec<_>>());
    assert!(numbers.len() > 100);
}
