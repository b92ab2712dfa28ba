//! The keys of new tables in the schemas that `snowflake.adopted_schemas` names: a `bigint` that
//! takes values of a sequence of its own takes snowflake IDs instead.
//!
//! A hook is told what a statement creates, before defaults and keys are there. So it only
//! collects, and [`end`] looks at what was collected once the statement has returned. The catalog
//! is read by the caches of PostgreSQL, because queries would take longer than the statement.
//!
//! - `convert`: conversion of the keys of a table.
//! - `narrow`: integer columns that take or refer to snowflake IDs.
//! - `identity`: statements about an identity column that has a default now.
//! - `attempt`: queries and statements that do no harm to the statement of the user.

mod attempt;
mod convert;
mod identity;
mod narrow;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use pgrx::PgList;
use pgrx::prelude::*;

use crate::keys::table::has_type;
use crate::pg::is_replica;
use crate::pg::unguarded::{errhint, geterrcode};
use crate::settings::ADOPTED_SCHEMAS;

/// The facts about a statement that is being executed. The statements that run are a stack, which
/// is PostgreSQL's: see [`super::utility`]. So after an error, nothing is left of those that it
/// ended.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Adoption {
    /// True if it is part of another one, which it belongs to.
    pub is_part: bool,
    /// Where `created` is; NULL if what the statement creates is not adopted.
    memory: pg_sys::MemoryContext,
    /// The objects that it has created or altered so far, four OIDs each: the catalog that has it,
    /// its own, the number of a column or 0, and the type that a column had before it was altered,
    /// or 0.
    created: *mut pg_sys::List,
    /// The hint for an error, if the statement is about an identity column that has a default now;
    /// or NULL.
    hint: *const c_char,
}

/// Finds the innermost statement of this process that is not part of another one; NULL if there is
/// none.
type Innermost = unsafe fn() -> *mut Adoption;

static INNERMOST: OnceLock<Innermost> = OnceLock::new();
static NEXT_HOOK: OnceLock<pg_sys::object_access_hook_type> = OnceLock::new();

/// Lets [`collect`] see what is created. Called while the library is loaded.
pub fn init(innermost: Innermost) {
    INNERMOST.get_or_init(|| innermost);
    // SAFETY: one process, one thread.
    unsafe {
        NEXT_HOOK.get_or_init(|| pg_sys::object_access_hook);
        pg_sys::object_access_hook = Some(collect);
    }
}

/// Begins a utility statement. What is part of another one, such as the elements of CREATE SCHEMA,
/// belongs to that. Nothing is adopted that a function creates with the rights of its owner, that
/// belongs to an extension, or that pg_upgrade or a replica creates.
///
/// # Safety
///
/// The node is valid.
pub unsafe fn begin(
    node: *mut pg_sys::Node,
    context: pg_sys::ProcessUtilityContext::Type,
) -> Adoption {
    use pg_sys::NodeTag::{T_AlterTableStmt, T_CreateSchemaStmt, T_CreateStmt};
    use pg_sys::ProcessUtilityContext::PROCESS_UTILITY_SUBCOMMAND;
    let is_part = context == PROCESS_UTILITY_SUBCOMMAND;
    let mut adoption =
        Adoption { is_part, memory: ptr::null_mut(), created: ptr::null_mut(), hint: ptr::null() };
    let (mut user, mut restriction) = (pg_sys::InvalidOid, 0);
    // SAFETY: the caller's promise; the rest reads variables of this process.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut restriction);
        let may_make_keys =
            matches!((*node).type_, T_CreateStmt | T_AlterTableStmt | T_CreateSchemaStmt);
        let is_of_caller = restriction == 0
            && !pg_sys::creating_extension
            && !pg_sys::IsBinaryUpgrade
            && !is_replica();
        let is_adopting = ADOPTED_SCHEMAS.value.get().is_some_and(|text| !text.is_empty());
        if !is_part && may_make_keys && is_of_caller && is_adopting {
            adoption.memory = pg_sys::CurrentMemoryContext;
        }
        if (*node).type_ == T_AlterTableStmt {
            adoption.hint = identity::hint(node.cast());
        }
    }
    adoption
}

/// The error of PostgreSQL for a column that is no identity column, or has a default.
const IS_NO_IDENTITY: PgSqlErrorCode = PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;

