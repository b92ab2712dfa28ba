//! `make install` and `make uninstall`, into a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use snowflake_e2e::Server;

const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

struct Installation {
    destination: tempfile::TempDir,
    pg_config: PathBuf,
}

impl Installation {
    fn new() -> Installation {
        let destination = tempfile::tempdir().expect("a directory for temporary files");
        Installation { destination, pg_config: Server::from_env().bin().join("pg_config") }
    }

    fn make(&self, arguments: &[&str]) -> Output {
        Command::new("make")
            .args(["-C", TREE])
            .args(arguments)
            .arg(format!("PG_CONFIG={}", self.pg_config.display()))
            .arg(format!("DESTDIR={}", self.destination.path().display()))
            .output()
            .expect("make runs")
    }

    /// Where the server keeps what it answers for this option, below the destination.
    fn directory(&self, option: &str) -> PathBuf {
        let output = Command::new(&self.pg_config).arg(option).output().expect("pg_config runs");
        let path = String::from_utf8(output.stdout).expect("UTF-8");
        self.destination.path().join(Path::new(path.trim()).strip_prefix("/").expect("an absolute path"))
    }

    /// The names of all installed files.
    fn files(&self) -> Vec<String> {
        let directories = [self.directory("--sharedir").join("extension"), self.directory("--pkglibdir")];
        let entries = directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten();
        let mut files: Vec<String> =
            entries.map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned()).collect();
        files.sort();
        files
    }
}

#[test]
fn install_and_uninstall() {
    let installation = Installation::new();
    let output = installation.make(&["install"]);
    assert!(output.status.success(), "{output:?}");
    let script = "snowflake--0.1.0.sql";
    assert_eq!(installation.files(), [script, "snowflake.control", "snowflake_pg.so"]);
    let said = String::from_utf8_lossy(&output.stdout);
    for line in [
        "shared_preload_libraries = 'snowflake_pg'",
        "snowflake.datacenter_id = 1",
        "snowflake.worker_id = 1",
    ] {
        assert!(said.lines().any(|other| other.trim() == line), "{said}");
    }
    // Again, over itself.
    assert!(installation.make(&["install"]).status.success());

    assert!(installation.make(&["uninstall"]).status.success());
    assert_eq!(installation.files(), [""; 0]);
}

#[test]
fn another_projects_extension_of_that_name_is_left_alone() {
    let installation = Installation::new();
    let extensions = installation.directory("--sharedir").join("extension");
    fs::create_dir_all(&extensions).expect("a directory");
    fs::create_dir_all(installation.directory("--pkglibdir")).expect("a directory");
    let control = extensions.join("snowflake.control");
    let theirs = "comment = 'theirs'\nmodule_pathname = '$libdir/snowflake'\n";
    fs::write(&control, theirs).expect("a file");

    let output = installation.make(&["install"]);
    assert!(!output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("belongs to another project: 'theirs'"),
        "{output:?}"
    );
    assert_eq!(installation.files(), ["snowflake.control"]);
    assert!(installation.make(&["uninstall"]).status.success());
    assert_eq!(fs::read_to_string(&control).expect("their file"), theirs);

    assert!(installation.make(&["install", "FORCE=1"]).status.success());
    assert_ne!(fs::read_to_string(&control).expect("our file"), theirs);
}
