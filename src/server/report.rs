//! How errors and log entries reach PostgreSQL.
//!
//! An error is a Rust panic until the stack is unwound. Then pgrx reports it, in UTF-8. If
//! PostgreSQL raised the error, pgrx keeps only its message, detail and hint. An error context
//! callback, which PostgreSQL calls when it finishes a report, puts back what is missing.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;

use super::encoding;

/// At most one entry of the log in this time about something that can happen at every ID, ms.
pub const BETWEEN_ENTRIES: i64 = 60_000;

/// Called while the library is loaded. If `RUST_BACKTRACE` is set, pgrx shows a backtrace as the
/// detail of an error. An ordinary error is not a bug, and needs no backtrace.
pub fn init() {
    let note_the_place = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str().is_some() {
            note_the_place(panic);
        }
    }));
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

/// Calls PostgreSQL. An error that PostgreSQL raises reaches the user unchanged: with its context
/// and its object names, and in the database's encoding. `call` must not raise an error of this
/// extension.
pub fn keeping_errors<T>(call: impl FnOnce() -> T) -> T {
    /// What PostgreSQL reported last, while the call went on.
    struct Kept {
        callback: UnsafeCell<pg_sys::ErrorContextCallback>,
        error: Cell<*mut pg_sys::ErrorData>,
    }

    #[pg_guard]
    unsafe extern "C-unwind" fn keep(kept: *mut c_void) {
        // SAFETY: points to a `Kept` that lives. A report is being finished, so there is one to
        // copy.
        unsafe {
            let before = pg_sys::MemoryContextSwitchTo(pg_sys::TopTransactionContext);
            let error = pg_sys::CopyErrorData();
            pg_sys::MemoryContextSwitchTo(before);
            if (*error).elevel >= PgLogLevel::ERROR as c_int {
                (*kept.cast::<Kept>()).error.set(error);
            } else {
                pg_sys::FreeErrorData(error);
            }
        }
    }

    let kept = Kept { callback: UnsafeCell::default(), error: Cell::new(ptr::null_mut()) };
    // SAFETY: `kept` stays where it is until it is dropped, and then it is off the stack.
    unsafe {
        *kept.callback.get() = pg_sys::ErrorContextCallback {
            previous: pg_sys::error_context_stack,
            callback: Some(keep),
            arg: (&raw const kept).cast_mut().cast(),
        };
        pg_sys::error_context_stack = kept.callback.get();
    }
    let outcome = catch_unwind(AssertUnwindSafe(call));
    // SAFETY: this is on top of the stack again, whether the call returned or raised.
    unsafe { pg_sys::error_context_stack = (*kept.callback.get()).previous };
    outcome.unwrap_or_else(|panic| {
        if is_of(&*panic, kept.error.get()) {
            push(kept.error.get());
        }
        resume_unwind(panic)
    })
}

/// Whether the panic carries the error that was kept. If a handler caught an error and raised it
/// again, that error was not reported a second time, and another one may have been kept in between.
fn is_of(panic: &(dyn Any + Send), kept: *mut pg_sys::ErrorData) -> bool {
    // SAFETY: NULL, or a copy that lives as long as the transaction.
    let (Some(CaughtError::PostgresError(raised)), Some(kept)) =
        (panic.downcast_ref(), unsafe { kept.as_ref() })
    else {
        return false;
    };
    // SAFETY: an error has a message.
    let message = unsafe { CStr::from_ptr(kept.message) }.to_string_lossy();
    raised.message() == message && raised.sql_error_code() == PgSqlErrorCode::from(kept.sqlerrcode)
}

/// The texts of a report in the encoding of the database; `None` if they need no conversion.
fn in_server_encoding(report: &ErrorReport) -> Option<*mut pg_sys::ErrorData> {
    let texts = [Some(report.message()), report.detail(), report.hint()];
    // SAFETY: reads variables of this process.
    let (database, encoding) = unsafe { (pg_sys::MyDatabaseId, pg_sys::GetDatabaseEncoding()) };
    if database == pg_sys::InvalidOid
        || encoding == pg_sys::pg_enc::PG_UTF8 as c_int
        || texts.iter().flatten().all(|text| text.is_ascii())
    {
        return None;
    }
    let [message, detail, hint] = texts.map(|text| {
        // SAFETY: copies a string into memory of the transaction.
        text.map_or(ptr::null_mut(), |text| unsafe {
            pg_sys::MemoryContextStrdup(
                pg_sys::TopTransactionContext,
                encoding::encode(text).as_ptr(),
            )
        })
    });
    let data = pg_sys::ErrorData { message, detail, hint, ..Default::default() };
    // SAFETY: memory of the transaction, of the right size, for a value that owns nothing.
    unsafe {
        let copy = pg_sys::MemoryContextAlloc(pg_sys::TopTransactionContext, size_of_val(&data));
        let copy = copy.cast::<pg_sys::ErrorData>();
        copy.write(data);
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

/// Completes the next report from `error`. The handler that catches the error puts the stack of
/// callbacks back.
fn push(error: *mut pg_sys::ErrorData) {
    let completion = COMPLETION.0.get();
    // SAFETY: one thread; the callback is static, and is not put above itself.
    unsafe {
        (*completion).arg = error.cast();
        if pg_sys::error_context_stack != completion {
            (*completion).previous = pg_sys::error_context_stack;
            pg_sys::error_context_stack = completion;
        }
    }
}

unsafe extern "C-unwind" {
    // pgrx does not bind these. They change the report that is being finished, and return nothing
    // of use.
    fn errcode(sqlstate: c_int) -> c_int;
    fn errmsg_internal(format: *const c_char, ...) -> c_int;
    fn errdetail_internal(format: *const c_char, ...) -> c_int;
    fn errhint(format: *const c_char, ...) -> c_int;
    fn errcontext_msg(format: *const c_char, ...) -> c_int;
}

type Name = fn(&pg_sys::ErrorData) -> *mut c_char;

/// The fields of a report that name objects.
const OBJECTS: [(u8, Name); 5] = [
    (b's', |error| error.schema_name),
    (b't', |error| error.table_name),
    (b'c', |error| error.column_name),
    (b'd', |error| error.datatype_name),
    (b'n', |error| error.constraint_name),
];

unsafe extern "C-unwind" fn complete(error: *mut c_void) {
    const TEXT: &CStr = c"%s";
    // SAFETY: a report is being finished, and the strings of the error live as long as the
    // transaction.
    unsafe {
        let Some(error) = error.cast::<pg_sys::ErrorData>().as_ref() else { return };
        // Once: finishing a notice may raise an error of its own.
        (*COMPLETION.0.get()).arg = ptr::null_mut();
        // pgrx does not know SQLSTATEs that users make up.
        if error.sqlerrcode != 0 {
            errcode(error.sqlerrcode);
        }
        if !error.message.is_null() {
            errmsg_internal(TEXT.as_ptr(), error.message);
        }
        if !error.detail.is_null() {
            errdetail_internal(TEXT.as_ptr(), error.detail);
        }
        if !error.hint.is_null() {
            errhint(TEXT.as_ptr(), error.hint);
        }
        if !error.context.is_null() {
            errcontext_msg(TEXT.as_ptr(), error.context);
        }
        for (field, name) in OBJECTS {
            if !name(error).is_null() {
                pg_sys::err_generic_string(field.into(), name(error));
            }
        }
        if !error.internalquery.is_null() {
            pg_sys::internalerrquery(error.internalquery);
            pg_sys::internalerrposition(error.internalpos);
        }
    }
}
