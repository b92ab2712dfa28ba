//! Integer columns that refer to snowflake IDs, which do not fit.

use pgrx::prelude::*;
use snowflake_server::report;
use snowflake_server::spi::{PlannedQuery, by_index, text, texts};

use super::attempt::{attempt, fields};
use super::function::Function;

/// A row: a column of a foreign key in `$1` that is too narrow for the values of the function `$2`,
/// which the default of the column that it refers to calls; its table and its type; the other table;
/// and the table to change it in, which is the root of a partition. OFFSET 0 keeps the order of the
/// joins, because any other might read all defaults.
const NARROW: &str = "
    SELECT DISTINCT quote_ident(a.attname), k.conrelid::regclass, format_type(a.atttypid, NULL),
           k.confrelid::regclass, coalesce(pg_partition_root(k.conrelid), k.conrelid)
    FROM pg_constraint AS k
    CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair (referencing, referenced)
    CROSS JOIN LATERAL (
        SELECT attname, atttypid FROM pg_attribute
        WHERE (attrelid, attnum) = (k.conrelid, referencing) OFFSET 0
    ) AS a
    CROSS JOIN LATERAL (
        SELECT oid FROM pg_attrdef WHERE (adrelid, adnum) = (k.confrelid, referenced) OFFSET 0
    ) AS d
    CROSS JOIN LATERAL (
        SELECT FROM pg_depend
        WHERE (classid, objid) = ('pg_attrdef'::regclass, d.oid)
          AND refclassid = 'pg_proc'::regclass AND refobjid IS NOT DISTINCT FROM $2::text::oid
        OFFSET 0
    ) AS calls
    WHERE k.oid = ANY ($1::text::oid[]) AND k.contype = 'f' AND k.conparentid = 0
      AND a.atttypid IN ('smallint'::regtype, 'integer'::regtype)
    ORDER BY 2, 1";

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(NARROW) };
}

/// Warns of columns of new foreign keys that are too narrow for what they refer to.
pub fn warn(constraints: impl Iterator<Item = pg_sys::Oid>) {
    let keys: Vec<String> =
        constraints.filter(is_foreign_key).map(|k| k.to_u32().to_string()).collect();
    if keys.is_empty() {
        return;
    }
    attempt("new foreign keys could not be looked at", || {
        let narrow = |function: Function| {
            QUERY.with(|query| query.rows_by_index(&[texts(&keys), text(&function.oid)]))
        };
        for row in by_index(|| Function::find().map(narrow)).unwrap_or_default() {
            let [column, table, of, other, top] = fields(row).map(|field| field.expect("not NULL"));
            let warning = report::message(format!(
                "column {column} of table {table} cannot hold the snowflake IDs that it refers to"
            ))
            .set_detail(format!(
                "It is of type {of}. An INSERT that refers to a new row of {other} fails, because the ID \
                 is out of range."
            ))
            .set_hint(format!("Run ALTER TABLE {top} ALTER COLUMN {column} TYPE bigint."));
            report::send(warning, PgLogLevel::WARNING);
        }
        Ok(())
    });
}

/// Whether a constraint is a foreign key. There are constraints of other kinds in most tables, and
/// looking at those costs next to nothing.
fn is_foreign_key(constraint: &pg_sys::Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::CONSTROID as _;
    // SAFETY: the cache is that of constraints by their OIDs. The row is released.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache, (*constraint).into());
        if row.is_null() {
            return false;
        }
        let constraint = pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_constraint>();
        let kind = (*constraint).contype;
        pg_sys::ReleaseSysCache(row);
        kind == pg_sys::CONSTRAINT_FOREIGN as std::ffi::c_char
    }
}
