//! Faults: what is thrown at a real cluster, and that no ID comes twice. One module per kind.
//!
//! Each test writes down what its clients received, and checks at the end that nothing came twice
//! and that everything increased. `make mutants` runs those that `tests/mutants/promises` lists
//! while a rule is broken, with which they have to fail.

mod copies;
mod crash;
mod creation;
mod damage;
mod deleted_register;
mod floor;
mod forgotten_steps;
mod interruption;
mod lags;
mod power_loss;
mod promoted_clocks;
mod promotion;
mod recovery;
mod reuse;
mod standbys_that_change;
mod start_after;
mod steps;
mod synchronous;
mod terms;
mod upgrade;
mod upstream_worker;
mod waiting_commits;
mod wrong_clocks;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use postgres::Client;
use snowflake_e2e::{
    Cluster, ClusterBuilder, INSERT, Journal, NEXT, PARALLEL, PARALLEL_SAFE, assert_rows, bigint,
    create_directory, create_orders, eventually, process,
};

/// A server whose clock can be moved, and the journal with the ID that it has issued.
fn begin() -> (Cluster, Journal) {
    begin_with(Cluster::builder())
}

fn begin_with(builder: ClusterBuilder) -> (Cluster, Journal) {
    let (cluster, journal) = (builder.fake_clock().start(), Journal::new());
    take(&journal, &cluster);
    (cluster, journal)
}

/// Takes an ID in a new session.
#[track_caller]
fn take(journal: &Journal, cluster: &Cluster) {
    journal.take(&mut cluster.connect(), NEXT).expect("an ID");
}

/// Confirms, and returns whether there was something to confirm.
fn confirm(cluster: &Cluster, what: &str) -> bool {
    cluster.value(&format!("SELECT snowflake_confirm('{what}')"))
}

fn floor(cluster: &Cluster) -> String {
    cluster.value("SELECT snowflake_floor()::text")
}

/// Sets the highest ID of the journal as the floor.
fn set_floor(cluster: &Cluster, journal: &Journal) {
    let set = "SELECT snowflake_set_floor(snowflake_timestamp($1))";
    cluster.connect().execute(set, &[&journal.highest()]).expect("a new floor");
}

/// The primary dies, and the standby takes its place.
fn fail_over(primary: &mut Cluster, standby: &Cluster) {
    primary.kill();
    standby.promote();
}

/// Waits until table `orders` has so many rows.
fn wait_for_rows(cluster: &Cluster, rows: usize) {
    let mut client = cluster.connect();
    eventually("the rows are there", || {
        let count = client.query_one("SELECT count(*) FROM orders", &[]);
        count.is_ok_and(|row| row.get::<_, i64>(0) == rows as i64)
    });
}

/// Waits until a standby streams, and has heard from its primary.
fn wait_until_heard(standby: &Cluster) {
    let heard = "SELECT count(*) FROM pg_stat_wal_receiver WHERE latest_end_lsn > '0/0'";
    let mut client = standby.connect();
    eventually("it has heard from the primary", || bigint(&mut client, heard) == 1);
}

/// Lets a session do what has to wait for a synchronous standby at its commit, and waits until it
/// does. Returns the process, too.
#[track_caller]
fn wait_in_commit<T: Send + 'static>(
    cluster: &Cluster,
    mut client: Client,
    what: &str,
    act: impl FnOnce(&mut Client) -> T + Send + 'static,
) -> (JoinHandle<T>, i64) {
    let pid = process(&mut client);
    let done = thread::spawn(move || act(&mut client));
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'SyncRep'"
    );
    let mut watcher = cluster.connect();
    eventually(&format!("{what} waits"), || {
        assert!(!done.is_finished(), "{what} did not wait");
        bigint(&mut watcher, &waiting) == 1
    });
    (done, pid)
}

/// Makes a cluster that was started with `archive_mode` archive its WAL, and returns where to.
fn archive(cluster: &Cluster) -> PathBuf {
    let archive = cluster.directory().join("archive");
    create_directory(&archive);
    cluster.reload_with(&[("archive_command", &format!("cp %p {}/%f", archive.display()))]);
    archive
}

/// Starts a copy, without a margin, from the archive of its original, up to restore point `here`.
fn recover(mut copy: Cluster, archive: &Path, settings: &[(&str, &str)]) -> Cluster {
    copy.configure(&[
        ("archive_mode", "off"),
        ("restore_command", &format!("cp {}/%f %p", archive.display())),
        ("recovery_target_name", "here"),
        ("recovery_target_action", "promote"),
        ("snowflake.failover_margin", "0"),
    ]);
    copy.configure(settings);
    fs::write(copy.data().join("recovery.signal"), "").expect("a file");
    copy.start_again();
    copy.wait_until_primary();
    copy
}

/// Sets the permissions of a file or a directory of a cluster.
fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("root, or the owner");
}

/// Sets a server's clock back into the time in which the IDs in the journal were issued, in the
/// default layout. Around the first of them, a busy machine might have left gaps.
fn set_clock_back_to(cluster: &Cluster, journal: &Journal) {
    let id = journal.ids()[journal.count() / 2];
    let issued = Duration::from_millis((id >> 22) as u64 + 1_288_834_974_657);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    cluster.set_clock(&format!("-{:.3}s", (now - issued).as_secs_f64()));
}

/// A library that servers load before all others, and that stands between them and the disk, as
/// disk.c says. It lives as long as this.
struct Disk {
    directory: tempfile::TempDir,
}

impl Disk {
    /// Compiles it.
    fn new() -> Disk {
        let directory = tempfile::tempdir().expect("a directory");
        set_mode(directory.path(), 0o755);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/disk.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(directory.path().join("library.so"));
        assert!(cc.args([source, "-ldl"]).status().expect("cc runs").success());
        Disk { directory }
    }

    /// A server that loads it.
    fn builder(&self) -> ClusterBuilder {
        let library = self.directory.path().join("library.so");
        Cluster::builder().environment(format!("LD_PRELOAD={}", library.display()))
    }
}
