//! Power losses: what was written and not synced is gone, with the clock set back.
//!
//! A library in the server keeps what a power loss would leave of `global`, where the register and
//! the control file are, and of `pg_wal`. Everything that IDs depend on is there. What the others
//! hold, PostgreSQL recovers from the WAL, and kill -9 shows that.
//!
//! The rule is stricter than that of the file systems of Linux: a file that was created and synced
//! is gone, too, unless its directory was synced.

use std::fs;
use std::os::unix::fs::DirEntryExt;
use std::path::PathBuf;

use snowflake_e2e::{Cluster, Journal, Register, create_directory, give_to_server_user};

use super::{Disk, INSERT, NEXT, assert_rows, create_orders};

/// The directories that lose what was not synced.
const DIRECTORIES: [&str; 2] = ["global", "pg_wal"];

/// A cluster that can lose its power.
struct Machine {
    cluster: Cluster,
    _disk: Disk,
}

impl Machine {
    fn start() -> Machine {
        let disk = Disk::new();
        let cluster = disk
            .builder()
            .fake_clock()
            .set("wal_sync_method", "fdatasync")
            // Only what has to be durable is flushed.
            .set("wal_writer_delay", "10s")
            .create();
        let mut machine = Machine { cluster, _disk: disk };
        machine.keep_everything();
        machine.cluster.start_again();
        machine.cluster.run("CREATE EXTENSION snowflake");
        machine
    }

    fn durable(&self) -> PathBuf {
        self.cluster.directory().join("durable")
    }

    /// Takes what is in the files of a server that does not run for durable.
    fn keep_everything(&self) {
        let durable = self.durable();
        create_directory(&durable);
        for name in DIRECTORIES {
            let mut entries = String::new();
            for entry in fs::read_dir(self.cluster.data().join(name)).expect("files").flatten() {
                if entry.file_type().expect("a type").is_file() {
                    let (inode, file) = (entry.ino(), entry.file_name());
                    fs::copy(entry.path(), durable.join(inode.to_string())).expect("a copy");
                    entries += &format!("{inode} {}\n", file.to_str().expect("UTF-8"));
                }
            }
            fs::write(durable.join(name), entries).expect("a list");
        }
    }

    /// Kills the server, puts back what was durable, and sets the clock that the next start finds.
    fn lose_power(&mut self, clock: &str) {
        self.cluster.kill();
        let (data, durable) = (self.cluster.data(), self.durable());
        for name in DIRECTORIES {
            let directory = data.join(name);
            for entry in fs::read_dir(&directory).expect("files").flatten() {
                if entry.file_type().expect("a type").is_file() {
                    fs::remove_file(entry.path()).expect("root, or the owner");
                }
            }
            for entry in fs::read_to_string(durable.join(name)).expect("a list").lines() {
                let (inode, file) = entry.split_once(' ').expect("an inode and a name");
                let (kept, file) = (durable.join(inode), directory.join(file));
                if kept.exists() {
                    fs::copy(kept, &file).expect("a copy");
                } else {
                    fs::write(&file, "").expect("a file whose content was never synced");
                }
                give_to_server_user(&file);
            }
        }
        fs::remove_dir_all(&durable).expect("ours");
        self.keep_everything();
        self.cluster.set_clock(clock);
        self.cluster.start_again();
    }

    fn take(&self, journal: &Journal) {
        journal.take(&mut self.cluster.connect(), NEXT).expect("an ID");
    }

    /// Lets recovery begin after all that was written so far.
    fn checkpoint(&self) {
        self.cluster.run("CHECKPOINT");
    }
}

#[test]
fn nothing_that_was_issued_comes_again() {
    const CYCLES: usize = 10;
    let mut machine = Machine::start();
    let (journal, inserted) = (Journal::new(), Journal::new());
    // The register is new, and the reservation of the second ID is, too.
    machine.take(&journal);
    machine.lose_power("-1h");
    machine.take(&journal);
    machine.checkpoint();
    machine.lose_power("-2h");
    machine.take(&journal);
    create_orders(&machine.cluster);
    let config = machine.cluster.config();
    inserted.under_load(&config, 2, INSERT, || {
        journal.under_load(&config, 2, NEXT, || {
            for cycle in 0..CYCLES {
                journal.wait_for(100);
                inserted.wait_for(10);
                if cycle % 2 == 0 {
                    machine.checkpoint();
                }
                machine.lose_power(if cycle % 2 == 0 { "-3h" } else { "+0" });
            }
            journal.wait_for(100);
        });
    });
    assert_rows(&machine.cluster, &inserted);
    println!("{} power losses, {} IDs", CYCLES + 2, journal.check() + inserted.check());
}

/// No reservation writes the page that creates the register here.
#[test]
fn a_floor_that_creates_the_register_is_durable() {
    let mut machine = Machine::start();
    let floor = "SELECT snowflake_max(snowflake_set_floor(clock_timestamp() + interval '10 s'))";
    let floor = machine.cluster.bigint(floor);
    machine.checkpoint();
    machine.lose_power("-1h");
    let next = machine.cluster.bigint(NEXT);
    assert!(next > floor, "{next} is not above {floor}");
}

/// As on a standby, and where a session is killed while it creates the register: the WAL has the
/// page, and recovery creates the file.
#[test]
fn a_register_that_recovery_created_is_durable() {
    let mut machine = Machine::start();
    let journal = Journal::new();
    machine.take(&journal);
    machine.cluster.kill();
    fs::remove_file(Register::path(&machine.cluster)).expect("the register");
    machine.cluster.start_again();
    machine.take(&journal);
    machine.checkpoint();
    machine.lose_power("-1h");
    machine.take(&journal);
    journal.check();
}
