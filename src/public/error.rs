//! Errors of public IDs.

use std::io::ErrorKind;
use std::path::Path;

use crate::pg::report::{self, ErrorReport};
use pgrx::prelude::*;
use snowflake_core::outside::public::PrefixError;

use super::file::FileError;

/// The prefix is NULL.
pub fn null_prefix() -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        "the prefix of a public ID must not be NULL",
    )
    .set_hint("For names without a prefix, use the empty string.")
}

/// The prefix is not valid.
pub fn wrong_prefix(error: PrefixError) -> ErrorReport {
    report::invalid("invalid prefix for a public ID")
        .set_detail(format!("The value is not valid: {error}."))
        .set_hint("A prefix has at most 63 characters, which are a to z, and underscores inside.")
}

/// There is no key.
pub fn no_keys() -> ErrorReport {
    report::not_ready("this server has no key for public IDs").set_hint(
        "Write a key, as openssl rand -hex 16 prints one, into a file outside the data directory \
         that only the user who runs the server can read, name the file in \
         snowflake.public_key_file, and restart the server. If the setting names it already, a \
         reload is enough.",
    )
}

/// The file of the keys cannot be used.
pub fn unusable(path: &Path, error: &FileError) -> ErrorReport {
    let report = report::new(
        PgSqlErrorCode::ERRCODE_CONFIG_FILE_ERROR,
        format!("cannot use the keys of public IDs in \"{}\": {error}", path.display()),
    );
    match error {
        FileError::Io(error) if error.kind() == ErrorKind::NotFound => {
            report.set_hint("Check snowflake.public_key_file.")
        }
        FileError::Io(error) if error.kind() != ErrorKind::PermissionDenied => report,
        FileError::Io(_) | FileError::Access | FileError::Owner => report.set_hint(
            "The user who runs the server must be able to read the file. It must have permissions \
             u=rw (0600) or less if it is owned by this user, or u=rw,g=r (0640) or less if it is \
             owned by root.",
        ),
        FileError::Kind | FileError::Size => report,
        FileError::Keys(_) => report.set_hint(
            "Each line is a key of 32 hexadecimal digits, as openssl rand -hex 16 prints one. \
             Comments begin with \"#\".",
        ),
    }
}
