//! IDs are unique and increasing across sessions, databases, parallel workers and rollbacks.

use std::thread;

use snowflake_e2e::{Cluster, assert_distinct, assert_increasing, bigint, bigints};

#[test]
fn eight_sessions_take_a_million_each() {
    let cluster = Cluster::start();
    let sessions: Vec<Vec<i64>> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..8)
            .map(|_| {
                let mut client = cluster.connect();
                scope.spawn(move || {
                    bigints(
                        &mut client,
                        "SELECT snowflake_nextval() FROM generate_series(1, 1000000)",
                    )
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().expect("a session")).collect()
    });
    for ids in &sessions {
        assert_eq!(ids.len(), 1_000_000);
        assert_increasing(ids);
    }
    assert_distinct(sessions.concat());
}

#[test]
fn sessions_that_take_turns_see_one_series() {
    let cluster = Cluster::start();
    let mut sessions = [cluster.connect(), cluster.connect()];
    let ids: Vec<i64> = (0..20_000)
        .map(|turn| bigint(&mut sessions[turn % 2], "SELECT snowflake_nextval()"))
        .collect();
    assert_increasing(&ids);
}

#[test]
fn parallel_workers_take_distinct_ids() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE source AS SELECT generate_series(1, 200000) AS n;
             ANALYZE source;
             CREATE FUNCTION process_id() RETURNS int LANGUAGE internal VOLATILE PARALLEL SAFE AS 'pg_backend_pid';
             SET max_parallel_workers_per_gather = 2;
             SET min_parallel_table_scan_size = 0;
             SET parallel_setup_cost = 0;
             SET parallel_tuple_cost = 0;",
        )
        .expect("set up");
    let query = "SELECT snowflake_nextval() AS id, process_id() AS pid FROM source";
    let plan = client.query(&format!("EXPLAIN (ANALYZE, COSTS OFF) {query}"), &[]).expect("a plan");
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    assert!(plan.iter().any(|line| line.trim() == "Workers Launched: 2"), "{plan:#?}");

    let rows = client.query(query, &[]).expect("rows");
    let mut processes: Vec<i32> = rows.iter().map(|row| row.get("pid")).collect();
    processes.sort_unstable();
    processes.dedup();
    assert!(processes.len() >= 2, "IDs came from {} process", processes.len());
    let ids: Vec<i64> = rows.iter().map(|row| row.get("id")).collect();
    assert_eq!(ids.len(), 200_000);
    assert_distinct(ids);
}

#[test]
fn a_rollback_gives_nothing_back() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let mut ids = Vec::new();
    for round in 0..200 {
        let mut transaction = client.transaction().expect("a transaction");
        ids.push(transaction.query_one("SELECT snowflake_nextval()", &[]).expect("an ID").get(0));
        transaction.batch_execute("SAVEPOINT s").expect("a savepoint");
        ids.push(transaction.query_one("SELECT snowflake_nextval()", &[]).expect("an ID").get(0));
        if round % 2 == 0 {
            transaction.batch_execute("ROLLBACK TO s; SELECT 1/0").expect_err("division by zero");
        }
        transaction.rollback().expect("a rollback");
    }
    assert_increasing(&ids);
}

#[test]
fn two_databases_of_one_cluster_share_no_id() {
    let cluster = Cluster::start();
    cluster.connect().batch_execute("CREATE DATABASE other").expect("a database");
    let mut config = cluster.config();
    let mut other = config.dbname("other").connect(postgres::NoTls).expect("a session");
    other.batch_execute("CREATE EXTENSION snowflake").expect("the extension");
    let query = "SELECT snowflake_nextval() FROM generate_series(1, 300000)";
    let (mine, theirs) = thread::scope(|scope| {
        let theirs = scope.spawn(|| bigints(&mut other, query));
        (bigints(&mut cluster.connect(), query), theirs.join().expect("a session"))
    });
    assert_increasing(&mine);
    assert_increasing(&theirs);
    assert_distinct([mine, theirs].concat());
}

#[test]
fn under_saturation_no_id_is_ahead_of_the_clock() {
    let cluster = Cluster::start();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let ahead = bigint(
                    &mut cluster.connect(),
                    "SELECT count(*) FILTER (WHERE snowflake_timestamp(id) > clock)
                     FROM (SELECT snowflake_nextval() AS id, clock_timestamp() AS clock
                           FROM generate_series(1, 2000000) OFFSET 0) AS ids",
                );
                assert_eq!(ahead, 0);
            });
        }
    });
}
