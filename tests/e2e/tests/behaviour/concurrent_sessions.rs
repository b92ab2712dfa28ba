//! IDs are unique and increasing across sessions and databases.

use std::thread;

use snowflake_e2e::{Cluster, Run, assert_distinct, assert_increasing, bigint, bigints};

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
fn two_databases_of_one_cluster_share_no_id() {
    let cluster = Cluster::start();
    cluster.run("CREATE DATABASE other");
    let mut other = cluster.connect_to("other");
    other.run("CREATE EXTENSION snowflake");
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
