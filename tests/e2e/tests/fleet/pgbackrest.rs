//! pgBackRest: its restores keep the register, and what it restores beside the original is a twin.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Barrier;
use std::thread;

use snowflake_e2e::{
    Cluster, Journal, Means, NEXT, Run, archive_wal, assert_check, assert_increasing, bigint,
    bigints, check, create_orders, eventually, fleet_program, fleet_program_path, lacks, output,
    skip,
};

use super::backups::{FLOOR, assert_all_is_well, start_with_identity_outside, take, under_load};

/// The number of IDs that each of two servers takes to see if they are the same.
const AT_ONCE: usize = 100_000;

/// Returns the entry that the server has logged at its first ID, with detail and hint.
fn logged_change(cluster: &Cluster) -> String {
    let log = cluster.log();
    let start = log.rfind("LOG:  snowflake IDs continue after a change").expect("the line");
    let change = log[start..].lines().take(3).collect::<Vec<_>>().join("\n");
    println!("{change}");
    change
}

/// A repository of pgBackRest beside the data directory that it backs up.
struct Repository {
    config: PathBuf,
}

impl Repository {
    /// Makes a running cluster archive into a new repository. `None` without pgBackRest, or if it
    /// does not know the server's version.
    fn of(cluster: &Cluster) -> Option<Repository> {
        if lacks(&[Means::Program("pgbackrest")]) {
            return None;
        }
        let config = cluster.directory().join("pgbackrest.conf");
        let directory = cluster.directory().display();
        let text = format!(
            "[global]\nrepo1-path={directory}/repository\nrepo1-retention-full=2\n\
             beta=y\nrepo1-bundle=y\nrepo1-block=y\ncompress-type=lz4\nstart-fast=y\n\
             lock-path={directory}/lock\nlog-level-file=off\n\
             [main]\npg1-path={directory}/data\npg1-socket-path={directory}\npg1-port=5432\n\
             pg1-user=postgres\n"
        );
        fs::write(&config, text).expect("a directory to write to");
        let archive_command = format!(
            "{} --config={} --stanza=main archive-push %p",
            fleet_program_path("pgbackrest").display(),
            config.display()
        );
        let repository = Repository { config };
        let (succeeds, text) = said(&mut repository.command(&["stanza-create"]));
        if text.contains("is this version of PostgreSQL supported?") {
            skip(Means::Other("pgBackRest for this PostgreSQL"));
            return None;
        }
        assert!(succeeds, "{text}");
        cluster.reload_with(&[("archive_command", &archive_command)]);
        Some(repository)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = fleet_program("pgbackrest");
        command.arg("--config").arg(&self.config).arg("--stanza=main").args(arguments);
        command
    }

    /// Runs pgBackRest, and returns what it says.
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let (succeeds, text) = said(&mut self.command(arguments));
        assert!(succeeds, "{arguments:?}: {text}");
        text
    }

    /// Makes a backup. pgBackRest warns of a page whose checksum is wrong.
    #[track_caller]
    fn back_up(&self, kind: &str) {
        let text = self.run(&["--type", kind, "backup"]);
        assert!(!text.contains("WARN"), "{text}");
    }

    /// Restores the data directory of a cluster, which is empty or not there.
    #[track_caller]
    fn restore(&self, cluster: &Cluster, options: &[&str]) {
        output(self.command(&["restore"]).arg("--pg1-path").arg(cluster.data()).args(options));
    }
}

/// Runs a program, and returns whether it succeeds, and its output.
fn said(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    (status.success(), text.into())
}

/// The server dies three times, and is restored from a full and an incremental backup: to the end
/// of the archive after its data directory was lost, and in place to a named point and to a time.
/// Each time, the register is above every ID that was issued before the target. IDs that were
/// issued after it do not return without a margin, because the clock has gone on.
#[test]
fn restores_keep_the_register() {
    let mut cluster = start_with_identity_outside(
        Cluster::builder().set("archive_mode", "on").set("snowflake.failover_margin", "0"),
    );
    let Some(repository) = Repository::of(&cluster) else { return };
    let journal = Journal::new();
    repository.run(&["check"]);
    for kind in ["full", "incr"] {
        under_load(&cluster, &journal, || repository.back_up(kind));
    }
    for (timeline, target) in [(1, ""), (2, "name"), (3, "time")] {
        let mut client = cluster.connect();
        take(&mut client, &journal, 200);
        let mut kept = journal.highest();
        let here = match target {
            "name" => "SELECT pg_create_restore_point('here') IS NULL, 'here'",
            _ => "SELECT false, clock_timestamp()::text",
        };
        let here: String = client.query_one(here, &[]).expect("a target").get(1);
        take(&mut client, &journal, 200);
        if target.is_empty() {
            kept = journal.highest();
        }
        archive_wal(&mut client);
        take(&mut client, &journal, 200);
        cluster.kill();
        let (kind, here) = (format!("--type={target}"), format!("--target={here}"));
        let mut options = vec!["--delta", "--target-action=promote", &kind, &here];
        if target.is_empty() {
            fs::remove_dir_all(cluster.data()).expect("the data directory");
            options.clear();
        } else {
            // pgBackRest takes it for the sign of a server that runs.
            fs::remove_file(cluster.data().join("postmaster.pid")).expect("a server was killed");
        }
        repository.restore(&cluster, &options);
        cluster.start_again();
        cluster.wait_until_primary();

        let mut client = cluster.connect();
        assert_eq!(bigint(&mut client, "SELECT max(id) FROM orders"), kept);
        assert!(bigint(&mut client, FLOOR) >= kept);
        assert_all_is_well(&mut client);
        eventually("the clock is ahead of what was lost", || {
            bigint(&mut client, "SELECT snowflake_min(clock_timestamp())") > journal.highest()
        });
        under_load(&cluster, &journal, || ());
        assert_all_is_well(&mut client);
        journal.check();
        let change = logged_change(&cluster);
        assert!(change.contains(&format!("timeline {timeline} to {}", timeline + 1)), "{change}");
    }
    repository.run(&["check"]);
    let verified = repository.run(&["--output=text", "--verbose", "verify"]);
    assert!(verified.contains("status: ok"), "{verified}");
    assert_eq!(verified.matches("status: valid").count(), 2, "{verified}");
    println!("3 restores, {} IDs", journal.check());
}

