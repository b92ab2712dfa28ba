//! Errors and log entries, and their way to PostgreSQL.
//!
//! PostgreSQL copies the texts of a report into memory that it has set aside for this. An error is
//! then a Rust panic until the stack is unwound, as each error of PostgreSQL is, and pgrx hands it
//! back. pgrx has reports of its own, and copies their texts when nothing catches an error any
//! more: where memory was short, it would end the server.

use std::ffi::{CStr, CString, c_int};
use std::panic::Location;
use std::ptr;

use pgrx::pg_sys::submodules::ffi::pg_guard_ffi_boundary;
use pgrx::prelude::*;
use snowflake_core::time::Span;

use crate::pg::encoding::encode;
use crate::pg::unguarded::{
    errcode, errdetail_internal, errfinish, errhint, errmsg_internal, errstart,
};

/// Lets the log say something that can happen at every ID no more often than once a minute.
/// Integers only, so that it can be asked under the spinlock.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnceAMinute {
    /// By the boot clock; `None` before the first.
    last: Option<Span>,
}

impl OnceAMinute {
    /// Nothing was said yet.
    pub const NEVER: OnceAMinute = OnceAMinute { last: None };

    /// Returns whether it may be said now, by the boot clock, which then counts as done.
    pub fn is_due(&mut self, now: Span) -> bool {
        let is_due = self.last.is_none_or(|last| now - last >= Span::MINUTE);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}

/// An error of this extension, as a user sees it.
pub trait Report: Sized {
    /// SQLSTATE, message, detail and hint.
    #[track_caller]
    fn report(self) -> ErrorReport;

    /// As [`ErrorReport::raise`].
    #[cold]
    #[track_caller]
    fn raise(self) -> ! {
        self.report().raise()
    }
}

/// A report of this extension.
#[derive(Clone, Debug)]
pub struct ErrorReport {
    sqlstate: PgSqlErrorCode,
    /// The primary message.
    pub message: String,
    /// The detail.
    pub detail: Option<String>,
    /// The hint.
    pub hint: Option<String>,
    place: &'static Location<'static>,
}

impl ErrorReport {
    /// Ends the statement with this error or, while the server starts, ends the server. The SQL
    /// functions call this. The functions below them return errors.
    #[cold]
    pub fn raise(self) -> ! {
        send(self, PgLogLevel::ERROR);
        unreachable!("an error was raised");
    }

    /// The same with this detail.
    pub fn set_detail(mut self, detail: impl Into<String>) -> ErrorReport {
        self.detail = Some(detail.into());
        self
    }

    /// The same with this hint.
    pub fn set_hint(mut self, hint: impl Into<String>) -> ErrorReport {
        self.hint = Some(hint.into());
        self
    }
}

impl<E: Report> From<E> for ErrorReport {
    #[track_caller]
    fn from(error: E) -> ErrorReport {
        error.report()
    }
}

/// Lets `?` turn other errors into variants of `Error`.
macro_rules! wraps {
    ($($variant:ident($error:ty)),+) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::$variant(error)
            }
        })+
    };
}
pub(crate) use wraps;

/// Takes the value out of a result, or raises its error.
pub trait OrRaise {
    /// The type of the value.
    type Value;

    /// The value of the result. An error ends the statement.
    #[track_caller]
    fn or_raise(self) -> Self::Value;
}

impl<T, E: Into<ErrorReport>> OrRaise for Result<T, E> {
    type Value = T;

    #[inline(always)]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => error.into().raise(),
        }
    }
}

/// A report to add a detail and a hint to.
#[track_caller]
pub fn new(sqlstate: PgSqlErrorCode, message: impl Into<String>) -> ErrorReport {
    let (message, place) = (message.into(), Location::caller());
    ErrorReport { sqlstate, message, detail: None, hint: None, place }
}

/// 55000: something has to be done, or to be over, before this can be.
#[track_caller]
pub fn not_ready(message: impl Into<String>) -> ErrorReport {
    new(PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// 22023: a value that is not valid.
#[track_caller]
pub fn invalid(message: impl Into<String>) -> ErrorReport {
    new(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
}

/// A report for the log, or for a client that did nothing wrong.
#[track_caller]
pub fn message(message: impl Into<String>) -> ErrorReport {
    new(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message)
}

/// A warning to add a detail and a hint to.
#[track_caller]
pub fn warning(message: impl Into<String>) -> ErrorReport {
    new(PgSqlErrorCode::ERRCODE_WARNING, message)
}

/// The message and the detail of an error as sentences.
pub fn sentences(message: &str, detail: Option<&str>) -> String {
    let mut sentences = format!("{message}.");
    // A sentence keeps the name of a setting or of the library as it is, also at its beginning.
    let is_name = message.split(' ').next().is_some_and(|word| word.contains(['.', '_']));
    if let Some(first) = sentences.get_mut(..1).filter(|_| !is_name) {
        first.make_ascii_uppercase();
    }
    if let Some(detail) = detail {
        sentences = format!("{sentences} {detail}");
    }
    sentences
}

/// Sends this to the client, and to the log if `log_min_messages` says so; an error is raised. No
/// lock may be held, because this blocks if the client does not read.
pub fn send(report: ErrorReport, level: PgLogLevel) {
    const TEXT: &CStr = c"%s";
    let ErrorReport { sqlstate, message, detail, hint, place } = report;
    // SAFETY: reads variables of this process. The catalog, without which there are no conversions,
    // is read in transactions.
    let can_encode = unsafe {
        pg_sys::MyDatabaseId != pg_sys::InvalidOid && !pg_sys::TopTransactionContext.is_null()
    };
    let encoded = |text: String| match can_encode {
        true => encode(&text),
        false => CString::new(text).unwrap_or_default(),
    };
    let texts = [Some(message), detail, hint].map(|text| text.map(encoded));
    let [message, detail, hint] =
        [0, 1, 2].map(|at| texts[at].as_deref().map_or(ptr::null(), CStr::as_ptr));
    // SAFETY: as the macro ereport() does. The texts live through the call, and the closure has
    // nothing to drop. No interrupt ends a message to the client, after which the caller has more
    // to do.
    unsafe {
        pg_guard_ffi_boundary(|| {
            if !errstart(level as c_int, ptr::null()) {
                return;
            }
            errcode(sqlstate as c_int);
            errmsg_internal(TEXT.as_ptr(), message);
            if !detail.is_null() {
                errdetail_internal(TEXT.as_ptr(), detail);
            }
            if !hint.is_null() {
                errhint(TEXT.as_ptr(), hint);
            }
            pg_sys::InterruptHoldoffCount += 1;
            errfinish(place.file_as_c_str().as_ptr(), place.line() as c_int, c"snowflake".as_ptr());
            pg_sys::InterruptHoldoffCount -= 1;
        });
    }
}

/// Writes this to the server's log alone.
pub fn log(report: ErrorReport) {
    send(report, PgLogLevel::LOG_SERVER_ONLY);
}
