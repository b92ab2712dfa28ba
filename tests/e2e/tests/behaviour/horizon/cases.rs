//! Snapshots, observations, floors, and where there is no horizon.

use std::thread;

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, Means, NEXT, bigint, bigints, error_of, lacks};

use super::{HORIZON, INSERT, begin, create_jobs, jobs};

/// The horizon belongs to the snapshot of its query.
#[test]
fn an_old_snapshot_has_a_horizon_below_what_it_does_not_see() {
    let cluster = jobs();
    let mut old = cluster.connect();
    let seen = bigint(&mut old, INSERT);
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT").expect("a snapshot");
    let mut other = cluster.connect();
    let unseen = bigint(&mut other, INSERT);
    bigint(&mut other, INSERT);
    for _ in 0..2 {
        assert_eq!(bigint(&mut old, HORIZON), unseen - 1);
        assert_eq!(
            bigints(&mut old, "SELECT id FROM jobs WHERE id <= snowflake_horizon()"),
            [seen]
        );
    }
    assert!(bigint(&mut other, HORIZON) > unseen);
}

/// A transaction that ran when the snapshot was taken, and has committed since.
#[test]
fn a_transaction_that_the_snapshot_saw_running_counts() {
    let cluster = jobs();
    let (mut running, first) = begin(&cluster);
    let mut old = cluster.connect();
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT").expect("a snapshot");
    bigint(&mut cluster.connect(), INSERT);
    running.batch_execute("COMMIT").expect("committed");
    assert_eq!(bigint(&mut old, HORIZON), first - 1);
}

/// A filter is evaluated for each row, and a wrapped call plans a query of its own: within one
/// statement there is one answer.
#[test]
fn a_statement_has_one_horizon() {
    let cluster = jobs();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE FUNCTION wrapped() RETURNS bigint LANGUAGE plpgsql STABLE
             AS 'BEGIN RETURN snowflake_horizon(); END'",
        )
        .expect("a function");
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let mut writer = cluster.connect();
                scope.spawn(move || (0..500).for_each(|_| _ = bigint(&mut writer, INSERT)))
            })
            .collect();
        while !writers.iter().all(|writer| writer.is_finished()) {
            let horizons = "SELECT count(DISTINCT h) FROM (
                SELECT snowflake_horizon() AS h FROM generate_series(1, 20000)
                UNION ALL SELECT wrapped() FROM generate_series(1, 2000)) AS horizons";
            assert_eq!(bigint(&mut client, horizons), 1);
        }
    });
}

/// It does not stay as it was in a transaction, or in a block of statements.
#[test]
fn each_statement_has_its_own_horizon() {
    if lacks(&[Means::Extension("dblink")]) {
        return;
    }
    let cluster = jobs();
    let mut client = cluster.connect();
    client.batch_execute("BEGIN").expect("a transaction");
    let before = bigint(&mut client, HORIZON);
    let id = bigint(&mut cluster.connect(), INSERT);
    assert_eq!(bigint(&mut client, HORIZON), id);
    assert!(id > before);
    client
        .batch_execute(
            "COMMIT;
             CREATE EXTENSION dblink;
             DO $$
             DECLARE
                 before bigint := snowflake_horizon();
                 id bigint;
             BEGIN
                 PERFORM dblink_connect(format('host=%s port=5432 user=postgres dbname=postgres',
                     current_setting('unix_socket_directories')));
                 SELECT * INTO id FROM dblink('INSERT INTO jobs DEFAULT VALUES RETURNING id')
                     AS t (id bigint);
                 ASSERT snowflake_horizon() = id, 'the horizon stays';
                 ASSERT before < id;
             END $$",
        )
        .expect("a block");
}

/// After an observation, the last ID is the largest of that timestamp.
#[test]
fn an_observation_takes_it_along() {
    let cluster = Cluster::builder().set("snowflake.max_observed_lead", "10s").start();
    create_jobs(&cluster);
    let mut client = cluster.connect();
    bigint(&mut client, INSERT);
    let ahead = bigint(&mut client, "SELECT snowflake_min(now() + interval '1 second')");
    client.query("SELECT snowflake_observe($1)", &[&ahead]).expect("observed");
    let horizon = bigint(&mut client, HORIZON);
    let largest = format!("SELECT snowflake_max(snowflake_timestamp({ahead}))");
    assert_eq!(horizon, bigint(&mut client, &largest));
    assert!(bigint(&mut client, INSERT) > horizon);
}

