//! A transaction that has taken an ID holds the horizon back until it has ended, however it ends.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, NEXT, bigint, error_of, eventually, signal};

use super::{HORIZON, INSERT, Poller, begin, create_jobs, jobs};

/// Another session commits a later ID meanwhile.
#[track_caller]
fn assert_held(cluster: &Cluster, first: i64) {
    let mut other = cluster.connect();
    let later = bigint(&mut other, INSERT);
    assert!(later > first);
    assert_eq!(bigint(&mut other, HORIZON), first - 1);
}

#[track_caller]
fn assert_not_held(cluster: &Cluster) {
    let mut other = cluster.connect();
    let last = bigint(&mut other, INSERT);
    assert_eq!(bigint(&mut other, HORIZON), last);
}

#[test]
fn a_poller_gets_a_late_commit_in_order() {
    let cluster = jobs();
    let mut poller = Poller::new(&cluster);
    let (mut late, first) = begin(&cluster);
    let second = bigint(&mut cluster.connect(), INSERT);
    assert_eq!(poller.poll(), [0; 0]);
    late.batch_execute("COMMIT").expect("committed");
    assert_eq!(poller.poll(), [first, second]);
    assert_eq!(poller.poll(), [0; 0]);
}

#[test]
fn every_kind_of_end_lets_it_go_on() {
    let cluster = jobs();
    for end in ["COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "SELECT 1/0"] {
        let (mut client, first) = begin(&cluster);
        assert_held(&cluster, first);
        if end == "SELECT 1/0" {
            error_of(client.batch_execute(end));
        } else {
            client.batch_execute(end).expect(end);
        }
        assert_not_held(&cluster);
    }
}

/// A rolled back subtransaction might have left a row that a later command reads no more; the
/// transaction has taken the ID all the same.
#[test]
fn a_savepoint_does_not_end_the_transaction() {
    let cluster = jobs();
    for end in ["ROLLBACK TO a", "RELEASE a"] {
        let mut client = cluster.connect();
        client.batch_execute("BEGIN; SAVEPOINT a").expect("a savepoint");
        let first = bigint(&mut client, INSERT);
        client.batch_execute(end).expect(end);
        assert_held(&cluster, first);
        bigint(&mut client, INSERT);
        assert_held(&cluster, first);
        client.batch_execute("COMMIT").expect("committed");
        assert_not_held(&cluster);
    }
}

/// Also one that writes no row: its row might still come.
#[test]
fn an_id_without_a_row_holds_it_back() {
    let cluster = jobs();
    let mut client = cluster.connect();
    client.batch_execute("BEGIN").expect("a transaction");
    let id = bigint(&mut client, "SELECT min(id) FROM snowflake_nextval(100) AS id");
    assert_held(&cluster, id);
    // A transaction sees its own horizon, and is held back by itself.
    assert_eq!(bigint(&mut client, HORIZON), id - 1);
    client.batch_execute(&format!("INSERT INTO jobs VALUES ({id})")).expect("a row");
    client.batch_execute("COMMIT").expect("committed");
    assert_not_held(&cluster);
}

#[test]
fn each_transaction_of_a_procedure_is_one_of_its_own() {
    let cluster = jobs();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
             BEGIN
                 INSERT INTO jobs DEFAULT VALUES;
                 COMMIT;
                 PERFORM pg_advisory_lock(1);
                 INSERT INTO jobs DEFAULT VALUES;
                 PERFORM pg_advisory_lock(2);
             END $$",
        )
        .expect("a procedure");
    client.batch_execute("SELECT pg_advisory_lock(1), pg_advisory_lock(2)").expect("locks");
    std::thread::scope(|scope| {
        let mut worker = cluster.connect();
        scope.spawn(move || worker.batch_execute("CALL work()").expect("work"));
        let waits = |client: &mut postgres::Client, lock: i32| {
            let query = format!(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = {lock} \
                 AND NOT granted"
            );
            eventually("it waits", || bigint(client, &query) == 1);
        };
        waits(&mut client, 1);
        assert_not_held(&cluster);
        let before = bigint(&mut client, NEXT);
        client.batch_execute("SELECT pg_advisory_unlock(1)").expect("unlocked");
        waits(&mut client, 2);
        bigint(&mut client, INSERT);
        let horizon = bigint(&mut client, HORIZON);
        assert!(horizon >= before && horizon < bigint(&mut client, NEXT));
        let first = bigint(&mut client, "SELECT first_id FROM snowflake_horizon_holders");
        assert_eq!(horizon, first - 1);
        client.batch_execute("SELECT pg_advisory_unlock(2)").expect("unlocked");
    });
    assert_not_held(&cluster);
}

