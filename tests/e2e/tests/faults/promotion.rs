//! A standby whose clock is an hour behind is promoted.

use snowflake_e2e::{Cluster, Journal, bigint};

use super::{INSERT, NEXT, create_orders, wait_for_rows};

/// A primary that has been under load, its standby, and what clients received.
struct Pair {
    primary: Cluster,
    standby: Cluster,
    journal: Journal,
}

impl Pair {
    fn new() -> Pair {
        let primary = Cluster::builder().fake_clock().start();
        create_orders(&primary);
        let pair = Pair { standby: primary.standby_at("-1h"), primary, journal: Journal::new() };
        pair.load();
        pair
    }

    /// Rows on the primary, which reach the standby.
    fn load(&self) {
        load(&self.primary, &self.journal);
        wait_for_rows(&self.standby, self.journal.count());
    }

    /// Promotes the standby. What it issues is above its rows, and above all that clients ever
    /// received.
    fn promote_and_check(self) {
        let Pair { standby, journal, .. } = self;
        standby.promote();
        let mut client = standby.connect();
        let highest = bigint(&mut client, "SELECT max(id) FROM orders");
        let next = journal.take(&mut client, NEXT).expect("an ID");
        assert!(next > highest, "{next} is not above {highest}");
        load(&standby, &journal);
        println!("a promotion, {} IDs", journal.check());
    }
}

fn load(cluster: &Cluster, journal: &Journal) {
    journal.under_load(&cluster.config(), 3, INSERT, || journal.wait_for(1000));
}

#[test]
fn no_id_comes_back_after_a_clean_stop() {
    let mut pair = Pair::new();
    pair.primary.stop();
    pair.promote_and_check();
}

#[test]
fn no_id_comes_back_after_a_crash_of_the_primary() {
    let mut pair = Pair::new();
    pair.primary.kill();
    pair.promote_and_check();
}

/// The clock of the primary was set back, and its IDs go on from where they were.
#[test]
fn no_id_comes_back_after_a_crash_of_a_primary_whose_ids_are_ahead() {
    let mut pair = Pair::new();
    pair.primary.set_clock("-10min");
    pair.load();
    pair.primary.kill();
    pair.promote_and_check();
}

#[test]
fn no_id_comes_back_after_a_restart_of_the_standby() {
    let mut pair = Pair::new();
    pair.standby.restart();
    pair.primary.kill();
    pair.promote_and_check();
}

#[test]
fn no_id_comes_back_after_a_crash_of_the_standby() {
    let mut pair = Pair::new();
    pair.standby.run("CHECKPOINT");
    pair.standby.crash("-1h");
    pair.primary.kill();
    pair.promote_and_check();
}

#[test]
fn no_id_comes_back_on_a_standby_that_was_made_before_the_first_id() {
    let primary = Cluster::builder().fake_clock().start();
    let pair = Pair { standby: primary.standby_at("-1h"), primary, journal: Journal::new() };
    create_orders(&pair.primary);
    pair.load();
    pair.promote_and_check();
}
