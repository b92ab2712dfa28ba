//! Backups with PostgreSQL's own programs, which keep the register: incremental base backups,
//! pg_verifybackup and pg_checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use postgres::Client;
use snowflake_e2e::{
    Cluster, ClusterBuilder, INSERT, Journal, Means, NEXT, Register, bigint, create_orders,
    eventually, lacks, output, server_with, value,
};

/// The largest ID that the register promises to be above.
pub const FLOOR: &str = "SELECT snowflake_max(snowflake_floor())";

/// Starts a cluster with checksums whose identity is in no backup.
pub fn start_with_identity_outside(builder: ClusterBuilder) -> Cluster {
    let mut cluster =
        server_with(builder, "snowflake.datacenter_id = 5\nsnowflake.worker_id = 9\n");
    // They might be on already.
    let _ = pg_checksums(&cluster, "--enable").output();
    cluster.start_again();
    cluster.run("CREATE EXTENSION snowflake");
    create_orders(&cluster);
    cluster
}

/// Takes IDs, in rows and without, while something else is done.
pub fn under_load(cluster: &Cluster, journal: &Journal, act: impl FnOnce()) {
    let config = cluster.config();
    journal.under_load(&config, 1, NEXT, || {
        journal.under_load(&config, 2, INSERT, || {
            journal.wait_for(300);
            act();
            journal.wait_for(300);
        });
    });
}

/// Takes an ID for each of the rows, and one that never becomes a row.
pub fn take(client: &mut Client, journal: &Journal, rows: u32) {
    for _ in 0..rows {
        journal.take(client, NEXT).expect("an ID");
        journal.take(client, INSERT).expect("an ID");
    }
}

#[track_caller]
pub fn assert_all_is_well(client: &mut Client) {
    // A copy that has the identity of its original is told so.
    let doubts = "SELECT coalesce(string_agg(name || ': ' || detail, ' '), '')
                  FROM snowflake_check() WHERE NOT ok AND name <> 'restored copy'";
    assert_eq!(value::<String>(client, doubts), "");
}

/// Asserts that the register of a server is above every row.
#[track_caller]
fn assert_above_rows(client: &mut Client) {
    assert!(bigint(client, FLOOR) >= bigint(client, "SELECT max(id) FROM orders"));
    assert_all_is_well(client);
}

/// Asserts that a command finds the register of a cluster well, and says this of one in which a bit
/// is flipped.
#[track_caller]
fn assert_finds_damage(cluster: &Cluster, command: impl Fn() -> Command, expected: &str) {
    output(&mut command());
    let path = Register::path(cluster);
    let page = fs::read(&path).expect("the register");
    let mut damaged = page.clone();
    damaged[24 + 25] ^= 4;
    fs::write(&path, damaged).expect("root, or the owner");
    let found = command().output().expect("the program runs");
    let said = String::from_utf8_lossy(&found.stderr);
    assert!(!found.status.success() && said.contains(expected), "{said}");
    fs::write(&path, page).expect("root, or the owner");
}

fn pg_verifybackup(cluster: &Cluster, backup: &Path) -> Command {
    let mut command = cluster.programs().program("pg_verifybackup");
    command.arg("--exit-on-error").arg(backup);
    command
}

/// Combines backups with pg_combinebackup, each of which is based on the one before it.
fn combined(original: &Cluster, backups: &[&PathBuf]) -> Cluster {
    let copy = original.beside();
    let mut command = copy.programs().program("pg_combinebackup");
    output(command.args(backups).arg("--no-sync").arg("--output").arg(copy.data()));
    output(&mut pg_verifybackup(&copy, &copy.data()));
    copy.use_own_socket();
    copy
}

