//! Sets of synchronous standbys that change: an ID whose transaction has committed does not come
//! back after a failover to a standby that was in the set when the commit returned.
//!
//! IDs are ahead of the clock of the primary, so that one reservation lasts for minutes: it was
//! made before the set changed, and IDs are taken from it afterwards.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{
    Cluster, Run, Stopped, assert_check, assert_distinct, bigint, bigints, eventually,
};

use super::{NEXT, wait_in_commit};

const NAMES: &str = "synchronous_standby_names";

/// A primary with standbys named a and b, whose clocks are further behind than its own.
struct Fleet {
    primary: Cluster,
    a: Cluster,
    b: Cluster,
}

impl Fleet {
    /// The primary's clock was set back after it had issued IDs.
    fn start(names: &str) -> Fleet {
        let primary = Cluster::builder()
            .fake_clock()
            .set("snowflake.failover_margin", "0")
            .set("snowflake.max_backward_step", "-1")
            .start();
        let [a, b] = ["a", "b"].map(|name| {
            let mut standby = primary.base_backup(&["--write-recovery-conf"]);
            standby.configure(&[("cluster_name", name)]);
            standby.set_clock("-1200s");
            standby.start_again();
            standby
        });
        let mut client = primary.connect();
        let streams = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        eventually("both stream", || bigint(&mut client, streams) == 2);
        let fleet = Fleet { primary, a, b };
        fleet.require(names);
        client.run(NEXT);
        fleet.primary.set_clock("-600s");
        client.run(NEXT);
        fleet
    }

    /// Changes the set, and waits until sessions know.
    fn require(&self, names: &str) {
        self.primary.reload_with(&[(NAMES, names)]);
        let show = "SHOW synchronous_standby_names";
        eventually("sessions know the names", || self.primary.value::<String>(show) == names);
        // The checkpointer tells the server.
        thread::sleep(Duration::from_millis(300));
    }

    /// Makes another reservation that lasts for minutes.
    fn reserve_again(&self) {
        let mut client = self.primary.connect();
        take(&mut client);
        for offset in ["+10s", "-600s"] {
            self.primary.set_clock(offset);
            take(&mut client);
        }
    }

    /// Keeps the standby connected, and sends it nothing more until this is dropped.
    fn lag(&self, name: &str) -> Stopped {
        let sender = format!(
            "SELECT pid::bigint FROM pg_stat_replication WHERE application_name = '{name}'"
        );
        Stopped::new(self.primary.bigint(&sender))
    }

    /// Takes an ID, whose commit has to wait: nobody in the set has its record.
    #[track_caller]
    fn take_and_wait(&self) -> JoinHandle<i64> {
        wait_in_commit(&self.primary, self.primary.connect(), "the commit", take).0
    }

    /// The primary dies. What the promoted standby issues is none of these.
    fn fail_over(mut self, to: fn(&mut Fleet) -> &mut Cluster, returned: Vec<i64>) {
        self.primary.kill();
        let promoted = to(&mut self);
        promoted.promote();
        let mut client = promoted.connect();
        client.run("SET synchronous_commit = local");
        let mut ids = bigints(&mut client, "SELECT snowflake_nextval(20000)");
        ids.extend(returned);
        assert_distinct(ids);
    }
}

/// Takes an ID, and waits as long as that takes.
fn take(client: &mut Client) -> i64 {
    bigint(client, NEXT)
}

/// Names are switched on after the reservation was made.
#[test]
fn no_id_comes_back_where_names_are_switched_on() {
    let mut fleet = Fleet::start("");
    fleet.a.stop();
    let mut client = fleet.primary.connect();
    take(&mut client);
    fleet.require("a");
    let taken = fleet.take_and_wait();
    fleet.a.start_again();
    let id = taken.join().expect("an ID");
    fleet.fail_over(|fleet| &mut fleet.a, vec![id]);
}

/// The set changes from one standby to another, which lags.
#[test]
fn no_id_comes_back_where_another_standby_is_named() {
    let fleet = Fleet::start("a");
    let lagging = fleet.lag("b");
    fleet.reserve_again();
    fleet.require("b");
    let taken = fleet.take_and_wait();
    drop(lagging);
    let id = taken.join().expect("an ID");
    fleet.fail_over(|fleet| &mut fleet.b, vec![id]);
}

/// The first of two standbys leaves, and the second one takes over, which lags.
#[test]
fn no_id_comes_back_where_the_first_standby_leaves() {
    let mut fleet = Fleet::start("FIRST 1 (a, b)");
    assert_check(&mut fleet.primary.connect(), "synchronous standbys", true, "these are: a.");
    let lagging = fleet.lag("b");
    fleet.reserve_again();
    fleet.a.stop();
    let taken = fleet.take_and_wait();
    drop(lagging);
    let id = taken.join().expect("an ID");
    fleet.fail_over(|fleet| &mut fleet.b, vec![id]);
}

/// No standby has the name.
#[test]
fn commits_wait_for_a_name_that_nobody_has() {
    let fleet = Fleet::start("");
    fleet.require("nobody");
    let taken = fleet.take_and_wait();
    let mut client = fleet.primary.connect();
    assert_check(&mut client, "synchronous standbys", false, "");
    fleet.require("");
    taken.join().expect("an ID");
}
