//! Subtransactions of which nothing stays.

use std::ffi::CStr;
use std::panic::AssertUnwindSafe;

use pgrx::PgTryBuilder;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

use super::encoding::decode;

/// Acts in a subtransaction of which nothing stays, not even locks. After an error, once everything
/// is put back, `handle` gives the result, or raises the error again.
pub fn rolled_back<T>(act: impl FnOnce() -> T, handle: impl Fn(CaughtError) -> T) -> T {
    // SAFETY: what the subtransaction replaces is put back after it, as PL/pgSQL does for a block.
    unsafe {
        let (memory, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let callbacks = pg_sys::error_context_stack;
        let roll_back = || {
            pg_sys::error_context_stack = callbacks;
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
            pg_sys::MemoryContextSwitchTo(memory);
            pg_sys::CurrentResourceOwner = owner;
        };
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(memory);
        let handle = AssertUnwindSafe(handle);
        let (result, is_open) = PgTryBuilder::new(AssertUnwindSafe(|| (act(), true)))
            .catch_others(|error| {
                let handle = &handle;
                roll_back();
                (handle(error), false)
            })
            .execute();
        if is_open {
            roll_back();
        }
        result
    }
}

/// As [`rolled_back`], but hands the message of an error to `handle`. Only a cancellation of the
/// query is raised again, because it has to end the whole.
pub fn by_itself<T>(act: impl FnOnce() -> T, handle: impl Fn(String) -> T) -> T {
    rolled_back(act, |error| match error {
        CaughtError::PostgresError(report)
            if report.sql_error_code() == PgSqlErrorCode::ERRCODE_QUERY_CANCELED =>
        {
            CaughtError::PostgresError(report).rethrow()
        }
        error => handle(message_of(&error)),
    })
}

/// The message of an error that is being handled.
pub fn message_of(error: &CaughtError) -> String {
    match error {
        // pgrx has read it as UTF-8, whatever the encoding of the database.
        // SAFETY: the error is PostgreSQL's, and has a message.
        CaughtError::PostgresError(_) => unsafe {
            decode(CStr::from_ptr((*pg_sys::CopyErrorData()).message))
        },
        CaughtError::ErrorReport(report) | CaughtError::RustPanic { ereport: report, .. } => {
            report.message().to_owned()
        }
    }
}
