//! The hook for utility statements: what is done before and after PostgreSQL executes one. It is the
//! only one of the library, and each purpose has a line in it.

use std::ffi::c_char;
use std::sync::OnceLock;

use pgrx::pg_sys;

use crate::{adopt, currval};

/// What handled utility statements before [`execute`] did. Set when the library is loaded.
static NEXT_HOOK: OnceLock<pg_sys::ProcessUtility_hook_type> = OnceLock::new();

/// Lets [`execute`] see utility statements. Called while the library is loaded.
pub fn init() {
    // SAFETY: one process, one thread.
    unsafe {
        NEXT_HOOK.get_or_init(|| pg_sys::ProcessUtility_hook);
        pg_sys::ProcessUtility_hook = Some(execute);
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

/// Executes the statement. An error leaves this frame by `longjmp`, so nothing here might need to be
/// dropped, and what comes after the statement is not executed then.
unsafe extern "C-unwind" fn execute(
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
        let forgets = currval::is_forgotten_by(node);
        let adoption = adopt::begin(node, context);
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
            currval::forget();
        }
        if let Some(adoption) = adoption {
            adopt::end(adoption);
        }
    }
}
