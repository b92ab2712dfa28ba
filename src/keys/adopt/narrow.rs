//! Integer columns that take or refer to snowflake IDs, which do not fit.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

use crate::pg::encoding::decode;
use crate::pg::library_function::LibraryFunction;
use crate::pg::{report, spi};
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::attempt::attempt;
use crate::keys::key::Source;
use crate::keys::table::{NARROW, Table, column_name, relation_name, row, type_name};

/// A table and the number of one of its columns.
type Column = (pg_sys::Oid, i16);

/// The tables that have a column of this name of their own, of a table and those that it inherits
/// it from. The type is changed there.
const ORIGINS: &str = "
    WITH RECURSIVE
    -- a row: the table, or one that it has inherited the column from
    origin(relation) AS (
        SELECT $1
        UNION
        SELECT inhparent FROM origin JOIN pg_inherits ON inhrelid = relation
        JOIN pg_attribute ON attrelid = inhparent AND attname = $2)
    SELECT relation::regclass FROM origin JOIN pg_attribute ON attrelid = relation AND attname = $2
    WHERE attinhcount = 0 ORDER BY 1";

/// A column, and the one whose IDs it has to hold: itself, or the one that it refers to.
#[derive(Clone, Copy)]
struct Holder {
    column: Column,
    key: Column,
}

/// Warns of columns that are too narrow for snowflake IDs: of these, which take them, and of those
/// of foreign keys, if they are among these or refer to these tables. The number of a column is 0
/// for a table.
pub fn warn(
    columns: impl Iterator<Item = Column>,
    constraints: impl Iterator<Item = pg_sys::Oid>,
    referenced: &[pg_sys::Oid],
) {
    let constraints: BTreeSet<_> = constraints
        .chain(referenced.iter().flat_map(|table| references_to(*table)))
        .map(pg_sys::Oid::to_u32)
        .collect();
    let of_keys = constraints.into_iter().flat_map(|oid| Holder::of(oid.into()));
    let own = columns.map(|column| Holder { column, key: column });
    let narrow: Vec<_> = own.chain(of_keys).filter(Holder::is_narrow).collect();
    if !narrow.is_empty() {
        attempt("new columns could not be looked at", || {
            let Some(function) = LibraryFunction::of("snowflake_nextval") else { return Ok(()) };
            let takes_ids = |(table, number): Column| {
                Source::of(&Table::open(table), number, Some(&function)) == Source::Ids
            };
            narrow.iter().filter(|holder| takes_ids(holder.key)).for_each(Holder::warn);
            Ok(())
        });
    }
}

/// The foreign keys that refer to a table, by the triggers that keep them.
fn references_to(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let table = Table::open(table);
    // SAFETY: the relation is open, and there are as many triggers as it says.
    unsafe {
        let Some(all) = table.relation.trigdesc.as_ref() else { return Vec::new() };
        let triggers = std::slice::from_raw_parts(all.triggers, all.numtriggers as usize);
        let is_of_referenced = |trigger: &&pg_sys::Trigger| {
            pg_sys::RI_FKey_trigger_type(trigger.tgfoid) == pg_sys::RI_TRIGGER_PK as i32
        };
        triggers.iter().filter(is_of_referenced).map(|trigger| trigger.tgconstraint).collect()
    }
}

impl Holder {
    /// Those of a constraint, if it is a foreign key, and not one that a partition inherits. Locks
    /// nothing.
    fn of(constraint: pg_sys::Oid) -> Vec<Holder> {
        const MOST: usize = pg_sys::INDEX_MAX_KEYS as usize;
        let (mut count, mut own, mut others) = (0, [0; MOST], [0; MOST]);
        // SAFETY: the cache is one of these rows, and the arrays have room for all columns of a
        // key.
        let tables = unsafe {
            row(pg_sys::SysCacheIdentifier::CONSTROID, constraint, |row| {
                let key = &*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_constraint>();
                let is_foreign_key = key.contype == pg_sys::CONSTRAINT_FOREIGN as c_char;
                (is_foreign_key && key.conparentid == pg_sys::InvalidOid).then(|| {
                    let (own, others) = (own.as_mut_ptr(), others.as_mut_ptr());
                    let none = null_mut();
                    pg_sys::DeconstructFkConstraintRow(
                        row,
                        &raw mut count,
                        own,
                        others,
                        none,
                        none,
                        none,
                        null_mut(),
                        null_mut(),
                    );
                    (key.conrelid, key.confrelid)
                })
            })
        };
        let Some((table, other)) = tables.flatten() else { return Vec::new() };
        let pairs = own.into_iter().zip(others).take(count as usize);
        pairs.map(|(own, key)| Holder { column: (table, own), key: (other, key) }).collect()
    }

    fn is_narrow(&self) -> bool {
        // SAFETY: looks for the column by its number, and for the base of its type.
        unsafe {
            let of = pg_sys::get_atttype(self.column.0, self.column.1);
            of != pg_sys::InvalidOid && NARROW.contains(&pg_sys::getBaseType(of))
        }
    }

    fn warn(&self) {
        let ((table, number), (other, _)) = (self.column, self.key);
        // SAFETY: looks for the column by its number; the name is a string.
        let (of, raw_name) = unsafe {
            let name = CStr::from_ptr(pg_sys::get_attname(table, number, false));
            (type_name(pg_sys::get_atttype(table, number)), decode(name))
        };
        let (column, name) = (column_name(table, number), relation_name(table));
        let (holds, insert) = match self.column == self.key {
            true => ("takes", "takes one".to_owned()),
            false => ("refers to", format!("refers to a new row of {}", relation_name(other))),
        };
        let arguments = [spi::oid(table), spi::text(&raw_name)];
        let origins: Vec<String> = spi::query_now(ORIGINS, &arguments);
        let hint = match &origins[..] {
            [origin] => format!("Run ALTER TABLE {origin} ALTER COLUMN {column} TYPE bigint."),
            _ => format!(
                "Make it bigint in {}. PostgreSQL refuses this while a table inherits it from \
                 several: use ALTER TABLE ... NO INHERIT before, and INHERIT afterwards.",
                origins.join(" and ")
            ),
        };
        let warning = report::warning(format!(
            "column {column} of table {name} cannot hold the snowflake IDs that it {holds}"
        ))
        .set_detail(format!(
            "It is of type {of}. An INSERT that {insert} fails, because the ID is out of range."
        ))
        .set_hint(hint);
        report::send(warning, PgLogLevel::WARNING);
    }
}
