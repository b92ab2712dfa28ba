//! The file that has the keys of public IDs. Nothing of what it contains is ever logged.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use snowflake_core::outside::public::{KeyBytes, KeysError};

use crate::pg::data_directory;
use crate::settings;

/// The largest file, in bytes. Eight keys take 264, so this leaves room for comments.
const LARGEST: u64 = 64 * 1024;

/// Reasons for which a file cannot be used.
#[derive(Debug)]
pub enum FileError {
    /// It cannot be opened or read.
    Io(io::Error),
    /// It is a directory, a pipe or a device.
    Kind,
    /// Another user could exchange it.
    Owner,
    /// Others can read or write it.
    Access,
    /// It is too large to be a file of keys.
    Size,
    /// The content is not valid.
    Keys(KeysError),
}

impl fmt::Display for FileError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            FileError::Io(error) => {
                // The message of the system, without its number.
                let message = error.to_string();
                formatter.write_str(message.split(" (os error").next().unwrap_or_default())
            }
            FileError::Kind => formatter.write_str("it is not a regular file"),
            FileError::Owner => {
                formatter.write_str("it must be owned by the user who runs the server, or by root")
            }
            FileError::Access => formatter.write_str("it has group or world access"),
            FileError::Size => write!(formatter, "it is larger than {LARGEST} bytes"),
            FileError::Keys(error) => error.fmt(formatter),
        }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> FileError {
        FileError::Io(error)
    }
}

/// The file that is configured; `None` where there is none.
pub fn configured() -> Option<PathBuf> {
    let path = settings::PUBLIC_KEY_FILE.value.get()?.into_bytes();
    (!path.is_empty()).then(|| OsString::from_vec(path).into())
}

/// The keys of the file that is configured; none where there is no file.
pub fn read() -> Result<KeyBytes, (PathBuf, FileError)> {
    match configured() {
        None => Ok(KeyBytes::NONE),
        Some(path) => read_from(&path).map_err(|error| (path, error)),
    }
}

fn read_from(path: &Path) -> Result<KeyBytes, FileError> {
    // A file that is not a regular one, such as a pipe, must not keep the server waiting.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileError::Kind);
    }
    // The rules of ssl_key_file. Root might let a group read the file, in which the server's user
    // is.
    // SAFETY: asks for a number of this process.
    let server = unsafe { libc::geteuid() };
    let forbidden = match metadata.uid() {
        owner if owner == server => libc::S_IRWXG | libc::S_IRWXO,
        0 => libc::S_IWGRP | libc::S_IXGRP | libc::S_IRWXO,
        _ => return Err(FileError::Owner),
    };
    if metadata.mode() & forbidden != 0 {
        return Err(FileError::Access);
    }
    let mut content = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST {
        return Err(FileError::Size);
    }
    KeyBytes::read(&content).map_err(FileError::Keys)
}

/// Returns whether the file is in the data directory, so that each base backup and standby has a
/// copy.
pub fn is_in_data_directory() -> bool {
    let Some(path) = configured() else { return false };
    let data = data_directory();
    // A path that is not absolute begins in the data directory.
    let path = data.join(path);
    match (fs::canonicalize(&path), fs::canonicalize(&data)) {
        (Ok(path), Ok(data)) => path.starts_with(data),
        // Nobody can say where a link leads that cannot be followed.
        _ => path.starts_with(data),
    }
}
