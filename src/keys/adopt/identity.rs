//! ALTER TABLE of an identity column that has a default now.

use std::ffi::{CStr, c_char};
use std::ptr;

use pgrx::PgList;
use pgrx::pg_sys::{self, AlterTableType::*};

use crate::keys::key::Source;
use crate::keys::table::{Table, quoted, relation_name};
use crate::pg::encoding::encode;
use crate::pg::library_function::LibraryFunction;

/// The hint if PostgreSQL refuses the statement: the default that has taken the place of the
/// identity column. NULL if no column has one.
///
/// # Safety
///
/// The node is a valid ALTER TABLE.
pub unsafe fn hint(statement: *const pg_sys::AlterTableStmt) -> *const c_char {
    // SAFETY: the caller's promise; what is in the list are commands, and the names of columns
    // strings.
    let hint = unsafe {
        let commands = PgList::<pg_sys::AlterTableCmd>::from_pg((*statement).cmds);
        let asks = |command: &*mut pg_sys::AlterTableCmd| {
            [AT_AddIdentity, AT_SetIdentity, AT_DropIdentity].contains(&(**command).subtype)
        };
        let names = commands.iter_ptr().filter(asks).map(|command| CStr::from_ptr((*command).name));
        of_columns((*statement).relation, names)
    };
    // SAFETY: copies the text into memory of the statement.
    hint.map_or(ptr::null(), |hint| unsafe { pg_sys::pstrdup(encode(&hint).as_ptr()) })
}

/// The same, of the first of these columns whose default is that of an adopted key.
///
/// # Safety
///
/// The relation is valid.
unsafe fn of_columns<'a>(
    relation: *const pg_sys::RangeVar,
    mut names: impl Iterator<Item = &'a CStr>,
) -> Option<String> {
    let first = names.next()?;
    // SAFETY: the caller's promise. Nothing is locked: the statement does that.
    let table = unsafe {
        let missing_ok = pg_sys::RVROption::RVR_MISSING_OK;
        pg_sys::RangeVarGetRelidExtended(
            relation,
            pg_sys::NoLock as _,
            missing_ok,
            None,
            ptr::null_mut(),
        )
    };
    let function = LibraryFunction::of("snowflake_nextval")?;
    let table = Table::read(table)?;
    let takes_ids = |name: &&CStr| {
        // SAFETY: looks for a column by its name.
        let number = unsafe { pg_sys::get_attnum(table.oid, name.as_ptr()) };
        number > 0 && Source::of(&table, number, Some(&function)) == Source::Ids
    };
    let column = quoted(std::iter::once(first).chain(names).find(takes_ids)?);
    let name = relation_name(table.oid);
    Some(format!(
        "Column {column} takes snowflake IDs by its default, snowflake_nextval(). Leave this out, \
         or run ALTER TABLE {name} ALTER COLUMN {column} DROP DEFAULT."
    ))
}
