//! How errors and log entries reach PostgreSQL.
//!
//! An error is a Rust panic until the stack is unwound. If PostgreSQL raised it, pgrx then hands it
//! back to PostgreSQL. If it is ours, pgrx reports it, in UTF-8. An error context callback, which
//! PostgreSQL calls when it finishes a report, puts the texts into the database's encoding.

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::server::encoding;
use crate::server::unguarded::{errdetail_internal, errhint, errmsg_internal};

/// Lets the log say something that can happen at every ID no more often than once a minute. Integers
/// only, so that it can be asked under the spinlock.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnceAMinute {
    /// By the boot clock, ms; `None` before the first.
    last: Option<i64>,
}

impl OnceAMinute {
    /// Nothing was said yet.
    pub const NEVER: OnceAMinute = OnceAMinute { last: None };

    /// Whether it may be said now, by the boot clock in milliseconds, which then counts as done.
    pub fn is_due(&mut self, now: i64) -> bool {
        let is_due = self.last.is_none_or(|last| now - last >= 60_000);
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

    /// Ends the statement with this error or, while the server starts, ends the server. The SQL
    /// functions call this. The functions below them return errors.
    #[cold]
    #[track_caller]
    fn raise(self) -> ! {
        raise(self.report())
    }
}

impl Report for ErrorReport {
    #[track_caller]
    fn report(self) -> ErrorReport {
        self
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

impl<T, E: Report> OrRaise for Result<T, E> {
    type Value = T;

    #[inline(always)]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => error.raise(),
        }
    }
}

/// A report to add a detail and a hint to.
#[track_caller]
pub fn new(sqlstate: PgSqlErrorCode, message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(sqlstate, message.into(), "snowflake")
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

fn raise(report: ErrorReport) -> ! {
    if let Some(texts) = in_server_encoding(&report) {
        push(texts);
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an error was raised");
}

/// Sends this to the client, and to the log if `log_min_messages` says so. No lock may be held,
/// because this blocks if the client does not read.
pub fn send(report: ErrorReport, level: PgLogLevel) {
    let texts = in_server_encoding(&report);
    // SAFETY: the variable is this process's. What is pushed is popped.
    unsafe {
        let before = pg_sys::error_context_stack;
        if let Some(texts) = texts {
            push(texts);
        }
        report.report(level);
        pg_sys::error_context_stack = before;
    }
}

/// Writes this to the server's log alone.
pub fn log(report: ErrorReport) {
    send(report, PgLogLevel::LOG_SERVER_ONLY);
}

/// Message, detail and hint; NULL where there is none.
type Texts = [*mut c_char; 3];

/// The texts of a report in the encoding of the database; `None` if they need no conversion.
fn in_server_encoding(report: &ErrorReport) -> Option<*mut Texts> {
    let texts = [Some(report.message()), report.detail(), report.hint()];
    let encoded = texts.map(|text| text.map(encoding::encode));
    let is_same = |(text, encoded): (&Option<&str>, &Option<CString>)| {
        text.map(str::as_bytes) == encoded.as_deref().map(CStr::to_bytes)
    };
    // SAFETY: reads variables of this process.
    let (database, memory) = unsafe { (pg_sys::MyDatabaseId, pg_sys::TopTransactionContext) };
    if database == pg_sys::InvalidOid || memory.is_null() || texts.iter().zip(&encoded).all(is_same)
    {
        return None;
    }
    let texts: Texts = encoded.map(|text| {
        // SAFETY: copies a string into memory of the transaction.
        text.map_or(ptr::null_mut(), |text| unsafe {
            pg_sys::MemoryContextStrdup(memory, text.as_ptr())
        })
    });
    // SAFETY: memory of the transaction, of the right size, for a value that owns nothing.
    unsafe {
        let copy = pg_sys::MemoryContextAlloc(memory, size_of_val(&texts));
        let copy = copy.cast::<Texts>();
        copy.write(texts);
        Some(copy)
    }
}

struct Completion(UnsafeCell<pg_sys::ErrorContextCallback>);

// SAFETY: a backend has one thread.
unsafe impl Sync for Completion {}

/// What completes the next report.
static COMPLETION: Completion = Completion(UnsafeCell::new(pg_sys::ErrorContextCallback {
    previous: ptr::null_mut(),
    callback: Some(complete),
    arg: ptr::null_mut(),
}));

/// Gives the next report these texts. The handler that catches the error puts the stack of
/// callbacks back.
fn push(texts: *mut Texts) {
    let completion = COMPLETION.0.get();
    // SAFETY: one thread; the callback is static, and is not put above itself.
    unsafe {
        (*completion).arg = texts.cast();
        if pg_sys::error_context_stack != completion {
            (*completion).previous = pg_sys::error_context_stack;
            pg_sys::error_context_stack = completion;
        }
    }
}

unsafe extern "C-unwind" fn complete(texts: *mut c_void) {
    const TEXT: &CStr = c"%s";
    // SAFETY: a report is being finished, and the texts live as long as the transaction.
    unsafe {
        let Some([message, detail, hint]) = texts.cast::<Texts>().as_ref() else { return };
        // Once: finishing a notice might raise an error of its own.
        (*COMPLETION.0.get()).arg = ptr::null_mut();
        errmsg_internal(TEXT.as_ptr(), *message);
        if !detail.is_null() {
            errdetail_internal(TEXT.as_ptr(), *detail);
        }
        if !hint.is_null() {
            errhint(TEXT.as_ptr(), *hint);
        }
    }
}
