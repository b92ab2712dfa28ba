//! A transaction that has taken an ID holds the horizon back until it has ended, however it ends.

use snowflake_e2e::{
    Cluster, INSERT, NEXT, Run, bigint, error_of, eventually, process, refusal, signal,
};

use super::{HORIZON, Poller, begin, start};

/// Another session commits a later ID meanwhile.
#[track_caller]
fn assert_held(cluster: &Cluster, first: i64) {
    let mut other = cluster.connect();
    assert!(bigint(&mut other, INSERT) > first);
    assert_eq!(bigint(&mut other, HORIZON), first - 1);
}

#[track_caller]
fn assert_not_held(cluster: &Cluster) {
    let mut other = cluster.connect();
    let last = bigint(&mut other, INSERT);
    assert_eq!(bigint(&mut other, HORIZON), last);
}

#[test]
fn each_transaction_of_a_procedure_is_one_of_its_own() {
    let cluster = start(Cluster::builder(), "20");
    let mut client = cluster.connect();
    client.run(
        "CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
         BEGIN
             INSERT INTO orders DEFAULT VALUES;
             COMMIT;
             PERFORM pg_advisory_lock(1);
             INSERT INTO orders DEFAULT VALUES;
             PERFORM pg_advisory_lock(2);
         END $$",
    );
    client.run("SELECT pg_advisory_lock(1), pg_advisory_lock(2)");
    std::thread::scope(|scope| {
        let mut worker = cluster.connect();
        scope.spawn(move || worker.run("CALL work()"));
        let wait_for = |lock: i32| {
            let waits = format!(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = {lock}
                 AND NOT granted"
            );
            eventually("it waits", || cluster.bigint(&waits) == 1);
        };
        wait_for(1);
        assert_not_held(&cluster);
        let before = bigint(&mut client, NEXT);
        client.run("SELECT pg_advisory_unlock(1)");
        wait_for(2);
        bigint(&mut client, INSERT);
        let horizon = bigint(&mut client, HORIZON);
        assert!(horizon >= before && horizon < bigint(&mut client, NEXT));
        let first = bigint(&mut client, "SELECT first_id FROM snowflake_horizon_holders");
        assert_eq!(horizon, first - 1);
        client.run("SELECT pg_advisory_unlock(2)");
    });
    assert_not_held(&cluster);
}

#[test]
fn a_killed_backend_holds_nothing_back() {
    let cluster = start(Cluster::builder(), "20");
    let (mut client, first) = begin(&cluster);
    assert_held(&cluster, first);
    let pid = process(&mut client);
    signal(pid, "TERM");
    let mut other = cluster.connect();
    eventually("it is gone", || bigint(&mut other, HORIZON) > first);
    assert_not_held(&cluster);

    let (_client, first) = begin(&cluster);
    assert_held(&cluster, first);
    let before = cluster.bigint(NEXT);
    cluster.crash_a_backend();
    // After a crash, it begins where the generator begins, which is above all that was issued.
    assert!(cluster.bigint(HORIZON) > before);
    assert_not_held(&cluster);
}

/// Nobody knows which IDs such a transaction has taken.
#[test]
fn a_transaction_prepared_before_the_start_is_named() {
    let mut cluster = start(Cluster::builder(), "20");
    let (mut client, first) = begin(&cluster);
    client.run("PREPARE TRANSACTION 'the old one'");
    cluster.restart();
    let mut client = cluster.connect();
    for _ in 0..2 {
        let error = refusal(client.query(HORIZON, &[]));
        let named = "\"the old one\" of role postgres in database postgres";
        assert!(error.detail().expect("a detail").contains(named), "{error:?}");
        let remedy = "ROLLBACK PREPARED 'the old one'";
        assert!(error.hint().expect("a hint").contains(remedy), "{error:?}");
        bigint(&mut client, INSERT);
    }
    // A new one does not hide it.
    let (mut other, _) = begin(&cluster);
    other.run("PREPARE TRANSACTION 'new'");
    let error = error_of(client.query(HORIZON, &[]));
    assert!(!error.detail().expect("a detail").contains("new"), "{error:?}");
    other.run("COMMIT PREPARED 'new'");
    client.run("COMMIT PREPARED 'the old one'");
    assert!(Poller::new(&cluster).poll().contains(&first));
    assert_not_held(&cluster);
}

#[test]
fn without_prepared_transactions_there_are_no_holders() {
    let cluster = start(Cluster::builder(), "0");
    let (mut client, first) = begin(&cluster);
    error_of(client.batch_execute("PREPARE TRANSACTION 'two'"));
    assert_not_held(&cluster);
    drop(client);
    let (_client, second) = begin(&cluster);
    assert!(second > first);
    assert_held(&cluster, second);
}

/// Before the first ID after a start, it is where IDs begin.
#[test]
fn after_a_start_it_is_where_ids_begin() {
    let mut cluster = start(Cluster::builder(), "20");
    let id = cluster.bigint(INSERT);
    cluster.restart();
    let mut client = cluster.connect();
    let horizon = bigint(&mut client, HORIZON);
    assert!(horizon > id);
    assert!(bigint(&mut client, NEXT) > horizon);
}
