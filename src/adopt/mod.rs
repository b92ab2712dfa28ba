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
use crate::table::NARROW;

thread_local! {
    /// What statements that have not returned yet have created: the catalog that has it, its OID, and
    /// the number of a column that was added. What a statement that failed has left here is gone, and
    /// does no harm.
    static CREATED: RefCell<Vec<(pg_sys::Oid, pg_sys::Oid, i16)>> = const { RefCell::new(Vec::new()) };
    /// Whether the innermost statement is one whose tables are adopted.
    static IS_COLLECTED: Cell<bool> = const { Cell::new(false) };
}

/// A statement that is being executed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Frame {
    /// Whether it is part of another one, which it belongs to.
    is_part: bool,
    /// How much others had collected before.
    begin: usize,
    /// What [`IS_COLLECTED`] was.
    was_collected: bool,
}

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
/// belongs to that. What a function does with the rights of its owner is none of the caller's
/// business, nor is what belongs to an extension, a restore in place, or a replica.
///
/// # Safety
///
/// The node is valid.
pub unsafe fn begin(
    node: *mut pg_sys::Node,
    context: pg_sys::ProcessUtilityContext::Type,
) -> Frame {
    use pg_sys::NodeTag::{T_AlterTableStmt, T_CreateSchemaStmt, T_CreateStmt};
    use pg_sys::ProcessUtilityContext::{PROCESS_UTILITY_SUBCOMMAND, PROCESS_UTILITY_TOPLEVEL};
    if context == PROCESS_UTILITY_SUBCOMMAND {
        return Frame { is_part: true, begin: 0, was_collected: false };
    }
    if context == PROCESS_UTILITY_TOPLEVEL {
        CREATED.with_borrow_mut(Vec::clear);
    }
    let (mut user, mut restriction) = (pg_sys::InvalidOid, 0);
    // SAFETY: the caller's promise; the rest reads variables of this process.
    let is_of_caller = unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut restriction);
        matches!((*node).type_, T_CreateStmt | T_AlterTableStmt | T_CreateSchemaStmt)
            && restriction == 0
            && !pg_sys::creating_extension
            && !pg_sys::IsBinaryUpgrade
            && pg_sys::SessionReplicationRole != pg_sys::SESSION_REPLICATION_ROLE_REPLICA as c_int
    };
    let is_collected =
        is_of_caller && ADOPTED_SCHEMAS.value.get().is_some_and(|text| !text.is_empty());
    let (begin, was_collected) =
        (CREATED.with_borrow(Vec::len), IS_COLLECTED.replace(is_collected));
    Frame { is_part: false, begin, was_collected }
}

/// Sees what is created or altered, and hands on what might be a new key. This frame has no guard of
/// pgrx, so nothing here panics: [`keep`] has one, and the rest reads variables.
unsafe extern "C-unwind" fn collect(
    access: pg_sys::ObjectAccessType::Type,
    class: pg_sys::Oid,
    object: pg_sys::Oid,
    part: c_int,
    argument: *mut c_void,
) {
    use pg_sys::ObjectAccessType::{OAT_POST_ALTER, OAT_POST_CREATE};
    // SAFETY: PostgreSQL calls this, and every argument is passed on. The argument is of this type
    // for this kind of access.
    unsafe {
        if let Some(next) = NEXT_HOOK.get().copied().flatten() {
            next(access, class, object, part, argument);
        }
        if !IS_COLLECTED.get() {
            return;
        }
        if access == OAT_POST_CREATE {
            let argument = argument.cast::<pg_sys::ObjectAccessPostCreate>();
            if argument.is_null() || !(*argument).is_internal {
                keep(class, object, part);
            }
        } else if access == OAT_POST_ALTER && class == pg_sys::RelationRelationId && part > 0 {
            keep_altered(object, part);
        }
    }
}

/// Keeps a column that was narrow until now: what is looked at is what was there before the statement.
///
/// # Safety
///
/// The relation has the column.
#[pg_guard]
unsafe extern "C-unwind" fn keep_altered(table: pg_sys::Oid, column: c_int) {
    // SAFETY: looks for the column by its number.
    if NARROW.contains(&unsafe { pg_sys::get_atttype(table, column as i16) }) {
        keep(pg_sys::RelationRelationId, table, column);
    }
}

/// Keeps what might be a new key, unless it belongs to another role, as the elements of CREATE SCHEMA ...
/// AUTHORIZATION do. That PostgreSQL creates indexes in a restricted operation does not matter.
#[pg_guard]
extern "C-unwind" fn keep(class: pg_sys::Oid, object: pg_sys::Oid, part: c_int) {
    let (mut user, mut restriction) = (pg_sys::InvalidOid, 0);
    // SAFETY: reads variables of this process.
    unsafe { pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut restriction) };
    if restriction & pg_sys::SECURITY_LOCAL_USERID_CHANGE as c_int == 0
        && [pg_sys::RelationRelationId, pg_sys::ConstraintRelationId].contains(&class)
    {
        CREATED.with_borrow_mut(|created| created.push((class, object, part as i16)));
    }
}

/// Ends a statement, which has succeeded: looks at what it has created.
#[pg_guard]
pub extern "C-unwind" fn end(frame: Frame) {
    let Frame { is_part, begin, was_collected } = frame;
    if is_part {
        return;
    }
    IS_COLLECTED.set(was_collected);
    let created = CREATED.with_borrow_mut(|all| all.split_off(begin.min(all.len())));
    if created.is_empty() {
        return;
    }
    // SAFETY: the statement has returned, so what it has done may become visible.
    unsafe { pg_sys::CommandCounterIncrement() };
    let of = |class| created.iter().filter(move |(of, ..)| *of == class);
    let constraints = || of(pg_sys::ConstraintRelationId).map(|(_, constraint, _)| *constraint);
    let columns = of(pg_sys::RelationRelationId).map(|(_, table, column)| (*table, *column));
    // A dump adds the primary key of a table last, and its keys stay what they were. What pg_dump writes
    // begins with this setting.
    // SAFETY: reads a variable of this process.
    let is_restore = unsafe { !pg_sys::check_function_bodies };
    let of_keys = constraints().filter(|_| !is_restore).flat_map(keys::of_new_primary_key);
    keys::adopt(columns.chain(of_keys));
    references::warn(constraints());
}
