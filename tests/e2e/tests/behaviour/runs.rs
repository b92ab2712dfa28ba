//! `snowflake_nextval(count)`: streamed, cancellable, in flat memory.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, assert_distinct, assert_increasing, bigint, bigints, error_of, eventually,
};

/// Resident memory of a process that is not shared with others, in kB.
fn private_memory(pid: i32) -> i64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("a figure");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse().ok()).expect("a number")
}

#[test]
fn a_billion_can_be_canceled_at_once_and_uses_no_memory() {
    let cluster = Cluster::builder().set("snowflake.max_burst", "-1").start();
    let mut client = cluster.connect();
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("a pid").get(0);
    let before = bigint(&mut client, "SELECT snowflake_nextval()");
    let cancel = client.cancel_token();
    thread::scope(|scope| {
        let query =
            scope.spawn(move || {
                error_of(client.query(
                    "SELECT count(*) FROM (SELECT snowflake_nextval(1000000000)) AS ids",
                    &[],
                ))
            });
        // The generator's own timestamps tell how far the query is: a burst without limit runs
        // ahead.
        let mut watcher = cluster.connect();
        let issued = |watcher: &mut postgres::Client| {
            bigint(watcher, &format!("SELECT (snowflake_nextval() >> 22) - ({before} >> 22)"))
                * 4096
        };
        eventually("a million IDs", || issued(&mut watcher) > 1_000_000);
        let early = private_memory(pid);
        eventually("30 million IDs", || issued(&mut watcher) > 30_000_000);
        let late = private_memory(pid);
        assert!(late - early < 1024, "memory grew from {early} kB to {late} kB");
        let canceled = Instant::now();
        cancel.cancel_query(postgres::NoTls).expect("a cancel request");
        assert_eq!(query.join().expect("the query").code(), &SqlState::QUERY_CANCELED);
        assert!(canceled.elapsed() < Duration::from_secs(1), "after {:?}", canceled.elapsed());
    });
}

#[test]
fn a_limit_takes_little_more_than_it_returns() {
    let cluster = Cluster::builder().set("snowflake.sequence_bits", "14").start();
    let mut client = cluster.connect();
    // Within one millisecond, sequences count what was taken.
    eventually("a try that fits into a millisecond", || {
        let ids = bigints(
            &mut client,
            "SELECT id FROM (SELECT snowflake_nextval(1000000) AS id LIMIT 10) AS ten
             UNION ALL SELECT snowflake_nextval()",
        );
        let parts = |id: i64| (id >> 24, id & 0x3fff);
        let ((first_ms, first), (last_ms, last)) = (parts(ids[0]), parts(ids[10]));
        assert_increasing(&ids);
        if first_ms == last_ms {
            assert!(last - first <= 20, "10 IDs returned, {} taken", last - first);
        }
        first_ms == last_ms
    });
}

#[test]
fn runs_of_many_sessions_do_not_overlap() {
    let cluster = Cluster::start();
    let sessions: Vec<Vec<i64>> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..4)
            .map(|_| {
                let mut client = cluster.connect();
                scope.spawn(move || bigints(&mut client, "SELECT snowflake_nextval(500000)"))
            })
            .collect();
        sessions.into_iter().map(|session| session.join().expect("a session")).collect()
    });
    for ids in &sessions {
        assert_eq!(ids.len(), 500_000);
        assert_increasing(ids);
    }
    assert_distinct(sessions.concat());
}

/// IDs are taken in runs, before their rows are returned: a cursor that pauses returns IDs from
/// before the pause. They are still nobody else's, and increase within the call.
#[test]
fn a_cursor_that_pauses_returns_ids_from_before() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let mut transaction = client.transaction().expect("a transaction");
    transaction
        .batch_execute("DECLARE ids CURSOR FOR SELECT snowflake_nextval(1000)")
        .expect("a cursor");
    let fetch = |transaction: &mut postgres::Transaction, count: usize| -> Vec<i64> {
        let rows = transaction.query(&format!("FETCH {count} FROM ids"), &[]).expect("rows");
        rows.iter().map(|row| row.get(0)).collect()
    };
    let before = fetch(&mut transaction, 2);
    thread::sleep(Duration::from_millis(20));
    let other = bigint(&mut cluster.connect(), "SELECT snowflake_nextval()");
    let after = fetch(&mut transaction, 998);
    assert_increasing(&[before.clone(), after.clone()].concat());
    assert_distinct([before.clone(), after.clone(), vec![other]].concat());
    // Runs grow with what was used up: at most as many IDs as were returned are from before.
    assert!(after[0] < other, "the run was taken before the pause");
    assert!(after.iter().filter(|id| **id < other).count() <= before.len());
}

/// Whoever wants a single ID finds one, while others take runs. Where a burst may run ahead of the
/// clock, nobody has to wait, and nothing is left.
#[test]
fn runs_leave_the_last_ids_of_a_millisecond_to_others() {
    let last_sequence = |max_burst| {
        let cluster = Cluster::builder().set("snowflake.max_burst", max_burst).start();
        bigint(
            &mut cluster.connect(),
            "SELECT max(snowflake_sequence(id))::bigint FROM snowflake_nextval(200000) AS id",
        )
    };
    assert_eq!(last_sequence("-1"), 4095);
    // 128 are left. The last run of the call may be of a single ID.
    let last = last_sequence("0");
    assert!([3967, 3968].contains(&last), "{last}");
}

/// Two calls in one select list: each increases, and no ID is in both.
#[test]
fn two_calls_in_one_select_list_take_runs_of_their_own() {
    let cluster = Cluster::start();
    let rows = cluster
        .connect()
        .query("SELECT snowflake_nextval(5000), snowflake_nextval(5000)", &[])
        .expect("rows");
    let column = |number: usize| rows.iter().map(|row| row.get(number)).collect::<Vec<i64>>();
    let (first, second) = (column(0), column(1));
    assert_eq!(first.len(), 5000);
    assert_increasing(&first);
    assert_increasing(&second);
    assert_distinct([first, second].concat());
}
