//! Many sessions at once, and what a call costs.

use std::thread;
use std::time::{Duration, Instant};

use snowflake_e2e::{Cluster, NEXT, assert_distinct, assert_increasing, bigint, bigints, values};

use super::{plain_server, start};

/// The IDs that sessions take at the same time, and how long that takes.
fn take(cluster: &Cluster, sessions: usize, each: usize) -> (Vec<Vec<i64>>, Duration) {
    let clients: Vec<_> = (0..sessions).map(|_| cluster.connect()).collect();
    let query = format!("{NEXT} FROM generate_series(1, {each})");
    let begin = Instant::now();
    let threads: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            let query = query.clone();
            thread::spawn(move || bigints(&mut client, &query))
        })
        .collect();
    let ids = threads.into_iter().map(|thread| thread.join().expect("a session")).collect();
    (ids, begin.elapsed())
}

#[test]
fn five_million_ids_of_8_and_32_sessions_are_distinct() {
    let cluster = start(plain_server());
    let mut all = Vec::new();
    for (sessions, each) in [(8, 312_500), (32, 78_125)] {
        let (ids, time) = take(&cluster, sessions, each);
        ids.iter().for_each(|ids| assert_increasing(ids));
        all.extend(ids.concat());
        let rate = (sessions * each) as f64 / time.as_secs_f64();
        println!("{sessions} sessions took {rate:.0} IDs per second");
    }
    assert_eq!(all.len(), 5_000_000);
    assert_distinct(all);
}

#[test]
fn sessions_that_take_turns_see_one_series() {
    let cluster = start(plain_server());
    let mut sessions = [cluster.connect(), cluster.connect()];
    let ids: Vec<i64> = (0..10_000).map(|turn| bigint(&mut sessions[turn % 2], NEXT)).collect();
    assert_increasing(&ids);
}

#[test]
fn a_rollback_gives_nothing_back() {
    let cluster = start(plain_server());
    let mut client = cluster.connect();
    let mut ids = Vec::new();
    for round in 0..200 {
        let mut transaction = client.transaction().expect("a transaction");
        ids.push(transaction.query_one(NEXT, &[]).expect("an ID").get(0));
        transaction.batch_execute("SAVEPOINT s; SELECT pg_sleep(0.003)").expect("a savepoint");
        ids.push(transaction.query_one(NEXT, &[]).expect("an ID").get(0));
        if round % 2 == 0 {
            transaction.batch_execute("ROLLBACK TO s; SELECT 1/0").expect_err("division by zero");
        }
        transaction.rollback().expect("a rollback");
    }
    assert_increasing(&ids);
}

/// Each call reads a few pages of sequences, and writes no more WAL than two setval() do: in a loop,
/// and milliseconds apart, so that each has to move the counter.
#[test]
fn a_call_reads_a_few_pages() {
    let cluster = start(plain_server());
    let mut client = cluster.connect();
    let mut work = |calls: usize| {
        let explain = format!(
            "EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, COSTS OFF)
             SELECT count(snowflake_nextval()) FROM generate_series(1, {calls})"
        );
        let plan = values::<String>(&mut client, &explain).join("\n");
        let count = |name: &str| -> usize {
            let found = plan.split(name).nth(1).expect("a count");
            let end = found.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(found.len());
            found[..end].parse().expect("a number")
        };
        (count("shared hit="), count("records="))
    };
    work(1);
    let (pages, records) = work(100_000);
    println!("{pages} pages and {records} records for 100,000 calls");
    assert!(pages <= 1_000_000 && records <= 400_000, "{pages} pages, {records} records");
    for _ in 0..50 {
        thread::sleep(Duration::from_millis(4));
        let (pages, records) = work(1);
        assert!(pages <= 10 && records <= 4, "{pages} pages, {records} records");
    }
}
