//! Errors of public IDs.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::pg::report::{self, ErrorReport, Report};
use pgrx::prelude::*;
use snowflake_core::outside::public::PrefixError;

use super::file::FileError;

/// Errors of public IDs.
#[derive(Debug)]
pub enum Error {
    /// The prefix is NULL.
    NullPrefix,
    /// The prefix is not valid.
    Prefix(PrefixError),
    /// There is no key.
    NoKeys,
    /// The file of the keys cannot be used.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        error: FileError,
    },
}

const MAKE_A_KEY: &str = "Write a key, as openssl rand -hex 16 prints one, into a file outside the \
                          data directory that only the user who runs the server can read, name the \
                          file in snowflake.public_key_file, and restart the server. If the \
                          setting names it already, a reload is enough.";

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        match self {
            Error::NullPrefix => report::new(
                ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "the prefix of a public ID must not be NULL",
            )
            .set_hint("For names without a prefix, use the empty string."),
            Error::Prefix(error) => report::invalid("invalid prefix for a public ID")
                .set_detail(format!("The value is not valid: {error}."))
                .set_hint(
                    "A prefix has at most 63 characters, which are a to z, and underscores inside.",
                ),
            Error::NoKeys => {
                report::not_ready("this server has no key for public IDs").set_hint(MAKE_A_KEY)
            }
            Error::File { path, error } => {
                let report = report::new(
                    ERRCODE_CONFIG_FILE_ERROR,
                    format!("cannot use the keys of public IDs in \"{}\": {error}", path.display()),
                );
                match hint(&error) {
                    Some(hint) => report.set_hint(hint),
                    None => report,
                }
            }
        }
    }
}

fn hint(error: &FileError) -> Option<&'static str> {
    match error {
        FileError::Io(error) if error.kind() == ErrorKind::NotFound => {
            Some("Check snowflake.public_key_file.")
        }
        FileError::Io(error) if error.kind() != ErrorKind::PermissionDenied => None,
        FileError::Io(_) | FileError::Access | FileError::Owner => Some(
            "The user who runs the server must be able to read the file. It must have permissions \
             u=rw (0600) or less if it is owned by this user, or u=rw,g=r (0640) or less if it is \
             owned by root.",
        ),
        FileError::Kind | FileError::Size => None,
        FileError::Keys(_) => Some(
            "Each line is a key of 32 hexadecimal digits, as openssl rand -hex 16 prints one. \
             Comments begin with \"#\".",
        ),
    }
}

impl Error {
    /// Writes it to the log, and what comes of it.
    pub fn log(self, consequence: &str) {
        report::log(self.report().set_detail(consequence));
    }
}
