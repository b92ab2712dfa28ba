//! Many sessions at once, and what a call costs.

use std::thread;
use std::time::{Duration, Instant};

use snowflake_e2e::{NEXT, Run, assert_distinct, assert_increasing, at_once, bigints, values};

use super::{plain_server, start};

#[test]
fn five_million_ids_of_8_and_32_sessions_are_distinct() {
    let cluster = start(plain_server());
    let mut all = Vec::new();
    for (sessions, each) in [(8, 312_500), (32, 78_125)] {
        let query = format!("{NEXT} FROM generate_series(1, {each})");
        let begin = Instant::now();
        let ids = at_once(sessions, |_| bigints(&mut cluster.connect(), &query));
        let rate = (sessions * each) as f64 / begin.elapsed().as_secs_f64();
        println!("{sessions} sessions took {rate:.0} IDs per second");
        ids.iter().for_each(|ids| assert_increasing(ids));
        all.extend(ids.concat());
    }
    assert_eq!(all.len(), 5_000_000);
    assert_distinct(all);
}

#[test]
fn a_rollback_gives_nothing_back() {
    let cluster = start(plain_server());
    let mut client = cluster.connect();
    let mut ids = Vec::new();
    for round in 0..200 {
        let mut transaction = client.transaction().expect("a transaction");
        ids.push(transaction.query_one(NEXT, &[]).expect("an ID").get(0));
        transaction.run("SAVEPOINT s; SELECT pg_sleep(0.003)");
        ids.push(transaction.query_one(NEXT, &[]).expect("an ID").get(0));
        if round % 2 == 0 {
            transaction.batch_execute("ROLLBACK TO s; SELECT 1/0").expect_err("division by zero");
        }
        transaction.rollback().expect("a rollback");
    }
    assert_increasing(&ids);
}

/// Each call reads a few pages of sequences, and writes no more WAL than two setval() do: in a
/// loop, and milliseconds apart, so that each has to move the counter.
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