/// An incremental base backup has the whole register if IDs were issued since the one before, and
/// no page of it otherwise. What pg_combinebackup makes of them has the register of the last one.
/// The full backup is from before the first ID, and has none.
#[test]
fn incremental_backups_are_combined_with_the_register() {
    // Incremental base backups are new there.
    if lacks(&[Means::PostgreSQL(17)]) {
        return;
    }
    let mut original = start_with_identity_outside(Cluster::builder().set("summarize_wal", "on"));
    let journal = Journal::new();
    let back_up = |name: &str, before: Option<&PathBuf>| {
        let backup = original.directory().join(name);
        let option =
            before.map(|before| format!("--incremental={}/backup_manifest", before.display()));
        original
            .base_backup_to(&backup, &option.iter().map(|option| &**option).collect::<Vec<_>>());
        output(&mut pg_verifybackup(&original, &backup));
        backup
    };
    let wait_for_reservation = || {
        let mut client = original.connect();
        let floor = bigint(&mut client, FLOOR);
        eventually("a reservation", || bigint(&mut client, FLOOR) > floor);
    };
    let full = back_up("full", None);
    let (mut created, mut changed) = (PathBuf::new(), PathBuf::new());
    under_load(&original, &journal, || created = back_up("created", Some(&full)));
    under_load(&original, &journal, || {
        wait_for_reservation();
        changed = back_up("changed", Some(&created));
        wait_for_reservation();
    });
    let rest = back_up("rest", Some(&changed));
    let idle = back_up("idle", Some(&rest));
    assert!(!full.join(Register::FILE).exists());
    assert!(created.join(Register::FILE).exists());
    assert!(changed.join(Register::FILE).exists());
    assert!(idle.join("global/INCREMENTAL.4294965250").exists());

    original.kill();
    let chain = [&full, &created, &changed, &rest, &idle];
    for length in 2..=chain.len() {
        let mut copy = combined(&original, &chain[..length]);
        copy.start_again();
        let mut client = copy.connect();
        assert_above_rows(&mut client);
        if length == chain.len() {
            assert!(bigint(&mut client, FLOOR) >= journal.highest());
            under_load(&copy, &journal, || ());
            assert_all_is_well(&mut client);
        }
    }
    println!("4 incremental backups, {} IDs", journal.check());
}

/// pg_verifybackup compares the register with the manifest.
#[test]
fn pg_verifybackup_knows_the_register() {
    let mut original = start_with_identity_outside(Cluster::builder());
    let journal = Journal::new();
    let mut copy = original.beside();
    under_load(&original, &journal, || original.base_backup_to(&copy.data(), &[]));
    let mismatch = "checksum mismatch for file \"global/4294965250\"";
    assert_finds_damage(&copy, || pg_verifybackup(&copy, &copy.data()), mismatch);
    original.kill();
    copy.use_own_socket();
    copy.start_again();
    let mut client = copy.connect();
    assert_above_rows(&mut client);
    journal.take(&mut client, NEXT).expect("an ID");
    assert_all_is_well(&mut client);
    println!("a backup under load, {} IDs", journal.check());
}

fn pg_checksums(cluster: &Cluster, mode: &str) -> Command {
    let mut command = cluster.programs().program("pg_checksums");
    command.arg(mode).arg("-D").arg(cluster.data());
    command
}

/// Checksums are switched on and off under a register that is in use. The register has one in each
/// way that its page is written, and pg_checksums finds a page that is damaged.
#[test]
fn pg_checksums_finds_a_damaged_register() {
    let mut cluster = Cluster::start();
    create_orders(&cluster);
    let journal = Journal::new();
    take(&mut cluster.connect(), &journal, 100);
    cluster.stop();
    // Where they are switched on from the start, this makes a difference.
    let _ = pg_checksums(&cluster, "--disable").output();
    output(&mut pg_checksums(&cluster, "--enable"));
    output(&mut pg_checksums(&cluster, "--check"));
    continue_above(&mut cluster, &journal);
    output(&mut pg_checksums(&cluster, "--check"));

    // A page that was not written by a checkpoint since it was created.
    fs::remove_file(Register::path(&cluster)).expect("the register");
    cluster.start_again();
    cluster.run("SELECT snowflake_set_floor(now() + interval '10 s')");
    cluster.stop();
    let damaged = "global/4294965250\", block 0";
    assert_finds_damage(&cluster, || pg_checksums(&cluster, "--check"), damaged);

    continue_above(&mut cluster, &journal);
    output(&mut pg_checksums(&cluster, "--disable"));
    continue_above(&mut cluster, &journal);
    println!("checksums on and off, {} IDs", journal.check());
}

/// Starts a server, whose register is above every ID, takes more of them, and stops it.
fn continue_above(cluster: &mut Cluster, journal: &Journal) {
    cluster.start_again();
    let mut client = cluster.connect();
    assert!(bigint(&mut client, FLOOR) >= journal.highest());
    take(&mut client, journal, 100);
    drop(client);
    cluster.stop();
}
