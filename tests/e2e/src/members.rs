//! Members of one cluster, with one configuration: each has its number in its environment, and
//! keeps it.

use crate::cluster::Cluster;
use crate::programs::signal;
use crate::query::{bigint, bigints, value};
use crate::wait::eventually;

/// A primary and its standbys, whose clocks can be moved.
pub struct Members {
    /// All of them. The first has worker ID 1.
    pub members: Vec<Cluster>,
    /// Which one was promoted last.
    pub leader: usize,
}

impl Members {
    /// Three members, with this `snowflake.failover_margin`.
    pub fn start(margin: &str) -> Members {
        let builder = Cluster::builder().fake_clock().environment("MEMBER=1".into());
        let first = builder
            .unset("snowflake.worker_id")
            .set("snowflake.worker_id_from", "MEMBER=*")
            .set("snowflake.failover_margin", margin)
            .set("wal_log_hints", "on")
            .set("wal_keep_size", "1GB")
            .set("wal_retrieve_retry_interval", "100ms")
            .start();
        let others = [2, 3].map(|number| {
            let mut standby = first.base_backup(&["--write-recovery-conf"]);
            standby.set_environment(&format!("MEMBER={number}"));
            standby.start_again();
            standby
        });
        let members = Members { members: [first].into_iter().chain(others).collect(), leader: 0 };
        members.wait_for_standbys();
        members
    }

    /// The member that was promoted last.
    pub fn leader(&self) -> &Cluster {
        &self.members[self.leader]
    }

    /// All members but one.
    pub fn others(&self, member: usize) -> Vec<usize> {
        (0..self.members.len()).filter(|other| *other != member).collect()
    }

    /// Cuts the network between the leader and the others, which get no more WAL.
    pub fn cut(&self) {
        let senders = "SELECT pid FROM pg_stat_replication";
        bigints(&mut self.leader().connect(), senders).iter().for_each(|pid| signal(*pid, "STOP"));
    }

    /// Promotes a standby, whatever becomes of the old leader.
    pub fn promote(&mut self, member: usize) {
        self.members[member].promote();
        self.leader = member;
    }

    /// Lets a member follow the leader, by pg_rewind where its WAL is another one. An old leader is
    /// killed for that, and a standby stopped.
    pub fn follow_leader(&mut self, member: usize) {
        let old = &mut self.members[member];
        if old.data().join("standby.signal").exists() {
            old.stop();
        } else if old.is_running() {
            old.kill();
        }
        self.members[member].rewind_to(self.leader());
        self.members[member].start_again();
    }

    /// Waits until all others have what the leader has.
    pub fn wait_for_standbys(&self) {
        let mut leader = self.leader().connect();
        eventually("the others follow", || {
            let position: String = value(&mut leader, "SELECT pg_current_wal_flush_lsn()::text");
            let streaming = format!(
                "SELECT count(*) FROM pg_stat_replication
                 WHERE state = 'streaming' AND replay_lsn >= '{position}'"
            );
            bigint(&mut leader, &streaming) == 2
        });
    }
}
