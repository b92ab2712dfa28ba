//! What becomes of the keys of the tables that a statement has created.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};

use pgrx::prelude::*;
use snowflake_server::report;
use snowflake_server::spi::{PlannedQuery, by_index, execute_here, text};

use super::attempt::{attempt, fields};
use super::function::Function;
use crate::settings::adopted_schemas;

/// A column that takes values of a sequence and belongs to the primary key. All names are quoted.
struct Key {
    table: String,
    column: String,
    /// The number of the column.
    number: String,
    /// Why it stays as it is, if it does.
    reason: Option<String>,
    /// The sequence of an identity column.
    identity: Option<String>,
}

/// Gives keys of tables that were created, and of columns that were added, snowflake IDs. The
/// number of a column is 0 for a table.
pub fn adopt(created: impl Iterator<Item = (pg_sys::Oid, i16)>) {
    let schemas = adopted_schemas();
    let mut tables = BTreeMap::<u32, Vec<i16>>::new();
    for (table, column) in created {
        tables.entry(table.to_u32()).or_default().push(column);
    }
    let mut left = Vec::new();
    let mut function = None;
    for (oid, added) in tables {
        let table = pg_sys::Oid::from(oid);
        if !is_adopted(table, &schemas) {
            continue;
        }
        attempt("the new keys of a table could not be looked at", || {
            let columns = new_columns(table, &added);
            if columns.is_empty() {
                return Ok(());
            }
            let (keys, found) = by_index(|| (Key::of(table, &columns, &added), Function::find()));
            let (stay, convert): (Vec<_>, Vec<_>) =
                keys.into_iter().partition(|key| key.reason.is_some());
            left.extend(stay);
            if !convert.is_empty()
                && let Some(function) = function.get_or_insert_with(|| Function::ready(found))
            {
                convert.iter().try_for_each(|key| key.convert(table, function))?;
            }
            Ok(())
        });
    }
    if !left.is_empty() {
        report::send(notice(&left), PgLogLevel::NOTICE);
    }
}

/// Whether a relation is a table, and not a temporary one, in one of the schemas.
fn is_adopted(relation: pg_sys::Oid, schemas: &[impl AsRef<CStr>]) -> bool {
    const TABLES: [u8; 2] = [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE];
    // SAFETY: look for the relation by its OID; the name is NULL or a string.
    unsafe {
        if !TABLES.contains(&(pg_sys::get_rel_relkind(relation) as u8))
            || pg_sys::get_rel_persistence(relation) == pg_sys::RELPERSISTENCE_TEMP as c_char
        {
            return false;
        }
        let name = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        if name.is_null() {
            return false;
        }
        let name = CStr::from_ptr(name);
        let is_system = name.to_bytes().starts_with(b"pg_") || name == c"information_schema";
        !is_system && schemas.iter().any(|schema| [name, c"*"].contains(&schema.as_ref()))
    }
}

/// The numbers of the columns of the table's primary key that are new.
fn new_columns(table: pg_sys::Oid, added: &[i16]) -> Vec<String> {
    let (mut constraint, mut number) = (pg_sys::InvalidOid, -1);
    let mut numbers = Vec::new();
    // SAFETY: looks for the constraint of a table by its OID, and reads the set that it gives.
    unsafe {
        let key = pg_sys::get_primary_key_attnos(table, true, &raw mut constraint);
        while {
            number = pg_sys::bms_next_member(key, number);
            number >= 0
        } {
            let column = (number + pg_sys::FirstLowInvalidHeapAttributeNumber) as i16;
            if added.contains(&0) || added.contains(&column) {
                numbers.push(column.to_string());
            }
        }
    }
    numbers
}

/// Says which keys stay as they are, and what to do about those that are too narrow.
fn notice(left: &[Key]) -> pg_sys::panic::ErrorReport {
    let reason = |key: &Key| key.reason.clone().unwrap_or_default();
    let line =
        |key: &Key| format!("Column {} of table {}: {}.", key.column, key.table, reason(key));
    let notice = report::message("not all new keys were converted to snowflake IDs")
        .set_detail(left.iter().map(line).collect::<Vec<_>>().join("\n"));
    if !left.iter().any(|key| reason(key).starts_with("it is of type")) {
        return notice;
    }
    notice.set_hint(
        "Declare keys as bigint, or convert the schema with snowflake_convert() when its \
         migrations have run.",
    )
}

