//! A rolling upgrade: the standby first, then a switchover, then the former primary.

use snowflake_e2e::{Cluster, INSERT, Journal, eventually};

use super::{
    assert_well, follow, former_cluster, start_with_former_library, start_with_new_library,
};

fn rows(cluster: &Cluster) -> i64 {
    cluster.bigint("SELECT count(*) FROM orders")
}

/// Clients insert before, between and after the steps. No ID comes twice, although the clock of the
/// standby is an hour behind.
#[test]
fn no_id_comes_twice_if_the_standby_is_upgraded_first() {
    let journal = Journal::new();
    let mut primary = former_cluster();
    let mut standby = primary.standby_at("-1h");
    journal.take_times(&primary, INSERT, 100);

    standby.stop();
    start_with_new_library(&mut standby);
    journal.take_times(&primary, INSERT, 100);
    eventually("the rows reach the standby", || rows(&standby) == 200);

    primary.stop();
    standby.promote();
    journal.take_times(&standby, INSERT, 100);
    // The SQL of the former release still works.
    let views = "TABLE pg_stat_snowflake; TABLE snowflake_status";
    standby.run(views);

    follow(&mut primary, &standby);
    eventually("the rows reach the former primary", || rows(&primary) == 300);

    standby.run("ALTER EXTENSION snowflake UPDATE");
    journal.take_times(&standby, INSERT, 100);
    eventually("the rows reach the former primary", || rows(&primary) == 400);
    for cluster in [&primary, &standby] {
        assert_well(cluster);
    }
    println!("a rolling upgrade, {} IDs", journal.check());
}

/// The members go back to the former release in the same order, while the SQL is the newer one. The
/// server crashes between the restart with the newer library and the update, and after it.
#[test]
fn no_id_comes_twice_on_the_way_back() {
    let journal = Journal::new();
    let mut primary = former_cluster();
    let mut standby = primary.standby_at("-1h");
    for cluster in [&mut standby, &mut primary] {
        cluster.stop();
        start_with_new_library(cluster);
    }
    let crash = |primary: &mut Cluster| {
        journal.take_times(primary, INSERT, 100);
        primary.kill();
        primary.start_again();
    };
    crash(&mut primary);
    primary.run("ALTER EXTENSION snowflake UPDATE");
    crash(&mut primary);
    eventually("the rows reach the standby", || rows(&standby) == 200);

    standby.stop();
    start_with_former_library(&mut standby);
    journal.take_times(&primary, INSERT, 100);
    eventually("the rows reach the standby", || rows(&standby) == 300);
    primary.stop();
    standby.promote();
    journal.take_times(&standby, INSERT, 100);
    assert_well(&standby);

    // The other one follows it, still with the newer library, and leads once more.
    follow(&mut primary, &standby);
    eventually("the rows reach the former primary", || rows(&primary) == 400);
    standby.stop();
    primary.promote();
    journal.take_times(&primary, INSERT, 100);
    assert_well(&primary);
    println!("a switchover back, {} IDs", journal.check());
}
