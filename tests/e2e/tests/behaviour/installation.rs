//! `make install` and `make uninstall`, into a directory of their own.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use snowflake_e2e::{Means, Programs, at_once, lacks, output, put_first, without_network};

const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

struct Installation {
    destination: tempfile::TempDir,
    pg_config: PathBuf,
}

impl Installation {
    fn new() -> Installation {
        let destination = tempfile::tempdir().expect("a directory for temporary files");
        Installation { destination, pg_config: Programs::from_env().bin().join("pg_config") }
    }

    /// `make`, for a directory below the destination.
    fn make(&self, below: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("make");
        command
            .args(["-C", TREE])
            .args(arguments)
            .arg(format!("PG_CONFIG={}", self.pg_config.display()))
            .arg(format!("DESTDIR={}", self.destination.path().join(below).display()));
        command
    }

    /// Where the server keeps what it answers for this option, below the destination.
    fn directory(&self, option: &str) -> PathBuf {
        let path = output(Command::new(&self.pg_config).arg(option));
        self.destination.path().join(path.trim().trim_start_matches('/'))
    }

    /// The names of all installed files.
    fn files(&self) -> Vec<String> {
        let directories = [
            self.directory("--sharedir").join("extension"),
            self.directory("--pkglibdir"),
            self.directory("--bindir"),
        ];
        let entries =
            directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten();
        let mut files: Vec<String> = entries
            .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        files
    }
}

#[test]
fn what_is_installed_can_be_uninstalled() {
    let installation = Installation::new();
    let said = output(&mut installation.make("", &["install"]));
    let (scripts, others): (Vec<_>, Vec<_>) =
        installation.files().into_iter().partition(|file| file.ends_with(".sql"));
    assert!(scripts.iter().all(|file| file.starts_with("snowflake--")), "{scripts:?}");
    assert_eq!(others, ["snowflake.control", "snowflake_pg.so"]);
    for line in [
        "shared_preload_libraries = 'snowflake_pg'",
        "snowflake.datacenter_id = 1",
        "snowflake.worker_id = 1",
        "include '/etc/snowflake/identity.conf'",
    ] {
        assert!(said.lines().any(|other| other.trim() == line), "{said}");
    }
    // Again, over itself.
    let installed = installation.files();
    output(&mut installation.make("", &["install"]));
    assert_eq!(installation.files(), installed);

    output(&mut installation.make("", &["uninstall"]));
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

    let refused = installation.make("", &["install"]).output().expect("make runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("belongs to another project: 'theirs'"), "{said}");
    assert_eq!(installation.files(), ["snowflake.control"]);
    output(&mut installation.make("", &["uninstall"]));
    assert_eq!(fs::read_to_string(&control).expect("their file"), theirs);

    output(&mut installation.make("", &["install", "FORCE=1"]));
    assert_ne!(fs::read_to_string(&control).expect("our file"), theirs);
}

/// An ordinary user may build a package: nothing in it belongs to root.
#[test]
fn sudo_is_not_used_where_the_user_may_write() {
    let installation = Installation::new();
    let destination = installation.destination.path();
    let used = destination.join("sudo-was-used");
    let mut install = installation.make("new/deep", &["install"]);
    put_first(
        &mut install,
        &destination.join("programs"),
        &[
            ("id", "[ \"$1\" = -u ] && echo 1000 || exec /usr/bin/id \"$@\""),
            ("sudo", &format!("touch {}; exec \"$@\"", used.display())),
        ],
    );
    let said = output(&mut install);
    assert!(!used.exists(), "{said}");
}

/// Missing packages have the names of other distributions.
#[test]
fn a_system_without_apt_is_told_what_to_install() {
    let programs = tempfile::tempdir().expect("a directory for temporary files");
    for directory in env::split_paths(&env::var_os("PATH").expect("a path")) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !["apt-get", "ip", "perl"].contains(&&*name.to_string_lossy()) {
                // The first one of a name counts.
                let _ = symlink(entry.path(), programs.path().join(name));
            }
        }
    }
    let mut setup = Command::new(Path::new(TREE).join("tools/setup"));
    let output = setup.arg("test").env("PATH", programs.path()).output();
    let output = output.expect("bash is there");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let rows: Vec<Vec<&str>> =
        said.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows[..3],
        [
            vec!["Debian", "Fedora", "Arch"],
            vec!["perl", "perl", "perl"],
            vec!["iproute2", "iproute", "iproute2"],
        ]
    );
}

/// Once everything is there, an installation fetches nothing.
#[test]
fn the_network_is_not_needed() {
    if lacks(&[Means::OwnNetwork]) {
        return;
    }
    let installation = Installation::new();
    let installing = installation.make("offline", &["install"]);
    output(without_network().arg(installing.get_program()).args(installing.get_args()));
}

#[test]
fn two_installations_at_once_do_not_disturb_each_other() {
    let installation = Installation::new();
    at_once(2, |number| output(&mut installation.make(["one", "two"][number], &["install"])));
    let library = |below: &str| {
        let path = installation.directory("--pkglibdir").join("snowflake_pg.so");
        let path = path.strip_prefix(installation.destination.path()).expect("below it");
        fs::read(installation.destination.path().join(below).join(path)).expect("a library")
    };
    assert!(library("one") == library("two"));
}

/// A missing tool is reported in one line before the build begins.
#[test]
fn a_rust_that_does_not_suffice_is_reported_at_once() {
    for (name, text, said) in [
        (
            "rustfmt",
            "exit 1",
            "error: rustfmt is missing, which pgrx needs: run rustup component add rustfmt\n",
        ),
        (
            "rustc",
            "echo 'rustc 1.63.0 (4b91a6ea7 2022-08-08)'",
            "error: Rust 1.95 or later is needed, and this is 1.63.0: run rustup update, or \
             install Rust from https://rustup.rs\n",
        ),
    ] {
        let installation = Installation::new();
        let mut install = installation.make("none", &["install"]);
        let programs =
            [(name, text), ("rustup", "exit 1"), ("cargo", "echo cargo was run; exit 1")];
        put_first(&mut install, &installation.destination.path().join("programs"), &programs);
        let output = install.output().expect("make runs");
        assert!(!output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr);
        // make adds a line of its own.
        assert!(stderr.starts_with(said), "{stderr}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("cargo was run"), "{output:?}");
    }
}
