//! The context of an error.

use std::ffi::{CStr, CString};
use std::panic::AssertUnwindSafe;
use std::ptr;

use pgrx::PgTryBuilder;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;

use crate::encoding::encode;

/// Acts, and leaves a query of ours out of the context of an error, such as a cancellation: the
/// query can have hundreds of lines, which mean nothing to a client that has sent another
/// statement.
#[allow(unreachable_code, reason = "some bindings let ReThrowError() return")]
pub(crate) fn out_of_context<T>(query: &str, act: impl FnOnce() -> T) -> T {
    let query = encode(query);
    PgTryBuilder::new(AssertUnwindSafe(act))
        .catch_others(|error| {
            let CaughtError::PostgresError(_) = error else { error.rethrow() };
            // SAFETY: PostgreSQL keeps the error until it is thrown again. The copy is in memory that
            // lasts as long, and its context is NULL or a string.
            unsafe {
                let copy = pg_sys::CopyErrorData();
                if !(*copy).context.is_null() {
                    let context = without_entry(CStr::from_ptr((*copy).context), &query);
                    (*copy).context = pg_sys::pstrdup(context.as_ptr());
                    if context.is_empty() {
                        (*copy).context = ptr::null_mut();
                    }
                }
                pg_sys::FlushErrorState();
                pg_sys::ReThrowError(copy);
                unreachable!("the error was thrown again")
            }
        })
        .execute()
}

/// The context of an error without the entry that quotes a query. Each entry begins on a line of its
/// own.
fn without_entry(context: &CStr, query: &CStr) -> CString {
    let (context, query) = (context.to_bytes(), query.to_bytes());
    let Some(at) = context.windows(query.len()).position(|part| part == query) else {
        return CString::new(context).expect("it was a string");
    };
    let is_end = |byte: &u8| *byte == b'\n';
    let begin = context[..at].iter().rposition(is_end).unwrap_or(0);
    let after = &context[at + query.len()..];
    let rest = after.iter().position(is_end).map_or(&b""[..], |end| &after[end..]);
    let kept = [&context[..begin], rest].concat();
    let kept = kept.strip_prefix(b"\n").unwrap_or(&kept);
    CString::new(kept).expect("it was a string")
}
