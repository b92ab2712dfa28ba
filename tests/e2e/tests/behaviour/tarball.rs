//! The tarball of `make release`, whose `install.sh` looks whether the library fits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use snowflake_e2e::{Programs, output, put_first};

/// The tarball, unpacked below `tarball`, and a directory in place of the file system of a server.
struct Tarball {
    directory: tempfile::TempDir,
    unpacked: PathBuf,
}

impl Tarball {
    fn new() -> Tarball {
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        let packed = directory.path().join("packed");
        output(
            Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/tarball"))
                .arg(&packed)
                .env("PG_CONFIG", pg_config()),
        );
        let only_entry = |directory: &Path| {
            let mut entries = fs::read_dir(directory).expect("a directory");
            entries.next().expect("an entry").expect("its name").path()
        };
        let unpacked = directory.path().join("unpacked");
        fs::create_dir_all(&unpacked).expect("a directory");
        output(Command::new("tar").arg("-xzf").arg(only_entry(&packed)).arg("-C").arg(&unpacked));
        Tarball { unpacked: only_entry(&unpacked), directory }
    }

    /// Runs `install.sh`.
    fn install(&self, change: impl FnOnce(&mut Command)) -> Output {
        let mut command = Command::new(self.unpacked.join("install.sh"));
        command.env("PG_CONFIG", pg_config()).env("DESTDIR", self.destination());
        change(&mut command);
        command.output().expect("install.sh runs")
    }

    /// Runs it, with a program of this text found before all others.
    fn install_with(&self, name: &str, text: &str) -> Output {
        let programs = self.directory.path().join(name);
        self.install(|command| {
            put_first(command, &programs, &[(name, text)]);
            if name == "pg_config" {
                command.env_remove("PG_CONFIG");
            }
        })
    }

    fn destination(&self) -> PathBuf {
        self.directory.path().join("destination")
    }

    /// Where the server keeps its extensions, below the destination.
    fn extensions(&self) -> PathBuf {
        let sharedir = output(Command::new(pg_config()).arg("--sharedir"));
        self.destination().join(sharedir.trim().trim_start_matches('/')).join("extension")
    }
}

fn pg_config() -> PathBuf {
    Programs::from_env().bin().join("pg_config")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn what_does_not_fit_is_not_installed() {
    let tarball = Tarball::new();
    let refuses = |output: Output, reason: &str| {
        assert!(!output.status.success() && said(&output).contains(reason), "{output:?}");
        assert!(!tarball.destination().exists());
    };
    let other_major = tarball.install_with("pg_config", "echo PostgreSQL 14.19");
    refuses(other_major, "is of PostgreSQL 14.19: set PG_CONFIG");
    let old = tarball.install_with("getconf", "echo glibc 2.17");
    refuses(old, "and this system has 2.17");
    let none = tarball.install_with("getconf", "exit 1");
    refuses(none, "and this system has none");

    // The field of the header that names the processor.
    let path = tarball.unpacked.join("lib/snowflake_pg.so");
    let library = fs::read(&path).expect("the library");
    let mut of_another_processor = library.clone();
    of_another_processor[18] ^= 0xff;
    fs::write(&path, of_another_processor).expect("our own");
    refuses(tarball.install(|_| ()), "the library is for another processor than");
    fs::write(&path, library).expect("our own");
    assert!(tarball.install(|_| ()).status.success());
}

#[test]
fn the_tarball_is_installed_again_and_removed() {
    let tarball = Tarball::new();
    let first = said(&tarball.install(|_| ()));
    assert!(first.contains("/snowflake_pg.so\n"), "{first}");
    assert!(first.contains("shared_preload_libraries = 'snowflake_pg'"), "{first}");
    let again = said(&tarball.install(|_| ()));
    assert!(again.contains("ALTER EXTENSION snowflake UPDATE"), "{again}");
    // Scripts are those of former releases, or another project's, where FORCE=1 has overwritten its
    // control file.
    let former =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/upgrade/snowflake_pg--0.4.0.sql");
    fs::copy(former, tarball.extensions().join("snowflake--0.4.0.sql")).expect("a file");
    let theirs = tarball.extensions().join("snowflake--9.9.sql");
    let nextval =
        "CREATE FUNCTION snowflake.nextval() ... 'MODULE_PATHNAME', 'snowflake_nextval' ...";
    fs::write(&theirs, nextval).expect("a file");
    let removed = tarball.install(|command| _ = command.arg("uninstall"));
    assert!(removed.status.success(), "{removed:?}");
    let files = output(Command::new("find").arg(tarball.destination()).args(["-type", "f"]));
    assert_eq!(files.trim(), theirs.display().to_string());
}
