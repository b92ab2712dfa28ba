//! The recipes of docs/recipes.md that need more than one session.

use std::thread;

use postgres::Client;
use snowflake_e2e::{Cluster, Run, assert_distinct, bigint, bigints, eventually};

/// Takes what is new since the last poll, as the recipe says for rows that take IDs of pools.
struct Poller {
    client: Client,
    horizon: i64,
}

impl Poller {
    fn poll(&mut self) -> Vec<i64> {
        let rows = self
            .client
            .query(
                "SELECT horizon::text::bigint, id
                 FROM pg_snapshot_xmin(pg_current_snapshot()) AS horizon
                 LEFT JOIN jobs ON xid >= $1::bigint::text::xid8 AND xid < horizon ORDER BY id",
                &[&self.horizon],
            )
            .expect("a horizon");
        self.horizon = rows[0].get(0);
        rows.iter().filter_map(|row| row.get(1)).collect()
    }
}

fn jobs() -> Cluster {
    let cluster = Cluster::start();
    cluster.run(
        "CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), xid xid8 NOT \
             NULL DEFAULT pg_current_xact_id());
             CREATE INDEX ON jobs (xid)",
    );
    cluster
}

const INSERT: &str = "INSERT INTO jobs DEFAULT VALUES RETURNING id";

#[test]
fn a_poller_by_transaction_does_not_miss_a_late_commit() {
    let cluster = jobs();
    let mut poller = Poller { client: cluster.connect(), horizon: 0 };
    let (mut late, mut early) = (cluster.connect(), cluster.connect());
    let mut transaction = late.transaction().expect("a transaction");
    let first: i64 = transaction.query_one(INSERT, &[]).expect("a row").get(0);
    let second = bigint(&mut early, INSERT);
    assert!(second > first);
    // Whoever went by the largest ID alone would see the second now, and never the first.
    assert_eq!(bigints(&mut early, "SELECT id FROM jobs"), [second]);
    let before = poller.poll();
    assert!(before.is_empty(), "{before:?}");
    transaction.commit().expect("committed");
    assert_eq!(poller.poll(), [first, second]);
    assert_eq!(poller.poll(), [0; 0]);
}

#[test]
fn a_poller_by_transaction_sees_every_row_once() {
    let cluster = jobs();
    let mut poller = Poller { client: cluster.connect(), horizon: 0 };
    let (mut seen, written) = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|number| {
                let mut client = cluster.connect();
                scope.spawn(move || {
                    let mut ids = Vec::new();
                    for round in 0..200 {
                        let mut transaction = client.transaction().expect("a transaction");
                        for _ in 0..=(round + number) % 3 {
                            ids.push(
                                transaction.query_one(INSERT, &[]).expect("a row").get::<_, i64>(0),
                            );
                        }
                        thread::yield_now();
                        transaction.commit().expect("committed");
                    }
                    ids
                })
            })
            .collect();
        let mut seen = Vec::new();
        while !writers.iter().all(|writer| writer.is_finished()) {
            seen.extend(poller.poll());
        }
        let written: Vec<i64> =
            writers.into_iter().flat_map(|writer| writer.join().expect("a writer")).collect();
        (seen, written)
    });
    seen.extend(poller.poll());
    assert_eq!(seen.len(), written.len());
    assert_distinct(seen);
}

#[test]
fn pools_of_ids_do_not_overlap() {
    let cluster = Cluster::start();
    let pools: Vec<Vec<i64>> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..4)
            .map(|_| {
                let mut client = cluster.connect();
                scope.spawn(move || {
                    let pool =
                        "SELECT array_agg(id) FROM (SELECT snowflake_nextval(50) AS id) AS pool";
                    let take = |client: &mut Client| {
                        client.query_one(pool, &[]).expect("a pool").get::<_, Vec<i64>>(0)
                    };
                    (0..200).flat_map(|_| take(&mut client)).collect::<Vec<i64>>()
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().expect("a session")).collect()
    });
    assert!(pools.iter().all(|ids| ids.len() == 200 * 50 && ids.is_sorted()));
    assert_distinct(pools.concat());
}

/// With jitter, shards by `id % n` fill evenly at a low rate; without it they do not.
#[test]
fn jitter_spreads_over_shards() {
    let shares = |jitter: &str| {
        let cluster = Cluster::builder().set("snowflake.sequence_jitter", jitter).start();
        let mut client = cluster.connect();
        let ids: Vec<i64> = (0..400)
            .map(|_| {
                thread::sleep(std::time::Duration::from_millis(1));
                bigint(&mut client, "SELECT snowflake_nextval()")
            })
            .collect();
        (0..16).map(|shard| ids.iter().filter(|id| *id % 16 == shard).count()).collect::<Vec<_>>()
    };
    let (skewed, even) = (shares("0"), shares("1023"));
    assert!(skewed[0] > 350, "{skewed:?}");
    assert!(even.iter().all(|share| (5..=60).contains(share)), "{even:?}");
}

