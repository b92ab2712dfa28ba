//! `snowflake_nextval(count)`: streamed, cancellable, in flat memory.

use std::fs;
use std::thread;

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, NEXT, bigint, error_of, eventually, process};

/// Resident memory of a process that is not shared with others, in kB.
fn private_memory(pid: i64) -> i64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("a figure");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse().ok()).expect("a number")
}

#[test]
fn a_billion_can_be_canceled_at_once_and_uses_no_memory() {
    let cluster = Cluster::builder().set("snowflake.max_burst", "-1").start();
    let mut client = cluster.connect();
    let pid = process(&mut client);
    let before = bigint(&mut client, NEXT);
    let billion = "SELECT count(*) FROM (SELECT snowflake_nextval(1000000000)) AS ids";
    let cancel = client.cancel_token();
    thread::scope(|scope| {
        let query = scope.spawn(move || error_of(client.query(billion, &[])));
        // The generator's own timestamps tell how far the query is: a burst without limit runs
        // ahead.
        let mut watcher = cluster.connect();
        let mut issued = || ((bigint(&mut watcher, NEXT) >> 22) - (before >> 22)) * 4096;
        eventually("a million IDs", || issued() > 1_000_000);
        let early = private_memory(pid);
        eventually("30 million IDs", || issued() > 30_000_000);
        let late = private_memory(pid);
        assert!(late - early < 1024, "memory grew from {early} kB to {late} kB");
        cancel.cancel_query(postgres::NoTls).expect("a cancel request");
        assert_eq!(query.join().expect("the query").code(), &SqlState::QUERY_CANCELED);
        assert!(issued() < 500_000_000, "{} were issued", issued());
    });
}
