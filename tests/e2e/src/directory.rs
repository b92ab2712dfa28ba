//! Directories that servers write to.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;

use tempfile::TempDir;

use crate::programs::Programs;

/// A temporary directory that belongs to the user that servers run as, and that no other user but
/// root can enter.
pub fn new_directory() -> TempDir {
    let directory = tempfile::Builder::new()
        .prefix("snowflake-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .expect("a directory for temporary files");
    give_to_server_user(directory.path());
    directory
}

/// Creates such a directory at this path.
pub fn create_directory(directory: &Path) {
    DirBuilder::new().mode(0o700).create(directory).expect("a directory to write to");
    give_to_server_user(directory);
}

/// Gives a file or a directory to the user that servers run as.
pub fn give_to_server_user(path: &Path) {
    let owner = fs::metadata(Programs::from_env().template()).expect("the template");
    chown(path, Some(owner.uid()), Some(owner.gid())).expect("root, or the same user");
}
