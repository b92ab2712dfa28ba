//! A table, its columns and its expressions in PostgreSQL's caches. An expression is a text of
//! nodes, as the catalog has it.

use std::ffi::{CStr, c_char};
use std::{iter, ptr, slice};

use crate::pg::encoding::{decode, encode, text_attribute};
use crate::pg::report::{self, ErrorReport};
use pgrx::pg_sys::SysCacheIdentifier::{INDEXRELID, RELOID};
use pgrx::prelude::*;
use pgrx::{PgList, PgRelation};

/// A table that the transaction has locked. It is closed when this is dropped, and no statement may
/// change it until then.
pub struct Table {
    pub oid: pg_sys::Oid,
    pub relation: PgRelation,
}

impl Table {
    pub fn open(oid: pg_sys::Oid) -> Table {
        // SAFETY: the table is locked, so it exists.
        Table { oid, relation: unsafe { PgRelation::open(oid) } }
    }

    /// A table that the transaction might not have locked: it is until it is closed. `None` if it
    /// was dropped.
    pub fn read(oid: pg_sys::Oid) -> Option<Table> {
        const LOCK: i32 = pg_sys::AccessShareLock as _;
        // SAFETY: the lock keeps the relation as it is, and waits for whoever drops it.
        unsafe {
            pg_sys::LockRelationOid(oid, LOCK);
            let is_there = row(RELOID, oid, |_| ()).is_some();
            let relation = is_there.then(|| PgRelation::with_lock(oid, LOCK));
            pg_sys::UnlockRelationOid(oid, LOCK);
            relation.map(|relation| Table { oid, relation })
        }
    }

    /// The defaults with the numbers of their columns, among them the expressions of generated
    /// columns; and the check constraints.
    pub fn defaults_and_checks(&self) -> (Vec<(i16, String)>, Vec<String>) {
        // SAFETY: the relation is open, and there are as many as it says.
        unsafe {
            let Some(all) = (*self.relation.rd_att).constr.as_ref() else {
                return Default::default();
            };
            let (defaults, checks) =
                (array(all.defval, all.num_defval), array(all.check, all.num_check));
            let defaults = defaults.iter().map(|default| (default.adnum, text(default.adbin)));
            (defaults.collect(), checks.iter().map(|check| text(check.ccbin)).collect())
        }
    }

    /// Returns the expressions of indexes, and their conditions for a row.
    pub fn indexes(&self) -> Vec<String> {
        const ATTRIBUTES: [u32; 2] =
            [pg_sys::Anum_pg_index_indexprs, pg_sys::Anum_pg_index_indpred];
        // SAFETY: looks for the rows of indexes by their OIDs. The attributes are texts, or NULL.
        let of_index = |index| unsafe {
            row(INDEXRELID, index, |row| {
                ATTRIBUTES.map(|attribute| text_attribute(INDEXRELID, row, attribute))
            })
        };
        // SAFETY: the relation is open, and the list is one of OIDs.
        let indexes = unsafe {
            PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(self.relation.as_ptr()))
        };
        indexes.iter_oid().filter_map(of_index).flatten().flatten().collect()
    }

    /// The foreign keys; the columns of each are followed by zeros.
    pub fn foreign_keys(&self) -> Vec<pg_sys::ForeignKeyCacheInfo> {
        // SAFETY: the relation is open, and the list is one of such items.
        unsafe {
            let keys = pg_sys::RelationGetFKeyList(self.relation.as_ptr());
            let keys = PgList::<pg_sys::ForeignKeyCacheInfo>::from_pg(keys);
            keys.iter_ptr().map(|key| *key).collect()
        }
    }

    /// The default of a column.
    pub fn default(&self, column: i16) -> Option<String> {
        let (defaults, _) = self.defaults_and_checks();
        defaults.into_iter().find(|(number, _)| *number == column).map(|(_, default)| default)
    }
}

/// # Safety
///
/// There are as many items, and they stay for as long as the result is used.
unsafe fn array<'a, T>(items: *const T, count: u16) -> &'a [T] {
    // SAFETY: the caller's promise; where there are none, the pointer may be NULL.
    if count == 0 { &[] } else { unsafe { slice::from_raw_parts(items, count.into()) } }
}

