//! The register's file, as a stopped server left it.

use std::fs;
use std::path::PathBuf;

use crate::cluster::Cluster;

/// Where the record begins in the page.
const HEADER: usize = 24;

/// How long a record is that has no confirmed layout, and how long one of version 1 was.
const LENGTH: usize = 112;
const LENGTH_OF_VERSION_1: usize = 64;

/// The register of a cluster, read into memory.
pub struct Register {
    path: PathBuf,
    page: Vec<u8>,
}

impl Register {
    /// The register's file, below a data directory.
    pub const FILE: &str = "global/4294965250";

    /// Where the register of a cluster is.
    pub fn path(cluster: &Cluster) -> PathBuf {
        cluster.data().join(Register::FILE)
    }

    /// Reads the register of a cluster.
    pub fn of(cluster: &Cluster) -> Register {
        let path = Register::path(cluster);
        Register { page: fs::read(&path).expect("the register"), path }
    }

    /// Makes the record one that was written on another boot of the machine.
    pub fn written_on_another_boot(mut self) -> Register {
        self.page[HEADER + 60] ^= 1;
        self.seal(LENGTH);
        self
    }

    /// Makes the record one of another database system.
    pub fn of_another_system(mut self) -> Register {
        self.page[HEADER + 16] ^= 1;
        self.seal(LENGTH);
        self
    }

    /// Makes the record one of version 1, which only development versions wrote.
    pub fn of_version_1(mut self) -> Register {
        self.page[HEADER + 8] = 1;
        self.page[HEADER + LENGTH_OF_VERSION_1 - 4..].fill(0);
        self.seal(LENGTH_OF_VERSION_1);
        self
    }

    /// Writes it back.
    pub fn write(&self) {
        fs::write(&self.path, &self.page).expect("root, or the owner");
    }

    fn seal(&mut self, length: usize) {
        let record = &mut self.page[HEADER..HEADER + length];
        let checksum = crc32fast::hash(&record[..length - 4]);
        record[length - 4..].copy_from_slice(&checksum.to_le_bytes());
    }
}
