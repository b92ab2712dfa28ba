//! The hook that sees each utility statement: every statement that is not planned, such as COPY,
//! ALTER TABLE and DISCARD.
//!
//! While a utility statement runs, a frame of `error_context_stack` says what it is. After an
//! error, whoever catches it puts that stack back, so that the mark of a statement that has failed
//! never outlives it: a variable of ours would have to be put back in each of these places.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

use pgrx::pg_sys::{DiscardMode, NodeTag};
use pgrx::prelude::*;

use crate::generate::currval;
use crate::keys::adopt;
use crate::pg::unguarded::standard_ProcessUtility;

/// Kinds of utility statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Statement {
    /// One that nothing here depends on.
    Other,
    /// COPY ... FROM.
    CopyFrom,
    /// ALTER TABLE.
    AlterTable,
    /// DISCARD ALL or DISCARD SEQUENCES.
    DiscardSequences,
}

/// The hook that handled utility statements before [`run`]. Set when the server starts.
static NEXT_HOOK: OnceLock<pg_sys::ProcessUtility_hook_type> = OnceLock::new();

/// Lets [`run`] see utility statements. Called while the library is preloaded.
pub fn init() {
    // SAFETY: the server starts: one process, one thread.
    unsafe {
        NEXT_HOOK.get_or_init(|| pg_sys::ProcessUtility_hook);
        pg_sys::ProcessUtility_hook = Some(run);
    }
    adopt::init(adopting);
}

/// The innermost utility statement that runs in this process; `None` if none does.
pub fn innermost() -> Option<Statement> {
    // SAFETY: a statement that is found is valid while it runs.
    running().next().map(|begun| unsafe { (*begun).statement })
}

/// The facts for adoption about the innermost one that is not part of another one.
fn adopting() -> *mut adopt::Adoption {
    // SAFETY: as above.
    let mut adoptions = running().map(|begun| unsafe { &raw mut (*begun).adoption });
    // SAFETY: as above.
    adoptions.find(|adoption| unsafe { !(**adoption).is_part }).unwrap_or(std::ptr::null_mut())
}

/// The utility statements that run in this process, the innermost first.
fn running() -> impl Iterator<Item = *mut Begun> {
    // SAFETY: each frame of the stack lives while it is on it, and what [`run`] has pushed has a
    // statement as its argument.
    unsafe {
        let frames = std::iter::successors(pg_sys::error_context_stack.as_ref(), |frame| {
            frame.previous.as_ref()
        });
        let is_ours = |frame: &&pg_sys::ErrorContextCallback| {
            frame.callback.is_some_and(|callback| std::ptr::fn_addr_eq(callback, MARK))
        };
        frames.filter(is_ours).map(|frame| frame.arg.cast())
    }
}

/// The mark of a frame of [`run`]. The compiler may make several copies of a function, so the
/// address that is looked for has to be the one that was stored.
static MARK: unsafe extern "C-unwind" fn(*mut c_void) = explain;

/// Called for each report that is made while the statement runs. One that is part of it has its
/// own.
unsafe extern "C-unwind" fn explain(begun: *mut c_void) {
    let begun = begun.cast();
    if running().next() == Some(begun) {
        // SAFETY: the argument is what [`run`] has pushed.
        unsafe { adopt::explain(&(*begun).adoption) }
    }
}

/// Executes the statement, marked, then forgets the last ID if the statement says so, and looks at
/// new keys. An error leaves this function by `longjmp`, so nothing here might need to be dropped,
/// and what comes after the statement is not executed then. It has no guard of pgrx, so nothing
/// here panics: [`begin`] and `adopt::end` have one, and the rest reads and writes variables.
unsafe extern "C-unwind" fn run(
    planned: *mut pg_sys::PlannedStmt,
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
    // when the call begins. The frame is taken off the stack before it goes.
    unsafe {
        let mut begun = begin((*planned).utilityStmt, context);
        let mut frame = pg_sys::ErrorContextCallback {
            previous: pg_sys::error_context_stack,
            callback: Some(MARK),
            arg: (&raw mut begun).cast(),
        };
        pg_sys::error_context_stack = &raw mut frame;
        next(planned, query, read_only_tree, context, params, environment, destination, completion);
        pg_sys::error_context_stack = frame.previous;
        if begun.statement == Statement::DiscardSequences {
            currval::forget();
        }
        adopt::end(begun.adoption);
    }
}

/// A statement that is to be executed.
#[repr(C)]
struct Begun {
    statement: Statement,
    adoption: adopt::Adoption,
}

/// Returns the facts that are known before the statement is executed.
///
/// # Safety
///
/// `node` is a utility statement.
#[pg_guard]
unsafe extern "C-unwind" fn begin(
    node: *mut pg_sys::Node,
    context: pg_sys::ProcessUtilityContext::Type,
) -> Begun {
    // SAFETY: the caller's promise.
    unsafe { Begun { statement: kind(node), adoption: adopt::begin(node, context) } }
}

/// # Safety
///
/// `node` is a utility statement.
unsafe fn kind(node: *mut pg_sys::Node) -> Statement {
    // SAFETY: the tag says what the node is.
    unsafe {
        match (*node).type_ {
            NodeTag::T_CopyStmt if (*node.cast::<pg_sys::CopyStmt>()).is_from => {
                Statement::CopyFrom
            }
            NodeTag::T_AlterTableStmt => Statement::AlterTable,
            NodeTag::T_DiscardStmt
                if matches!(
                    (*node.cast::<pg_sys::DiscardStmt>()).target,
                    DiscardMode::DISCARD_ALL | DiscardMode::DISCARD_SEQUENCES
                ) =>
            {
                Statement::DiscardSequences
            }
            _ => Statement::Other,
        }
    }
}