/// Before the first ID after a start, it is where IDs begin.
#[test]
fn after_a_start_it_is_where_ids_begin() {
    let mut cluster = jobs();
    let id = bigint(&mut cluster.connect(), INSERT);
    cluster.stop();
    cluster.start_again();
    let mut client = cluster.connect();
    let horizon = bigint(&mut client, HORIZON);
    assert!(horizon > id);
    assert!(bigint(&mut client, NEXT) > horizon);
}

/// IDs become smaller within an open transaction, and no row of it is missed.
#[test]
fn a_floor_that_is_lowered_by_force_takes_it_back() {
    let cluster = jobs();
    let mut client = cluster.connect();
    let ahead = "SELECT snowflake_set_floor(now() + interval '1 hour')";
    client.batch_execute(ahead).expect("a floor");
    let (mut open, high) = begin(&cluster);
    let before = bigint(&mut client, HORIZON);
    client.batch_execute("SELECT snowflake_set_floor(now(), force => true)").expect("lowered");
    let low = bigint(&mut open, INSERT);
    assert!(low < high);
    bigint(&mut client, INSERT);
    let horizon = bigint(&mut client, HORIZON);
    assert!(horizon < before);
    assert_eq!(horizon, low - 1);
}

#[track_caller]
fn assert_refused(cluster: &Cluster, code: &SqlState, message: &str) {
    let error = error_of(cluster.connect().query(HORIZON, &[]));
    assert_eq!((error.code(), error.message()), (code, message));
}

#[test]
fn where_ids_can_be_reused_there_is_none() {
    let cluster = Cluster::builder().set("snowflake.reuse_window", "100ms").start();
    create_jobs(&cluster);
    assert_refused(
        &cluster,
        &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "the horizon of snowflake IDs is not known while snowflake.reuse_window is on",
    );
}

#[test]
fn without_a_generator_there_is_none() {
    let cluster = Cluster::builder().unset("snowflake.worker_id").start();
    let error = error_of(cluster.connect().query(HORIZON, &[]));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    let cluster = Cluster::builder().unset("shared_preload_libraries").start();
    let mut client = cluster.connect();
    let error = error_of(client.query(HORIZON, &[]));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    assert_eq!(bigints(&mut client, "SELECT pid FROM snowflake_horizon_holders"), [0; 0]);
}

/// The server remembers the last 65,536 transactions that took IDs. A snapshot that is older gets no
/// wrong answer; neither a long transaction without an ID nor its end is in the way of the others.
#[test]
fn a_snapshot_that_is_too_old_is_refused() {
    let cluster = jobs();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE PROCEDURE work(rows integer) LANGUAGE plpgsql AS $$
             BEGIN
                 FOR n IN 1..rows LOOP
                     INSERT INTO jobs DEFAULT VALUES;
                     COMMIT;
                 END LOOP;
             END $$;
             CREATE TABLE other (n integer);
             SET synchronous_commit = off",
        )
        .expect("a procedure");
    let mut idle = cluster.connect();
    idle.batch_execute("BEGIN; INSERT INTO other VALUES (1)").expect("a transaction");
    let mut old = cluster.connect();
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT").expect("a snapshot");
    let first = bigint(&mut client, INSERT);
    client.batch_execute("CALL work(60000)").expect("rows");
    assert_eq!(bigint(&mut old, HORIZON), first - 1);
    client.batch_execute("CALL work(80000)").expect("rows");
    let error = error_of(old.query(HORIZON, &[]));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    assert!(error.message().contains("to a snapshot that is this old"), "{error}");
    let last = bigint(&mut client, INSERT);
    assert_eq!(bigint(&mut client, HORIZON), last);
    let mut straddling = cluster.connect();
    straddling.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT").expect("a snapshot");
    idle.batch_execute("COMMIT").expect("committed");
    assert_eq!(bigint(&mut straddling, HORIZON), last);
}
