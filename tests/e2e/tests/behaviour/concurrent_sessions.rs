//! IDs are unique and increasing across sessions and databases.

use snowflake_e2e::{Cluster, assert_distinct, assert_increasing, at_once, bigints};

/// Half of the sessions are in another database.
#[test]
fn eight_sessions_take_a_million_each() {
    let cluster = Cluster::start();
    cluster.run("CREATE DATABASE other");
    cluster.run_in("other", "CREATE EXTENSION snowflake");
    for (sessions, calls, count, query) in [
        (8, 1, 1_000_000, "SELECT snowflake_nextval() FROM generate_series(1, 1000000)"),
        (4, 1, 500_000, "SELECT snowflake_nextval(500000)"),
        // The pools of docs/recipes.md.
        (4, 200, 10_000, "SELECT snowflake_nextval(50)"),
    ] {
        let taken = at_once(sessions, |session| {
            let mut client = cluster.connect_to(["postgres", "other"][session % 2]);
            (0..calls).flat_map(|_| bigints(&mut client, query)).collect::<Vec<_>>()
        });
        for ids in &taken {
            assert_eq!(ids.len(), count, "{query}");
            assert_increasing(ids);
        }
        assert_distinct(taken.concat());
    }
}

#[test]
fn under_saturation_no_id_is_ahead_of_the_clock() {
    let cluster = Cluster::start();
    let ahead = "SELECT count(*) FILTER (WHERE snowflake_timestamp(id) > clock)
         FROM (SELECT snowflake_nextval() AS id, clock_timestamp() AS clock
               FROM generate_series(1, 2000000) OFFSET 0) AS ids";
    assert_eq!(at_once(4, |_| cluster.bigint(ahead)), [0; 4]);
}
