//! Integer columns that refer to snowflake IDs, which do not fit.

use std::ffi::c_char;

use crate::server::ours::Function;
use crate::server::report;
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::attempt::attempt;
use crate::key::Source;
use crate::table::{NARROW, Table, column_name, relation_name, row, type_name};

/// A column of a foreign key that is narrower than a snowflake ID, and the column that it refers to.
struct Narrow {
    table: pg_sys::Oid,
    column: i16,
    of: pg_sys::Oid,
    other: pg_sys::Oid,
    referenced: i16,
}

/// Warns of columns of new foreign keys that are too narrow for what they refer to.
pub fn warn(constraints: impl Iterator<Item = pg_sys::Oid>) {
    let all: Vec<_> = constraints.flat_map(Narrow::all).collect();
    if !all.is_empty() {
        attempt("new foreign keys could not be looked at", || {
            let Some(function) = Function::of("snowflake_nextval") else { return Ok(()) };
            let refers_to_ids = |key: &&Narrow| {
                Source::of(&Table::open(key.other), key.referenced, Some(&function)) == Source::Ids
            };
            all.iter().filter(refers_to_ids).for_each(Narrow::warn);
            Ok(())
        });
    }
}

impl Narrow {
    /// Those of a constraint, if it is a foreign key, and not one that a partition inherits.
    fn all(constraint: pg_sys::Oid) -> Vec<Narrow> {
        // SAFETY: the cache is one of these rows.
        let table = unsafe {
            row(pg_sys::SysCacheIdentifier::CONSTROID, constraint, |row| {
                let key = &*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_constraint>();
                let is_foreign_key = key.contype == pg_sys::CONSTRAINT_FOREIGN as c_char;
                (is_foreign_key && key.conparentid == pg_sys::InvalidOid).then_some(key.conrelid)
            })
        };
        let Some(table) = table.flatten() else { return Vec::new() };
        let keys =
            Table::open(table).foreign_keys().into_iter().filter(|key| key.conoid == constraint);
        let pairs = keys.flat_map(|key| {
            let pairs = key.conkey.into_iter().zip(key.confkey).take(key.nkeys as usize);
            pairs.map(move |pair| (key.confrelid, pair))
        });
        let all = pairs.map(|(other, (column, referenced))| {
            // SAFETY: looks for a column by its number.
            let of = unsafe { pg_sys::get_atttype(table, column) };
            Narrow { table, column, of, other, referenced }
        });
        all.filter(|all| NARROW.contains(&all.of)).collect()
    }

    fn warn(&self) {
        // SAFETY: looks for the tables that this one is a partition of; the list is one of OIDs.
        let tops =
            unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::get_partition_ancestors(self.table)) };
        let top = tops.iter_oid().last().unwrap_or(self.table);
        let (column, of) = (column_name(self.table, self.column), type_name(self.of));
        let [table, other, top] = [self.table, self.other, top].map(relation_name);
        let warning = report::warning(format!(
            "column {column} of table {table} cannot hold the snowflake IDs that it refers to"
        ))
        .set_detail(format!(
            "It is of type {of}. An INSERT that refers to a new row of {other} fails, because the ID \
             is out of range."
        ))
        .set_hint(format!("Run ALTER TABLE {top} ALTER COLUMN {column} TYPE bigint."));
        report::send(warning, PgLogLevel::WARNING);
    }
}
