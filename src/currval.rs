//! The ID that a session was given last. As with `currval()`, `DISCARD ALL` and `DISCARD SEQUENCES`
//! forget it: a pooler runs them before it gives a connection to another client.

use std::ffi::c_char;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use pgrx::pg_sys::DiscardMode;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::server::report::{self, Report};

/// The last ID that this session was given, or [`NONE`]. Memory of one process.
static LAST: AtomicI64 = AtomicI64::new(NONE);
const NONE: i64 = -1;

/// What [`LAST`] was when it was forgotten. [`LAST`] itself keeps its value, because [`mark`] has
/// to differ only after an ID was taken.
static FORGOTTEN: AtomicI64 = AtomicI64::new(NONE);

/// Keeps the ID.
#[inline(always)]
pub fn issued(id: i64) -> i64 {
    LAST.store(id, Relaxed);
    id
}

/// The ID that this session was given last. 55000 before the first, and after `DISCARD ALL` or
/// `DISCARD SEQUENCES`.
#[pg_extern(volatile, parallel_restricted)]
fn snowflake_currval() -> i64 {
    last().unwrap_or_else(|| NoCurrval.raise())
}

/// The ID that this session was given last; `None` before the first, and after it was forgotten.
pub fn last() -> Option<i64> {
    Some(LAST.load(Relaxed)).filter(|id| *id != FORGOTTEN.load(Relaxed))
}

/// A number that is another one after this session has taken an ID, and that `DISCARD` does not
/// change.
pub fn mark() -> i64 {
    LAST.load(Relaxed)
}

struct NoCurrval;

impl Report for NoCurrval {
    fn report(self) -> ErrorReport {
        report::new(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "snowflake_currval is not yet defined in this session",
        )
        .set_hint("Call snowflake_nextval() first.")
    }
}

/// What handled utility statements before [`forget`] did. Set when the server starts.
static NEXT_HOOK: OnceLock<pg_sys::ProcessUtility_hook_type> = OnceLock::new();

/// Lets [`forget`] see utility statements. Called while the library is preloaded.
pub fn init() {
    // SAFETY: the server starts: one process, one thread.
    unsafe {
        NEXT_HOOK.get_or_init(|| pg_sys::ProcessUtility_hook);
        pg_sys::ProcessUtility_hook = Some(forget);
    }
}

unsafe extern "C-unwind" {
    // The binding of pgrx would turn each error of a utility statement into a Rust panic, and
    // report less of it than PostgreSQL does.
    fn standard_ProcessUtility(
        statement: *mut pg_sys::PlannedStmt,
        query: *const c_char,
        read_only_tree: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        params: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        destination: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );
}

/// Executes the statement, then forgets the ID if the statement says so. An error leaves this frame
/// by `longjmp`, so nothing here might need to be dropped.
unsafe extern "C-unwind" fn forget(
    statement: *mut pg_sys::PlannedStmt,
    query: *const c_char,
    read_only_tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    params: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    destination: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    let next = NEXT_HOOK.get().copied().flatten().unwrap_or(standard_ProcessUtility);
    // SAFETY: PostgreSQL calls this, and every argument is passed on. The statement is a valid node
    // when the call begins.
    unsafe {
        let node = (*statement).utilityStmt;
        let forgets = (*node).type_ == pg_sys::NodeTag::T_DiscardStmt
            && matches!(
                (*node.cast::<pg_sys::DiscardStmt>()).target,
                DiscardMode::DISCARD_ALL | DiscardMode::DISCARD_SEQUENCES
            );
        next(
            statement,
            query,
            read_only_tree,
            context,
            params,
            environment,
            destination,
            completion,
        );
        if forgets {
            FORGOTTEN.store(LAST.load(Relaxed), Relaxed);
        }
    }
}
