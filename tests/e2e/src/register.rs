//! The register's file, as a stopped server left it.

use std::fs;
use std::path::PathBuf;

use crate::cluster::Cluster;

/// Where the record begins in the page.
const HEADER: usize = 24;

/// The length of a record without a confirmed layout, and that of one of version 1.
const LENGTH: usize = 112;
const LENGTH_OF_VERSION_1: usize = 64;

/// The register of a cluster.
pub struct Register;

impl Register {
    /// The register's file, below a data directory.
    pub const FILE: &str = "global/4294965250";

    /// Where the register of a cluster is.
    pub fn path(cluster: &Cluster) -> PathBuf {
        cluster.data().join(Register::FILE)
    }

    /// Makes the record one that was written on another boot of the machine.
    pub fn set_another_boot(cluster: &Cluster) {
        change(cluster, LENGTH, |record| record[60] ^= 1);
    }

    /// Makes the record one of another database system.
    pub fn set_another_system(cluster: &Cluster) {
        change(cluster, LENGTH, |record| record[16] ^= 1);
    }

    /// Makes the record one of version 1, which only development versions wrote.
    pub fn set_version_1(cluster: &Cluster) {
        change(cluster, LENGTH_OF_VERSION_1, |record| {
            record[8] = 1;
            record[LENGTH_OF_VERSION_1 - 4..].fill(0);
        });
    }
}

/// Changes the record, which has this length then, and a right checksum.
fn change(cluster: &Cluster, length: usize, change: impl FnOnce(&mut [u8])) {
    let path = Register::path(cluster);
    let mut page = fs::read(&path).expect("the register");
    let record = &mut page[HEADER..];
    change(record);
    let checksum = crc32fast::hash(&record[..length - 4]);
    record[length - 4..length].copy_from_slice(&checksum.to_le_bytes());
    fs::write(path, page).expect("root, or the owner");
}