/// Returns the number of IDs that come twice if two servers take them at full speed, at least once
/// in the same millisecond.
fn duplicates(clusters: [&Cluster; 2]) -> usize {
    let milliseconds =
        |ids: &HashSet<i64>| -> HashSet<i64> { ids.iter().map(|id| id >> 22).collect() };
    let mut repeated = 0;
    eventually("both take IDs in one millisecond", || {
        let [one, other] = take_at_once(clusters).map(HashSet::from_iter);
        repeated = one.intersection(&other).count();
        !milliseconds(&one).is_disjoint(&milliseconds(&other))
    });
    repeated
}

/// The IDs that two servers issue in a short time.
fn take_at_once(clusters: [&Cluster; 2]) -> [Vec<i64>; 2] {
    let barrier = Barrier::new(clusters.len());
    let take = |cluster: &Cluster| {
        let mut client = cluster.connect();
        client.run(NEXT);
        barrier.wait();
        // Not straight to the client, which would hold the server up.
        let taken = format!("CREATE TEMP TABLE taken AS SELECT snowflake_nextval({AT_ONCE}) AS id");
        client.run(&taken);
        let ids = bigints(&mut client, "SELECT id FROM taken");
        assert_increasing(&ids);
        ids
    };
    thread::scope(|scope| {
        let threads = clusters.map(|cluster| scope.spawn(|| take(cluster)));
        threads.map(|thread| thread.join().expect("a client"))
    })
}

/// A clone that runs beside its original issues the same IDs, if it has the same identity. The log
/// and the check say so. With an identity of its own, it issues none of them.
#[test]
fn a_clone_beside_its_original_needs_an_identity_of_its_own() {
    let original =
        Cluster::builder().set("archive_mode", "on").set("snowflake.failover_margin", "0").start();
    let Some(repository) = Repository::of(&original) else { return };
    create_orders(&original);
    take(&mut original.connect(), &Journal::new(), 100);
    repository.back_up("full");
    let [mut same, mut own] = [(); 2].map(|()| {
        let clone = original.beside();
        repository.restore(&clone, &["--archive-mode=off"]);
        clone.use_own_socket();
        clone
    });

    same.start_again();
    same.wait_until_primary();
    let repeated = duplicates([&original, &same]);
    println!("with the same identity, {repeated} of {AT_ONCE} IDs came twice");
    assert!(repeated > 0);
    let change = logged_change(&same);
    assert!(change.starts_with("LOG:  snowflake IDs continue after a change: timeline 1 to 2\n"));
    assert!(change.contains("This server has followed no other one since it started."));
    assert!(change.contains("HINT:  If it was restored from a backup while the original runs on"));
    assert_check(
        &mut same.connect(),
        "origin of the identity",
        false,
        "inside the data directory, so every copy",
    );
    // The command line goes before the file.
    same.stop();
    let arguments = ["-c", "snowflake.datacenter_id=5", "-c", "snowflake.worker_id=10"];
    same.start_with(&arguments).expect("a start");
    assert_eq!(duplicates([&original, &same]), 0);
    assert_eq!(check(&mut same.connect(), "identity").1, "Datacenter 5, worker 10.");

    // In a file outside the data directory, and no more in this.
    let path = own.data().join("postgresql.conf");
    let text = fs::read_to_string(&path).expect("postgresql.conf");
    let text = text.replace("snowflake.datacenter_id", "#").replace("snowflake.worker_id", "#");
    fs::write(&path, text).expect("postgresql.conf is writable");
    own.set_identity_outside(11);
    own.start_again();
    own.wait_until_primary();
    for other in [&original, &same] {
        assert_eq!(duplicates([other, &own]), 0);
    }
    let change = logged_change(&own);
    assert!(change.contains("timeline 1 to 2, worker 9 to 11"), "{change}");
    assert_all_is_well(&mut own.connect());
}