/// At a low rate, where every ID is the first of its millisecond, the hash of the recipe fills shards
/// evenly, and gives no number that is not a shard's.
#[test]
fn a_hash_spreads_over_shards() {
    const SHARD: &str = "(hashint8(id) & 2147483647) % 16";
    assert!(include_str!("../../../../docs/recipes.md").contains(SHARD));
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let ids =
        "SELECT snowflake_make('2026-01-01+00'::timestamptz + n * interval '1 ms', 5, 9, 0) AS id
        FROM generate_series(1, 1600) AS n";
    let shares = "count(*), min(count), max(count)";
    let by = |shard: &str| {
        format!(
            "SELECT {shares} FROM (SELECT count(*) FROM ({ids}) AS ids GROUP BY {shard}) AS shards"
        )
    };
    let mut shares_by = |shard| {
        let row = client.query_one(&by(shard), &[]).expect("shares");
        (row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2))
    };
    assert_eq!(shares_by("id % 16").0, 1);
    assert_eq!(shares_by("hashint8(id) % 16").0, 31);
    let (shards, least, most) = shares_by(SHARD);
    assert!(shards == 16 && least > 60 && most < 140, "{shards} {least} {most}");
}

/// The statement of docs/recipes.md that sends a batch of the outbox.
fn send_batch() -> String {
    let page = include_str!("../../../../docs/recipes.md");
    let from = page.find("WITH\n-- a row: the position\n").expect("a statement");
    page[from..].split_once(';').expect("its end").0.replace("SELECT message", "SELECT id")
}

#[test]
fn an_outbox_sends_every_message_once_in_order() {
    let cluster = Cluster::start();
    let mut sender = cluster.connect();
    sender.run(
        "CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), message text);
         CREATE TABLE sent (position bigint NOT NULL);
         INSERT INTO sent VALUES (0)",
    );
    let statement = send_batch();
    let mut send = || {
        let rows = sender.query(&statement, &[]).expect("a batch");
        rows.iter().map(|row| row.get(0)).collect::<Vec<i64>>()
    };
    let sent = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|number| {
                let mut client = cluster.connect();
                scope.spawn(move || {
                    for round in 0..150 {
                        let mut transaction = client.transaction().expect("a transaction");
                        for _ in 0..=(round + number) % 3 {
                            let insert = "INSERT INTO outbox DEFAULT VALUES";
                            transaction.run(insert);
                        }
                        thread::yield_now();
                        transaction.commit().expect("committed");
                    }
                })
            })
            .collect();
        let mut sent = Vec::new();
        while !writers.iter().all(|writer| writer.is_finished()) {
            sent.extend(send());
        }
        loop {
            let batch = send();
            if batch.is_empty() {
                return sent;
            }
            sent.extend(batch);
        }
    });
    assert_eq!(sent, bigints(&mut cluster.connect(), "SELECT id FROM outbox ORDER BY id"));
}

#[test]
fn a_poller_on_a_standby_gets_every_row_once() {
    let cluster = Cluster::start();
    let table = "CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval())";
    cluster.run(table);
    let standby = cluster.standby();
    let waits = cluster.programs().major() >= 19;
    let ask = "WITH h AS MATERIALIZED (SELECT snowflake_horizon() AS horizon)
        SELECT horizon, pg_current_wal_insert_lsn()::text FROM h";
    let (mut primary, mut reader) = (cluster.connect(), standby.connect());
    let mut poll = |last: &mut i64| {
        let row = primary.query_one(ask, &[]).expect("a horizon");
        let (horizon, position) = (row.get::<_, i64>(0), row.get::<_, String>(1));
        if waits {
            reader.run(&format!("WAIT FOR LSN '{position}'"));
        } else {
            let is_there =
                format!("SELECT (pg_last_wal_replay_lsn() >= '{position}')::int::bigint");
            eventually("it is replayed", || bigint(&mut reader, &is_there) == 1);
        }
        let rows = format!("SELECT id FROM jobs WHERE id > {last} AND id <= {horizon} ORDER BY id");
        let ids = bigints(&mut reader, &rows);
        *last = ids.last().copied().unwrap_or(*last);
        ids
    };
    let mut last = 0;
    let mut got = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let mut client = cluster.connect();
                scope.spawn(move || {
                    client.run("SET synchronous_commit = off");
                    for _ in 0..200 {
                        let mut transaction = client.transaction().expect("a transaction");
                        bigint_in(&mut transaction);
                        thread::yield_now();
                        transaction.commit().expect("committed");
                    }
                })
            })
            .collect();
        let mut got = Vec::new();
        while !writers.iter().all(|writer| writer.is_finished()) {
            got.extend(poll(&mut last));
        }
        got
    });
    got.extend(poll(&mut last));
    assert_eq!(got.len(), 800);
    assert_eq!(got, bigints(&mut cluster.connect(), "SELECT id FROM jobs ORDER BY id"));
}

fn bigint_in(transaction: &mut postgres::Transaction) -> i64 {
    transaction.query_one(INSERT, &[]).expect("a row").get(0)
}
