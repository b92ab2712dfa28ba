//! What others do meanwhile: they hold rows, old snapshots and WAL, and end statements.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of, eventually, signal};

use super::walk::{Next, Walk, owner};

const PREPARE: Walk = Walk { relation: "t", goal: "prepare", more: "" };

/// Executes statements until one of this phase is next.
fn until(client: &mut postgres::Client, phase: &str, mut position: i64) -> Next {
    loop {
        let next = PREPARE.next(client, position).expect("a row");
        if next.phase == phase || next.statement.is_none() {
            return next;
        }
        next.execute(client).expect("executed");
        position = next.position;
    }
}

#[test]
fn a_row_that_is_locked_is_left_for_the_next_scan() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    let create = "
        CREATE TABLE t (id serial PRIMARY KEY, n int);
        INSERT INTO t (n) SELECT 1 FROM generate_series(1, 10)";
    client.batch_execute(create).expect("a table");
    until(&mut client, "backfill", 0);
    let mut other = cluster.connect();
    other.batch_execute("BEGIN; SELECT FROM app.t WHERE id = 5 FOR UPDATE").expect("locked");
    // Nothing here waits.
    client.batch_execute("SET statement_timeout = '10s'").expect("set");
    let compare = until(&mut client, "compare", 0);
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM t WHERE snowflake_widen_1 = id"), 9);
    let error = error_of(compare.execute(&mut client));
    assert_eq!(error.code(), &SqlState::CHECK_VIOLATION, "{error}");
    other.batch_execute("COMMIT").expect("committed");
    let ready = until(&mut client, "ready", 0);
    assert_eq!(ready.phase, "ready");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM t WHERE snowflake_widen_1 = id"), 10);
}

#[test]
fn an_index_that_was_not_finished_is_dropped_and_made_again() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    client.batch_execute("CREATE TABLE t (id serial PRIMARY KEY)").expect("a table");
    let index = until(&mut client, "indexes", 0);
    let mut other = cluster.connect();
    other.batch_execute("BEGIN; INSERT INTO app.t DEFAULT VALUES").expect("inserted");
    client.batch_execute("SET statement_timeout = '300ms'").expect("set");
    let error = error_of(index.execute(&mut client));
    assert_eq!(error.code(), &SqlState::QUERY_CANCELED);
    client.batch_execute("RESET statement_timeout").expect("reset");
    other.batch_execute("COMMIT").expect("committed");
    let drop = PREPARE.next(&mut client, 0).expect("a row");
    assert_eq!(drop.phase, "drop index");
    drop.execute(&mut client).expect("dropped");
    let again = PREPARE.next(&mut client, 0).expect("a row");
    assert_eq!((&again.phase, &again.statement), (&index.phase, &index.statement));
    assert_eq!(until(&mut client, "ready", 0).phase, "ready");
}

#[test]
fn the_backfill_waits_for_slots_and_for_dead_rows() {
    let cluster = Cluster::builder()
        .with_conversion()
        .set("max_slot_wal_keep_size", "100MB")
        .set("autovacuum", "off")
        .start();
    let mut client = owner(&cluster, "app");
    let create = "
        CREATE TABLE t (id serial PRIMARY KEY);
        INSERT INTO t SELECT FROM generate_series(1, 300000)";
    client.batch_execute(create).expect("a table");
    let mut superuser = cluster.connect();
    let slot = "SELECT pg_create_physical_replication_slot('late', true)";
    superuser.batch_execute(slot).expect("a slot");
    for _ in 0..5 {
        let segment = "SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal()";
        superuser.batch_execute(segment).expect("a segment of WAL");
    }
    let next = until(&mut client, "backfill", 0);
    let wait = next.wait.expect("a wait");
    assert!(wait.starts_with("Replication slot late retains "), "{wait}");
    assert_eq!((next.statement, next.position), (None, 0));
    superuser.batch_execute("SELECT pg_drop_replication_slot('late')").expect("dropped");

    let mut reader = cluster.connect();
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM app.t";
    reader.batch_execute(begin).expect("a snapshot");
    let vacuum = until(&mut client, "vacuum", 0);
    vacuum.execute(&mut client).expect("vacuumed");
    let next = PREPARE.next(&mut client, vacuum.position).expect("a row");
    let wait = next.wait.expect("a wait");
    assert!(wait.contains("dead rows of app.t"), "{wait}");
    assert_eq!(next.position, -vacuum.position);
    reader.batch_execute("COMMIT").expect("committed");
    let vacuum = PREPARE.next(&mut client, next.position).expect("a row");
    assert_eq!(vacuum.phase, "vacuum");
    vacuum.execute(&mut client).expect("vacuumed");
    let next = PREPARE.next(&mut client, vacuum.position).expect("a row");
    assert_eq!((next.phase.as_str(), next.wait), ("backfill", None));
}

#[test]
fn the_backfill_waits_for_a_standby_that_the_role_may_see() {
    let cluster = Cluster::builder().with_conversion().set("wal_keep_size", "4GB").start();
    let standby = cluster.standby();
    let mut client = owner(&cluster, "app");
    let create = "CREATE TABLE t (id serial PRIMARY KEY); INSERT INTO t DEFAULT VALUES";
    client.batch_execute(create).expect("a table");
    until(&mut client, "backfill", 0);
    let mut superuser = cluster.connect();
    let receives = "SELECT pid FROM pg_stat_wal_receiver WHERE status = 'streaming'";
    eventually("the standby receives WAL", || {
        standby.connect().query_opt(receives, &[]).expect("a row").is_some()
    });
    let receiver = bigint(&mut standby.connect(), "SELECT pid::bigint FROM pg_stat_wal_receiver");
    signal(receiver, "STOP");
    for _ in 0..70 {
        let segment = "SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal()";
        superuser.batch_execute(segment).expect("a segment of WAL");
    }
    let next = PREPARE.next(&mut client, 0).expect("a row");
    assert_eq!((next.phase.as_str(), next.wait), ("backfill", None));
    let says = "
        SELECT count(*) FROM snowflake_widen_report('t')
        WHERE kind = 'risk' AND reason LIKE 'It does not see how far standbys are behind%'";
    assert_eq!(bigint(&mut client, says), 1);
    superuser.batch_execute("GRANT pg_monitor TO app").expect("granted");
    let wait = PREPARE.next(&mut client, 0).expect("a row").wait.expect("a wait");
    assert!(wait.starts_with("Standby walreceiver is "), "{wait}");
    assert_eq!(bigint(&mut client, says), 0);
    signal(receiver, "CONT");
    eventually("the standby has caught up", || {
        PREPARE.next(&mut client, 0).expect("a row").wait.is_none()
    });
}