/// Workers take IDs for their leader, which might take none itself.
#[test]
fn ids_of_parallel_workers_hold_it_back() {
    let cluster = jobs();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE many AS SELECT generate_series(1, 10000) AS n;
             SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
             SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
             BEGIN",
        )
        .expect("set up");
    let plan = snowflake_e2e::explain(&mut client, "SELECT min(snowflake_nextval()) FROM many");
    assert!(plan.contains("Gather"), "{plan}");
    let first = bigint(&mut client, "SELECT min(snowflake_nextval()) FROM many");
    assert_held(&cluster, first);
    client.batch_execute("COMMIT").expect("committed");
    assert_not_held(&cluster);
}

#[test]
fn a_killed_backend_holds_nothing_back() {
    let cluster = jobs();
    let (mut client, first) = begin(&cluster);
    assert_held(&cluster, first);
    let pid = bigint(&mut client, "SELECT pg_backend_pid()::bigint");
    signal(pid, "TERM");
    let mut other = cluster.connect();
    eventually("it is gone", || bigint(&mut other, HORIZON) > first);
    assert_not_held(&cluster);

    let (_client, first) = begin(&cluster);
    assert_held(&cluster, first);
    let before = bigint(&mut cluster.connect(), NEXT);
    cluster.crash_a_backend();
    // After a crash, it begins where the generator begins, which is above all that was issued.
    assert!(bigint(&mut cluster.connect(), HORIZON) > before);
    assert_not_held(&cluster);
}

#[test]
fn a_prepared_transaction_holds_it_back_until_it_has_ended() {
    let cluster = jobs();
    for end in ["COMMIT PREPARED", "ROLLBACK PREPARED"] {
        let mut poller = Poller::new(&cluster);
        poller.last = bigint(&mut cluster.connect(), NEXT);
        let (mut client, first) = begin(&cluster);
        client.batch_execute("PREPARE TRANSACTION 'two'").expect("prepared");
        assert_held(&cluster, first);
        bigint(&mut client, INSERT);
        assert_held(&cluster, first);
        assert_eq!(poller.poll(), [0; 0]);
        client.batch_execute(&format!("{end} 'two'")).expect(end);
        let got = poller.poll();
        assert_eq!(got.contains(&first), end == "COMMIT PREPARED", "{got:?}");
        assert_eq!(got.len(), 3 + usize::from(end == "COMMIT PREPARED"));
        assert_not_held(&cluster);
    }
    // A preparation that fails.
    let (mut client, _) = begin(&cluster);
    client.batch_execute("PREPARE TRANSACTION 'same'").expect("prepared");
    let (mut other, _) = begin(&cluster);
    error_of(other.batch_execute("PREPARE TRANSACTION 'same'"));
    client.batch_execute("ROLLBACK PREPARED 'same'").expect("rolled back");
    assert_not_held(&cluster);
}

/// Nobody knows which IDs such a transaction has taken.
#[test]
fn a_transaction_prepared_before_the_start_is_named() {
    let mut cluster = jobs();
    let (mut client, first) = begin(&cluster);
    client.batch_execute("PREPARE TRANSACTION 'the old one'").expect("prepared");
    drop(client);
    cluster.stop();
    cluster.start_again();
    let mut client = cluster.connect();
    for _ in 0..2 {
        let error = error_of(client.query(HORIZON, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
        let named = "\"the old one\" of role postgres in database postgres";
        assert!(error.detail().expect("a detail").contains(named), "{error:?}");
        assert!(
            error.hint().expect("a hint").contains("ROLLBACK PREPARED 'the old one'"),
            "{error:?}"
        );
        bigint(&mut client, INSERT);
    }
    // A new one does not hide it.
    let (mut other, _) = begin(&cluster);
    other.batch_execute("PREPARE TRANSACTION 'new'").expect("prepared");
    let error = error_of(client.query(HORIZON, &[]));
    assert!(!error.detail().expect("a detail").contains("new"), "{error:?}");
    other.batch_execute("COMMIT PREPARED 'new'").expect("committed");
    client.batch_execute("COMMIT PREPARED 'the old one'").expect("committed");
    assert!(Poller::new(&cluster).poll().contains(&first));
    assert_not_held(&cluster);
}

#[test]
fn without_prepared_transactions_there_are_no_holders() {
    let cluster = Cluster::builder().set("max_prepared_transactions", "0").start();
    create_jobs(&cluster);
    let (mut client, first) = begin(&cluster);
    error_of(client.batch_execute("PREPARE TRANSACTION 'two'"));
    assert_not_held(&cluster);
    drop(client);
    let (_client, second) = begin(&cluster);
    assert!(second > first);
    assert_held(&cluster, second);
}
