//! pg_upgrade, and dump and restore: neither carries the register, so the floor is carried over by
//! hand: as `snowflake.start_after`, or with `snowflake_set_floor()`.

use std::fs;

use snowflake_e2e::{Cluster, ClusterBuilder, Journal, Programs, Register, output};

use super::{INSERT, create_orders, floor, set_clock_back_to};

/// A layout that is not the default one.
const BITS: (&str, &str) = ("snowflake.sequence_bits", "13");

fn old_cluster(journal: &Journal) -> Cluster {
    let cluster = old_server().start();
    create_orders(&cluster);
    journal.take_times(&cluster, INSERT, 100);
    journal.issue_beyond_the_floor(&mut cluster.connect());
    cluster
}

/// A server that starts from its clock, which is back where the IDs in the journal were issued.
/// Without their floor, they come again.
fn assert_return(cluster: &Cluster, journal: &Journal) {
    let mut client = cluster.connect();
    set_clock_back_to(cluster, journal);
    let returned = journal.returned(&mut client);
    println!("without the floor, {returned} of {} IDs come again", journal.count());
    assert!(returned > 0);
}

fn old_server() -> ClusterBuilder {
    Cluster::builder().programs(Programs::old_from_env()).fake_clock()
}

fn go_on(cluster: &Cluster, journal: &Journal) {
    journal.take_times(cluster, INSERT, 100);
    assert_eq!(cluster.bigint("SELECT count(*) FROM orders"), 200);
    println!("moved, {} IDs", journal.check());
}

#[test]
fn a_floor_that_is_carried_over_lasts_through_pg_upgrade() {
    let journal = Journal::new();
    let mut old = old_cluster(&journal);
    let floor = floor(&old);
    old.stop();
    let mut new = Cluster::builder().fake_clock().start_upgraded_from(&old);
    println!("from PostgreSQL {} to {}", old.programs().major(), new.programs().major());
    assert_return(&new, &journal);
    new.stop();
    new.set_clock("-1h");
    // The floor of the old cluster is in force before anybody can connect.
    new.configure(&[("snowflake.start_after", &floor)]);
    new.start_again();
    go_on(&new, &journal);
    assert_eq!(new.bigint(IS_THE_SAME_LAYOUT), 1);
}

const IS_THE_SAME_LAYOUT: &str = "SELECT ok::int::bigint FROM snowflake_check()
    WHERE name = 'layout of the database' AND (ok OR detail LIKE '%5, 5 and 13 bits.')";

/// The files of all tables are carried over, and no trigger is fired. If the new server has another
/// layout, its check says so.
#[test]
fn another_layout_shows_after_pg_upgrade() {
    let mut old = old_server().set(BITS.0, BITS.1).start();
    create_orders(&old);
    let id = old.bigint(INSERT);
    let time = |cluster: &Cluster| -> String {
        cluster.value(&format!("SELECT snowflake_timestamp({id})::text"))
    };
    let issued = time(&old);
    old.stop();
    let mut new = Cluster::builder().fake_clock().start_upgraded_from(&old);
    assert_eq!(new.bigint(IS_THE_SAME_LAYOUT), 0);
    assert_ne!(time(&new), issued);
    new.restart_with(&[BITS]);
    assert_eq!(new.bigint(IS_THE_SAME_LAYOUT), 1);
    assert_eq!(time(&new), issued);
}

#[test]
fn a_floor_that_is_carried_over_lasts_through_dump_and_restore() {
    let journal = Journal::new();
    let mut old = old_cluster(&journal);
    let floor = floor(&old);
    let file = old.directory().join("dump.sql");
    output(old.client_program("pg_dump").arg("--file").arg(&file));
    let mut new = Cluster::builder().fake_clock().start();
    new.run("DROP EXTENSION snowflake");
    let mut restore = new.client_program("psql");
    output(restore.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file));
    old.stop();
    assert_return(&new, &journal);
    // As it was before these.
    new.stop();
    fs::remove_file(Register::path(&new)).expect("the register");
    new.start_again();
    let set_floor = format!("SELECT snowflake_set_floor('{floor}')");
    new.run(&set_floor);
    new.set_clock("-1h");
    go_on(&new, &journal);
}