/// The node of an expression.
pub fn node(expression: &str) -> *mut pg_sys::Node {
    // SAFETY: the catalog's expressions are texts of nodes.
    unsafe { pg_sys::stringToNode(encode(expression).as_ptr()).cast() }
}

/// The numbers of the columns in an expression about one table; 0 is the whole row.
pub fn columns(expression: &str) -> Vec<i16> {
    const TABLE: u32 = 1;
    let mut columns = ptr::null_mut();
    // SAFETY: the node is one without subqueries, as these expressions are.
    unsafe {
        pg_sys::pull_varattnos(node(expression), TABLE, &raw mut columns);
        members(columns)
    }
}

/// The numbers of columns that a set has.
///
/// # Safety
///
/// It is a set of such numbers.
pub unsafe fn members(columns: *const pg_sys::Bitmapset) -> Vec<i16> {
    // The number that PostgreSQL subtracts from the number of a column in a set.
    const OFFSET: i32 = pg_sys::FirstLowInvalidHeapAttributeNumber;
    // SAFETY: the caller's promise.
    let next = |last: &i32| unsafe { pg_sys::bms_next_member(columns, *last) };
    let after = |last: &i32| Some(next(last)).filter(|member| *member >= 0);
    iter::successors(after(&-1), after).map(|member| (member + OFFSET) as i16).collect()
}

/// Returns the text of a constant of this OID in an expression.
pub fn constant(oid: pg_sys::Oid) -> String {
    let bytes = pg_sys::Datum::from(oid).value().to_ne_bytes();
    let bytes = bytes.map(|byte| (byte as c_char).to_string()).join(" ");
    format!(":constvalue 4 [ {bytes} ]")
}

/// Reads the row of this OID in a cache, if there is one.
///
/// # Safety
///
/// The cache is one by OIDs, and the row is used as one of its catalog's.
pub unsafe fn row<T>(
    cache: pg_sys::SysCacheIdentifier::Type,
    oid: pg_sys::Oid,
    read: impl FnOnce(pg_sys::HeapTuple) -> T,
) -> Option<T> {
    // SAFETY: the caller's promise. The row is released.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache as _, oid.into());
        if row.is_null() {
            return None;
        }
        let result = read(row);
        pg_sys::ReleaseSysCache(row);
        Some(result)
    }
}

/// The name of a relation, qualified and quoted. 42P01 if it was dropped.
pub fn relation_name(relation: pg_sys::Oid) -> String {
    // SAFETY: looks for the relation by its OID.
    unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        let name = pg_sys::get_rel_name(relation);
        if schema.is_null() || name.is_null() {
            dropped(relation).raise();
        }
        text(pg_sys::quote_qualified_identifier(schema, name))
    }
}

/// The error for a relation that is not there, or not any more.
pub fn dropped(relation: pg_sys::Oid) -> ErrorReport {
    let message = format!("relation with OID {} does not exist", relation.to_u32());
    report::new(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, message)
}

/// The name of a column, quoted.
pub fn column_name(table: pg_sys::Oid, column: i16) -> String {
    // SAFETY: looks for the column by its number.
    quoted(unsafe { CStr::from_ptr(pg_sys::get_attname(table, column, false)) })
}

/// A name, quoted where needed.
pub fn quoted(name: &CStr) -> String {
    // SAFETY: reads the name.
    unsafe { text(pg_sys::quote_identifier(name.as_ptr())) }
}

/// The types that are too narrow for snowflake IDs.
pub const NARROW: [pg_sys::Oid; 2] = [pg_sys::INT2OID, pg_sys::INT4OID];

/// Returns whether a column is of this type.
pub fn has_type(table: pg_sys::Oid, column: i16, of: pg_sys::Oid) -> bool {
    // SAFETY: looks for the column by its number.
    unsafe { pg_sys::get_atttype(table, column) == of }
}

/// The name of a type.
pub fn type_name(of: pg_sys::Oid) -> String {
    // SAFETY: looks for the type by its OID.
    unsafe { text(pg_sys::format_type_be(of)) }
}

/// # Safety
///
/// It is a string.
unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    decode(unsafe { CStr::from_ptr(text) })
}
