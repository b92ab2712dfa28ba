//! Faults: what is thrown at a real cluster, and that no ID comes twice. One module per kind.
//!
//! Each test writes down what its clients received, and checks at the end that nothing came twice
//! and that everything increased. `make mutants` runs those that `tests/mutants/promises` lists while
//! a rule is broken, with which they have to fail.

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
mod upgrade;
mod upstream_worker;
mod waiting_commits;
mod wrong_clocks;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use snowflake_e2e::{Cluster, INSERT, Journal, NEXT, create_directory, create_orders};

/// Makes a cluster that was started with `archive_mode` archive its WAL, and returns where to.
fn archive(cluster: &Cluster) -> PathBuf {
    let archive = cluster.directory().join("archive");
    create_directory(&archive);
    cluster.configure(&[("archive_command", &format!("cp %p {}/%f", archive.display()))]);
    cluster.reload();
    archive
}

/// Sets a server's clock back into the time in which the IDs in the journal were issued, in the
/// default layout. Around the first of them, a busy machine might have left gaps.
fn set_clock_back_to(cluster: &Cluster, journal: &Journal) {
    let id = journal.ids()[journal.count() / 2];
    let issued = Duration::from_millis((id >> 22) as u64 + 1_288_834_974_657);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    cluster.set_clock(&format!("-{:.3}s", (now - issued).as_secs_f64()));
}

/// A library that servers load before all others, and that stands between them and the disk. It
/// lives as long as this.
struct Preloaded {
    directory: tempfile::TempDir,
}

impl Preloaded {
    /// Compiles the C file of that name beside this one.
    fn new(name: &str) -> Preloaded {
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("our own");
        let source = format!("{}/tests/faults/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(directory.path().join("library.so"))
            .args([&source, "-ldl"])
            .status();
        assert!(built.expect("cc runs").success());
        Preloaded { directory }
    }

    /// What a server has in its environment to load it.
    fn environment(&self) -> String {
        format!("LD_PRELOAD={}", self.directory.path().join("library.so").display())
    }
}