/// Adds the hint to an error, if there is one, and the error is that of a column that is no
/// identity column.
///
/// # Safety
///
/// An error of the statement is being finished.
pub unsafe fn explain(adoption: &Adoption) {
    // SAFETY: the caller's promise. The hint lives as long as the statement.
    unsafe {
        if !adoption.hint.is_null() && geterrcode() == IS_NO_IDENTITY as c_int {
            errhint(c"%s".as_ptr(), adoption.hint);
        }
    }
}

/// Sees what is created or altered, and hands on what might be a new key. This function has no
/// guard of pgrx, so nothing here panics: [`keep`] has one, and the rest reads variables.
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
        let adoption = INNERMOST.get().map_or(ptr::null_mut(), |innermost| innermost());
        if adoption.is_null() || (*adoption).memory.is_null() {
            return;
        }
        if access == OAT_POST_CREATE {
            let argument = argument.cast::<pg_sys::ObjectAccessPostCreate>();
            if argument.is_null() || !(*argument).is_internal {
                keep(adoption, class, object, part, pg_sys::InvalidOid);
            }
        } else if access == OAT_POST_ALTER && class == pg_sys::RelationRelationId && part > 0 {
            keep_altered(adoption, object, part);
        }
    }
}

/// Keeps a column with its type until now: what is looked at is what was there before the
/// statement.
///
/// # Safety
///
/// The adoption is valid.
#[pg_guard]
unsafe extern "C-unwind" fn keep_altered(
    adoption: *mut Adoption,
    table: pg_sys::Oid,
    column: c_int,
) {
    // SAFETY: the caller's promise. Looks for the column by its number.
    unsafe {
        let before = pg_sys::get_atttype(table, column as i16);
        keep(adoption, pg_sys::RelationRelationId, table, column, before);
    }
}

/// Keeps what might be a new key, unless it belongs to another role, as the elements of CREATE
/// SCHEMA ... AUTHORIZATION do. That PostgreSQL creates indexes in a restricted operation does not
/// matter.
///
/// # Safety
///
/// The adoption is valid.
#[pg_guard]
unsafe extern "C-unwind" fn keep(
    adoption: *mut Adoption,
    class: pg_sys::Oid,
    object: pg_sys::Oid,
    part: c_int,
    before: pg_sys::Oid,
) {
    let (mut user, mut restriction) = (pg_sys::InvalidOid, 0);
    // SAFETY: reads variables of this process, and appends to a list in the memory that it is in.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut restriction);
        if restriction & pg_sys::SECURITY_LOCAL_USERID_CHANGE as c_int == 0
            && [pg_sys::RelationRelationId, pg_sys::ConstraintRelationId].contains(&class)
        {
            let memory = pg_sys::MemoryContextSwitchTo((*adoption).memory);
            for oid in [class, object, pg_sys::Oid::from(part as u32), before] {
                (*adoption).created = pg_sys::lappend_oid((*adoption).created, oid);
            }
            pg_sys::MemoryContextSwitchTo(memory);
        }
    }
}

/// Ends a statement, which has succeeded: looks at what it has created.
#[pg_guard]
pub extern "C-unwind" fn end(adoption: Adoption) {
    if adoption.created.is_null() {
        return;
    }
    // SAFETY: the list is one of OIDs, and the statement has returned, so what it has done may
    // become visible.
    let oids: Vec<_> = unsafe {
        pg_sys::CommandCounterIncrement();
        PgList::<pg_sys::Oid>::from_pg(adoption.created).iter_oid().collect()
    };
    let (mut columns, mut constraints) = (Vec::new(), Vec::new());
    for &[class, object, number, before] in oids.as_chunks::<4>().0 {
        let number = number.to_u32() as i16;
        if class == pg_sys::ConstraintRelationId {
            constraints.push(object);
        } else if before == pg_sys::InvalidOid || !has_type(object, number, before) {
            columns.push((object, number, before));
        }
    }
    // A dump adds the primary key of a table last, and its keys stay what they were. What pg_dump
    // writes begins with this setting.
    // SAFETY: reads a variable of this process.
    let is_restore = unsafe { !pg_sys::check_function_bodies };
    let of_keys = constraints.iter().filter(|_| !is_restore);
    let of_keys = of_keys.flat_map(|constraint| convert::of_new_primary_key(*constraint));
    // A column that was bigint before is no new key.
    let may_be_keys = columns.iter().filter(|(.., before)| *before != pg_sys::INT8OID);
    let may_be_keys = may_be_keys.map(|(table, number, _)| (*table, *number));
    let adopted = convert::adopt(may_be_keys.chain(of_keys));
    let columns = columns.iter().map(|(table, number, _)| (*table, *number));
    narrow::warn(columns, constraints.iter().copied(), &adopted);
}
