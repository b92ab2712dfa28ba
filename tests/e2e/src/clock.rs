//! Clocks of servers that tests move, with libfaketime.

use std::fs;
use std::path::{Path, PathBuf};

/// The environment of a server whose clock is moved by the offset that stands in a file. The times
/// of files are not moved: while libfaketime 0.9.10 moves those, it holds a lock that it takes a
/// second time if the offset has changed, and the whole server waits for ever.
pub fn clock_of_file(file: &Path) -> [String; 6] {
    [
        format!("LD_PRELOAD={}", libfaketime().display()),
        format!("FAKETIME_TIMESTAMP_FILE={}", file.display()),
        "FAKETIME_NO_CACHE=1".into(),
        "FAKETIME_DONT_FAKE_MONOTONIC=1".into(),
        "FAKETIME_DISABLE_SHM=1".into(),
        "NO_FAKE_STAT=1".into(),
    ]
}

/// Moves the clock of the servers that look at the file.
pub fn set_clock_of_file(file: &Path, offset: &str) {
    let next = file.with_extension("next");
    fs::write(&next, offset).expect("a directory to write to");
    fs::rename(&next, file).expect("a directory to write to");
}

fn libfaketime() -> PathBuf {
    let directories = fs::read_dir("/usr/lib").expect("/usr/lib").flatten();
    let mut candidates = directories
        .map(|entry| entry.path().join("faketime/libfaketime.so.1"))
        .chain([PathBuf::from("/usr/lib/faketime/libfaketime.so.1")]);
    candidates.find(|path| path.exists()).expect("libfaketime is installed: tools/setup test")
}
