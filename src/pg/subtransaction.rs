//! Subtransactions.

use std::ffi::CStr;
use std::panic::AssertUnwindSafe;

use pgrx::PgTryBuilder;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

use crate::pg::encoding::decode;

/// Acts in a subtransaction of which nothing stays, not even locks. After an error, once everything
/// is put back, `handle` gives the result, or raises the error again.
pub fn rolled_back<T>(act: impl FnOnce() -> T, handle: impl Fn(CaughtError) -> T) -> T {
    in_subtransaction(act, |_| false, handle)
}

/// As [`rolled_back`], but what succeeds stays.
pub fn unless_it_fails<T, E>(
    act: impl FnOnce() -> Result<T, E>,
    handle: impl Fn(CaughtError) -> Result<T, E>,
) -> Result<T, E> {
    in_subtransaction(act, Result::is_ok, handle)
}

/// Acts in a subtransaction. What it did stays if `stays` says so of the result.
fn in_subtransaction<T>(
    act: impl FnOnce() -> T,
    stays: impl FnOnce(&T) -> bool,
    handle: impl Fn(CaughtError) -> T,
) -> T {
    // SAFETY: what the subtransaction replaces is put back after it, as PL/pgSQL does for a block.
    unsafe {
        let (memory, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let callbacks = pg_sys::error_context_stack;
        let end = |stays| {
            pg_sys::error_context_stack = callbacks;
            match stays {
                true => pg_sys::ReleaseCurrentSubTransaction(),
                false => pg_sys::RollbackAndReleaseCurrentSubTransaction(),
            }
            pg_sys::MemoryContextSwitchTo(memory);
            pg_sys::CurrentResourceOwner = owner;
        };
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(memory);
        let handle = AssertUnwindSafe(handle);
        let (result, is_open) = PgTryBuilder::new(AssertUnwindSafe(|| (act(), true)))
            .catch_others(|error| {
                let handle = &handle;
                end(false);
                (handle(error), false)
            })
            .execute();
        if is_open {
            end(stays(&result));
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
        // pgrx has read the text as UTF-8, whatever the encoding of the database.
        // SAFETY: the error is PostgreSQL's, and its message is NULL or a string.
        CaughtError::PostgresError(_) => unsafe {
            let message = (*pg_sys::CopyErrorData()).message;
            if message.is_null() { String::new() } else { decode(CStr::from_ptr(message)) }
        },
        CaughtError::ErrorReport(report) | CaughtError::RustPanic { ereport: report, .. } => {
            report.message().to_owned()
        }
    }
}
