//! Many sessions at once, and what a call costs.

use std::thread;
use std::time::{Duration, Instant};

use snowflake_e2e::{Cluster, NEXT, assert_distinct, assert_increasing, bigint, bigints};

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

/// Measures the cost of a call in a loop, and of calls that are milliseconds apart, so that each of
/// them has to move the counter.
#[test]
fn a_call_takes_microseconds() {
    let cluster = start(plain_server());
    let mut client = cluster.connect();
    client.batch_execute("CREATE SEQUENCE other").expect("a sequence");
    let mut per_call = |expression: &str| {
        let query = format!(
            "SELECT count(x) FROM (SELECT {expression} AS x FROM generate_series(1, 200000) OFFSET 0) AS s"
        );
        let rounds = (0..3).map(|_| {
            let begin = Instant::now();
            bigint(&mut client, &query);
            begin.elapsed().as_nanos() as f64 / 200_000.0
        });
        rounds.fold(f64::MAX, f64::min)
    };
    let nothing = per_call("pg_backend_pid()");
    let sequence = per_call("nextval('other')") - nothing;
    let ours = per_call("snowflake_nextval()") - nothing;
    if cluster.programs().major() >= 18 {
        println!("uuidv7() {:.0} ns", per_call("uuidv7()") - nothing);
    }
    let apart = "SELECT (extract(epoch FROM after - before) * 1e9)::bigint FROM (
        SELECT clock_timestamp() AS before, snowflake_nextval(), clock_timestamp() AS after) AS a";
    let mut apart: Vec<i64> = (0..200)
        .map(|_| {
            client.batch_execute("SELECT pg_sleep(0.004)").expect("time");
            bigint(&mut client, apart)
        })
        .collect();
    apart.sort_unstable();
    let apart = apart[apart.len() / 2];
    println!("nextval() {sequence:.0} ns, snowflake_nextval() {ours:.0} ns, apart {apart} ns");
    assert!(ours < 100_000.0, "{ours} ns");
}
