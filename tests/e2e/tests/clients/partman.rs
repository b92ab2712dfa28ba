//! pg_partman, with partitions of a day each. The test is skipped where the server has no
//! pg_partman of version 5.3 or later.

use std::fs;

use postgres::Client;
use snowflake_e2e::{Cluster, Means, Run, bigint, lacks, skip};

use crate::program::source;

const DAY: &str = "(snowflake_min('2025-01-02+00') - snowflake_min('2025-01-01+00'))";

/// A cluster with pg_partman; `None` where there is none.
fn cluster() -> Option<Cluster> {
    if lacks(&[Means::Extension("pg_partman")]) {
        return None;
    }
    let cluster = Cluster::start();
    let create = "CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman";
    cluster.run(create);
    let version = "SELECT count(*) FROM pg_extension WHERE extname = 'pg_partman'
        AND string_to_array(extversion, '.')::integer[] >= '{5,3}'";
    if cluster.bigint(version) == 0 {
        skip(Means::Other("pg_partman 5.3"));
        return None;
    }
    Some(cluster)
}

fn create_events(client: &mut Client) {
    let recipe = source("pg_partman").join("events.sql");
    let recipe = fs::read_to_string(recipe).expect("the recipe");
    client.run(&recipe);
}

/// The lower bounds of the partitions of `events`, without that of the default partition.
fn bounds(client: &mut Client) -> Vec<i64> {
    let query = "SELECT substring(pg_get_expr(relpartbound, oid) FROM '\\d+')::bigint
        FROM pg_class JOIN pg_inherits ON inhrelid = oid
        WHERE inhparent = 'events'::regclass AND pg_get_expr(relpartbound, oid) <> 'DEFAULT'
        ORDER BY 1";
    client.query(query, &[]).expect("bounds").iter().map(|row| row.get(0)).collect()
}

fn maintain(client: &mut Client) {
    client.run("CALL partman.run_maintenance_proc()");
}

/// Partitions begin at midnight. Maintenance makes those that come after the largest ID, and drops
/// those that are older than the retention, counted in IDs.
#[test]
fn partitions_of_a_day_begin_at_midnight() {
    let Some(cluster) = cluster() else { return };
    let mut client = cluster.connect();
    create_events(&mut client);
    client.run("INSERT INTO events DEFAULT VALUES");
    let stray = "SELECT count(*) FROM ONLY events_default";
    assert_eq!(bigint(&mut client, stray), 0);
    maintain(&mut client);
    let first = bounds(&mut client);
    assert!(first.len() > 4, "{first:?}: today, and at least four days ahead");
    for bound in &first {
        let midnight =
            format!("SELECT snowflake_min(date_trunc('day', snowflake_timestamp({bound}), 'UTC'))");
        assert_eq!(bigint(&mut client, &midnight), *bound);
    }

    let later = format!("INSERT INTO events (id) SELECT max(id) + 3 * {DAY} FROM events");
    client.run(&later);
    maintain(&mut client);
    let second = bounds(&mut client);
    assert!(second.starts_with(&first));
    assert_eq!(second.len(), first.len() + 3);
    let retain = format!(
        "UPDATE partman.part_config SET retention = {DAY}::text, retention_keep_table = false"
    );
    client.run(&retain);
    maintain(&mut client);
    let kept = bounds(&mut client);
    assert!(kept.len() < second.len() && second.ends_with(&kept), "{kept:?} of {second:?}");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM events"), 1, "the first day is gone");
    assert_eq!(bigint(&mut client, stray), 0);
}
