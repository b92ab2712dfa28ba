//! The keys of new tables in the schemas that `snowflake.adopted_schemas` names: a `bigint` that
//! takes values of a sequence of its own takes snowflake IDs instead.
//!
//! A hook is told what a statement creates, before defaults and keys are there. So it only
//! collects, and [`end`] looks at what was collected once the statement has returned. The catalog is
//! read by the caches of PostgreSQL, because queries would take longer than the statement.
//!
//! - `keys`: what becomes of the keys of a table.
//! - `references`: integer columns that refer to snowflake IDs.
//! - `attempt`: what is looked at and done without harm to the statement of the user.

mod attempt;
mod keys;
mod references;

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use pgrx::prelude::*;

use crate::settings::ADOPTED_SCHEMAS;

thread_local! {
    /// What statements that have not returned yet have created: the catalog that has it, its OID, and
    /// the number of a column that was added. What a statement that failed has left here is gone, and
    /// does no harm.
    static CREATED: RefCell<Vec<(pg_sys::Oid, pg_sys::Oid, i16)>> = const { RefCell::new(Vec::new()) };
    /// Whether the innermost statement is one whose tables are adopted.
    static IS_COLLECTED: Cell<bool> = const { Cell::new(false) };
}

/// A statement that is being executed: how much others had collected before, and what
/// [`IS_COLLECTED`] was.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Frame(usize, bool);

static NEXT_HOOK: OnceLock<pg_sys::object_access_hook_type> = OnceLock::new();

/// Lets [`collect`] see what is created. Called while the library is loaded.
pub fn init() {
    // SAFETY: one process, one thread.
    unsafe {
        NEXT_HOOK.get_or_init(|| pg_sys::object_access_hook);
        pg_sys::object_access_hook = Some(collect);
    }
}

/// Begins a utility statement. What is part of another one, such as the elements of CREATE SCHEMA,
/// belongs to that.
///
/// # Safety
///
/// The node is valid.
pub unsafe fn begin(
    node: *mut pg_sys::Node,
    context: pg_sys::ProcessUtilityContext::Type,
) -> Option<Frame> {
    use pg_sys::NodeTag::{T_AlterTableStmt, T_CreateSchemaStmt, T_CreateStmt};
    use pg_sys::ProcessUtilityContext::{PROCESS_UTILITY_SUBCOMMAND, PROCESS_UTILITY_TOPLEVEL};
    if context == PROCESS_UTILITY_SUBCOMMAND {
        return None;
    }
    if context == PROCESS_UTILITY_TOPLEVEL {
        CREATED.with_borrow_mut(Vec::clear);
    }
    // SAFETY: the caller's promise.
    let tag = unsafe { (*node).type_ };
    let is_collected = matches!(tag, T_CreateStmt | T_AlterTableStmt | T_CreateSchemaStmt)
        && ADOPTED_SCHEMAS.value.get().is_some_and(|text| !text.is_empty());
    Some(Frame(CREATED.with_borrow(Vec::len), IS_COLLECTED.replace(is_collected)))
}

/// Keeps what the statement creates with the rights of the role that executes it. What a function
/// creates with the rights of its owner is none of the caller's business, nor is what belongs to an
/// extension, a restore in place, or a replica.
unsafe extern "C-unwind" fn collect(
    access: pg_sys::ObjectAccessType::Type,
    class: pg_sys::Oid,
    object: pg_sys::Oid,
    part: c_int,
    argument: *mut c_void,
) {
    // SAFETY: PostgreSQL calls this, and every argument is passed on. The argument is of this type
    // for this kind of access. The rest reads variables of this process.
    unsafe {
        if let Some(next) = NEXT_HOOK.get().copied().flatten() {
            next(access, class, object, part, argument);
        }
        if !IS_COLLECTED.get() || access != pg_sys::ObjectAccessType::OAT_POST_CREATE {
            return;
        }
        let is_internal =
            !argument.is_null() && (*argument.cast::<pg_sys::ObjectAccessPostCreate>()).is_internal;
        let is_kept = [pg_sys::RelationRelationId, pg_sys::ConstraintRelationId].contains(&class);
        let (mut user, mut restriction) = (pg_sys::InvalidOid, 0);
        pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut restriction);
        if is_kept
            && !is_internal
            && restriction == 0
            && !pg_sys::creating_extension
            && !pg_sys::IsBinaryUpgrade
            && pg_sys::SessionReplicationRole != pg_sys::SESSION_REPLICATION_ROLE_REPLICA as c_int
        {
            CREATED.with_borrow_mut(|created| created.push((class, object, part as i16)));
        }
    }
}

/// Ends a statement, which has succeeded: looks at what it has created.
#[pg_guard]
pub extern "C-unwind" fn end(frame: Frame) {
    let Frame(begin, was_collected) = frame;
    IS_COLLECTED.set(was_collected);
    let created = CREATED.with_borrow_mut(|all| all.split_off(begin.min(all.len())));
    if created.is_empty() {
        return;
    }
    // SAFETY: the statement has returned, so what it has done may become visible.
    unsafe { pg_sys::CommandCounterIncrement() };
    let of = |class| created.iter().filter(move |(of, ..)| *of == class);
    keys::adopt(of(pg_sys::RelationRelationId).map(|(_, table, column)| (*table, *column)));
    references::warn(of(pg_sys::ConstraintRelationId).map(|(_, constraint, _)| *constraint));
}