impl Key {
    /// Those among columns of a table.
    fn of(table: pg_sys::Oid, columns: &[String], added: &[i16]) -> Vec<Key> {
        const ROWS: &str = "
            WITH RECURSIVE family(relation) AS (
                SELECT $1
                UNION
                SELECT inhrelid FROM family JOIN pg_inherits ON inhparent = relation
            )
            SELECT FROM family WHERE pg_relation_size(relation) > 0 LIMIT 1";
        thread_local! {
            static KEYS: PlannedQuery = const { PlannedQuery::new(include_str!("keys.sql")) };
            static OCCUPIED: PlannedQuery = const { PlannedQuery::new(ROWS) };
        }
        let table = (Some(table.into()), pg_sys::OIDOID);
        let columns = text(&format!("{{{}}}", columns.join(",")));
        let rows = KEYS.with(|query| query.rows_by_index(&[table, columns]));
        // Adding the column has written the table again, so one without rows has no pages.
        let has_rows =
            !added.contains(&0) && !OCCUPIED.with(|query| query.rows_by_index(&[table])).is_empty();
        let key = |row| {
            let [table, column, number, reason, identity] = fields(row);
            let [table, column, number] =
                [table, column, number].map(|field| field.expect("not NULL"));
            let reason = reason.or(has_rows.then(|| "the table has rows".into()));
            Key { table, column, number, reason, identity }
        };
        rows.into_iter().map(key).collect()
    }

    /// Makes the column take values of the function, and keep its sequence.
    fn convert(&self, relation: pg_sys::Oid, function: &Function) -> Result<(), String> {
        let Key { table, column, .. } = self;
        let alter = format!("ALTER TABLE {table} ALTER COLUMN {column}");
        if let Some(sequence) = &self.identity {
            // SAFETY: the relation exists.
            let persistence = unsafe { pg_sys::get_rel_persistence(relation) };
            let is_unlogged = persistence == pg_sys::RELPERSISTENCE_UNLOGGED as c_char;
            let unlogged = if is_unlogged { "UNLOGGED " } else { "" };
            execute_here(&format!("{alter} DROP IDENTITY"));
            execute_here(&format!(
                "CREATE {unlogged}SEQUENCE {sequence} OWNED BY {table}.{column}"
            ));
        }
        execute_here(&format!("{alter} SET DEFAULT {}()", function.name));
        self.check(relation, function)
    }

    /// Fails unless the column of this OID calls the function now, and owns a sequence. The
    /// statements have used names, and whoever owns a schema can have put another one in its place
    /// meanwhile.
    fn check(&self, relation: pg_sys::Oid, function: &Function) -> Result<(), String> {
        const CALLS: &str = "
            SELECT FROM pg_attrdef AS d
            CROSS JOIN LATERAL (
                SELECT FROM pg_depend
                WHERE (classid, objid) = ('pg_attrdef'::regclass, d.oid)
                  AND refclassid = 'pg_proc'::regclass
                  AND refobjid IS NOT DISTINCT FROM $3::text::oid
                OFFSET 0
            ) AS calls
            CROSS JOIN LATERAL (
                SELECT objid FROM pg_depend
                WHERE (refclassid, refobjid, refobjsubid, deptype)
                    = ('pg_class'::regclass, d.adrelid, d.adnum, 'a')
                  AND classid IS NOT DISTINCT FROM 'pg_class'::regclass
                OFFSET 0
            ) AS owned
            WHERE d.adrelid = $1 AND d.adnum = $2::text::smallint
              AND EXISTS (SELECT FROM pg_sequence WHERE seqrelid = owned.objid OFFSET 0)";
        thread_local! {
            static QUERY: PlannedQuery = const { PlannedQuery::new(CALLS) };
        }
        let relation = (Some(relation.into()), pg_sys::OIDOID);
        let arguments = [relation, text(&self.number), text(&function.oid)];
        match by_index(|| QUERY.with(|query| query.rows_by_index(&arguments))).is_empty() {
            true => Err("another session has put another schema in the place of one".into()),
            false => Ok(()),
        }
    }
}
