//! What becomes of the keys of the tables that a statement has created.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::iter::successors;

use pgrx::pg_sys::SysCacheIdentifier::{PARTRELID, SEQRELID};
use pgrx::prelude::*;
use pgrx::{PgList, PgRelation};
use snowflake_server::encoding::encode;
use snowflake_server::ours::Function;
use snowflake_server::report::{self, Report};
use snowflake_server::spi::execute_here;

use super::attempt::attempt;
use super::table::{
    NARROW, Table, column_name, columns, constant, nodes, quoted, relation_name, row, type_name,
};
use crate::settings::{self, adopted_schemas};

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
        let new = if is_adopted(table, &schemas) { new_columns(table, &added) } else { continue };
        if new.is_empty() {
            continue;
        }
        attempt("the new keys of a table could not be looked at", || {
            for (number, reason) in keys(table, &new, !added.contains(&0)) {
                if let Some(reason) = reason {
                    let (column, name) = (column_name(table, number), relation_name(table));
                    left.push(format!("Column {column} of table {name}: {reason}."));
                } else if let Some(function) = function.get_or_insert_with(ready) {
                    convert(table, number, function)?;
                }
            }
            Ok(())
        });
    }
    if left.is_empty() {
        return;
    }
    let detail = left.join("\n");
    let hint = if detail.contains(OF_TYPE) {
        "Declare keys as bigint, or convert the schema with snowflake_convert() when its migrations \
         have run."
    } else {
        "snowflake_convert_report(), of the extension snowflake_convert, says whether such a key can \
         be converted, and what to do first."
    };
    let notice = report::message("not all new keys were converted to snowflake IDs");
    report::send(notice.set_detail(detail).set_hint(hint), PgLogLevel::NOTICE);
}

const OF_TYPE: &str = "it is of type ";

/// The function whose values the keys take, if the server can issue IDs. Otherwise, a notice says what
/// is missing.
fn ready() -> Option<Function> {
    let fixed = settings::fixed();
    let missing = |error: settings::Error| {
        let report = error.report();
        (report::sentences(report.message(), None), report.hint().unwrap_or_default().to_owned())
    };
    let (reason, hint) = match Function::of("snowflake_nextval") {
        _ if !fixed.preloaded => missing(settings::Error::NotPreloaded),
        _ if fixed.identity.is_none() => missing(fixed.no_identity()),
        None => (
            "The database has no extension snowflake, or its snowflake_nextval() is not the \
             library's and a superuser's."
                .into(),
            "If it is missing, execute CREATE EXTENSION snowflake.".into(),
        ),
        function => return function,
    };
    let notice = report::message("keys of new tables were not converted to snowflake IDs");
    report::send(notice.set_detail(reason).set_hint(hint), PgLogLevel::NOTICE);
    None
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
fn new_columns(table: pg_sys::Oid, added: &[i16]) -> Vec<i16> {
    // SAFETY: looks for the constraint of a table by its OID, and reads the set that it gives.
    unsafe {
        let key = pg_sys::get_primary_key_attnos(table, true, &mut pg_sys::InvalidOid.clone());
        let after =
            |number: &i32| Some(pg_sys::bms_next_member(key, *number)).filter(|next| *next >= 0);
        let columns = successors(after(&-1), after).map(|member| (member + OFFSET) as i16);
        columns.filter(|column| added.contains(&0) || added.contains(column)).collect()
    }
}

/// What PostgreSQL subtracts from the number of a column in a set.
const OFFSET: i32 = pg_sys::FirstLowInvalidHeapAttributeNumber;

/// Those of these columns of a table that take values of a sequence, each with the reason why it stays
/// as it is, if it does.
fn keys(oid: pg_sys::Oid, numbers: &[i16], are_added: bool) -> Vec<(i16, Option<String>)> {
    let table = Table::open(oid);
    let occupied = (are_added && has_rows(oid)).then(|| "the table has rows".to_owned());
    let of = |number: &i16| Some((*number, key(&table, *number)?.or(occupied.clone())));
    numbers.iter().filter_map(of).collect()
}

/// Why a column stays as it is, if it does; `None` if it takes no values of a sequence.
fn key(table: &Table, number: i16) -> Option<Option<String>> {
    let descriptor = table.relation.tuple_desc();
    let column = descriptor.get(number as usize - 1)?;
    let (is_identity, of) = (column.attidentity != 0, column.atttypid);
    let is_narrow = NARROW.contains(&of);
    let (defaults, checks) = table.defaults_and_checks();
    let (own, others): (Vec<_>, Vec<_>) =
        defaults.into_iter().partition(|(column, _)| *column == number);
    let default = own.first().map_or("", |(_, default)| default);
    // What refers to another table takes its values from there.
    if !(is_narrow || of == pg_sys::INT8OID)
        || column.attinhcount > 0
        || column.attgenerated != 0
        || !(is_identity || takes_values(default, is_narrow))
        || table.foreign_keys().iter().any(|key| key.conkey.contains(&number))
    {
        return None;
    }
    if is_narrow {
        return Some(Some(format!("{OF_TYPE}{}", type_name(of))));
    }
    let others: Vec<_> = others.into_iter().map(|(_, default)| default).collect();
    let computes = |expression: &String| columns(expression).contains(&number);
    let sequence = owned_sequence(table.oid, number, if is_identity { b'i' } else { b'a' })
        .filter(|sequence| is_identity || default.contains(&constant(*sequence)));
    let reason = match sequence {
        None => "its default takes values of a sequence that it does not own",
        Some(sequence) if has_options(sequence) => "its sequence has options of its own",
        Some(sequence) if others.iter().any(|other| other.contains(&constant(sequence))) => {
            "another column uses its sequence"
        }
        _ if is_partitioned_by(table, number) => "the table is partitioned by it",
        _ if others.iter().chain(&table.indexes()).any(computes)
            || checks.iter().any(|check| limits(check, number)) =>
        {
            "something computes with it"
        }
        _ => return Some(None),
    };
    Some(Some(reason.into()))
}

/// Makes a column take values of the function, and keep its sequence.
fn convert(table: pg_sys::Oid, number: i16, function: &Function) -> Result<(), String> {
    let (name, column) = (relation_name(table), column_name(table, number));
    let schema = quoted(&encode(&function.schema));
    if let Some(sequence) = owned_sequence(table, number, b'i') {
        end_identity(table, number, sequence);
    }
    execute_here(&format!(
        "ALTER TABLE {name} ALTER {column} SET DEFAULT {schema}.snowflake_nextval()"
    ));
    // The statement has used names, and whoever owns a schema can have put another one in its place
    // meanwhile.
    // SAFETY: what it has done becomes visible.
    unsafe { pg_sys::CommandCounterIncrement() };
    let is_done = Table::open(table).calls(number, function.oid)
        && owned_sequence(table, number, b'a').is_some();
    let other = || "another session has put another schema in the place of one".into();
    is_done.then_some(()).ok_or_else(other)
}

/// Makes an identity column one that owns its sequence, as `bigserial` does. DROP IDENTITY and CREATE
/// SEQUENCE would do the same, but remove one file and create another, which takes longer than all the
/// rest. The statement that follows is refused to whoever does not own the table, which undoes this.
fn end_identity(table: pg_sys::Oid, number: i16, sequence: pg_sys::Oid) {
    use pg_sys::DependencyType::{DEPENDENCY_AUTO, DEPENDENCY_INTERNAL};
    const CLASS: pg_sys::Oid = pg_sys::RelationRelationId;
    let object = |relation, column: i16| pg_sys::ObjectAddress {
        classId: CLASS,
        objectId: relation,
        objectSubId: column.into(),
    };
    // SAFETY: the table and its partitions are locked, and the rows are copies of those of columns.
    unsafe {
        let rows =
            PgRelation::with_lock(pg_sys::AttributeRelationId, pg_sys::RowExclusiveLock as _);
        let name = pg_sys::get_attname(table, number, false);
        // Since PostgreSQL 17, partitions have the identity of their table.
        let is_partitioned =
            pg_sys::get_rel_relkind(table) as u8 == pg_sys::RELKIND_PARTITIONED_TABLE;
        for table in if is_partitioned { inheritors(table) } else { vec![table] } {
            let row = pg_sys::SearchSysCacheCopyAttName(table, name);
            (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_attribute>()).attidentity = 0;
            pg_sys::CatalogTupleUpdate(rows.as_ptr(), &raw mut (*row).t_self, row);
        }
        pg_sys::deleteDependencyRecordsForClass(CLASS, sequence, CLASS, DEPENDENCY_INTERNAL as _);
        pg_sys::recordDependencyOn(&object(sequence, 0), &object(table, number), DEPENDENCY_AUTO);
        pg_sys::CommandCounterIncrement();
    }
}

/// Whether a default is a value of a sequence, converted if the column is narrow, and nothing else.
fn takes_values(default: &str, is_narrow: bool) -> bool {
    const NEXTVAL: u32 = 1574;
    let shape = &["FUNCEXPR", "FUNCEXPR", "CONST"][usize::from(!is_narrow)..];
    nodes(default) == shape && default.contains(&format!(":funcid {NEXTVAL} "))
}

/// The sequence that belongs to a column as an identity (`i`) or by OWNED BY (`a`).
fn owned_sequence(table: pg_sys::Oid, column: i16, how: u8) -> Option<pg_sys::Oid> {
    let (mut of, mut number) = (pg_sys::InvalidOid, 0);
    // SAFETY: reads what depends on the table, and on what the sequences depend.
    let mut is_owned = |sequence: &pg_sys::Oid| unsafe {
        pg_sys::sequenceIsOwned(*sequence, how as c_char, &raw mut of, &raw mut number)
            && number == i32::from(column)
    };
    // SAFETY: as above; the list is one of OIDs.
    let owned = unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::getOwnedSequences(table)) };
    owned.iter_oid().find(|sequence| is_owned(sequence))
}

/// Whether a sequence is another one than `bigserial` makes.
fn has_options(sequence: pg_sys::Oid) -> bool {
    // SAFETY: the cache is one of these rows.
    let options = unsafe {
        row(SEQRELID, sequence, |row| {
            let of = &*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_sequence>();
            (of.seqstart, of.seqincrement, of.seqmin, of.seqmax, of.seqcache, of.seqcycle)
        })
    };
    options != Some((1, 1, 1, i64::MAX, 1, false))
}

/// Whether the ranges or lists of partitions are those of a column, or computed from it.
fn is_partitioned_by(table: &Table, column: i16) -> bool {
    const BY_HASH: c_char = b'h' as c_char;
    // SAFETY: the relation is open, and the cache is one of these rows.
    unsafe {
        let column = pg_sys::bms_make_singleton(i32::from(column) - OFFSET);
        pg_sys::has_partition_attrs(table.relation.as_ptr(), column, std::ptr::null_mut())
            && row(PARTRELID, table.oid, |row| {
                (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_partitioned_table>()).partstrat
            }) != Some(BY_HASH)
    }
}

/// Whether a check of this column alone might not hold for snowflake IDs. One that the key is above an
/// integer, or not equal to it, does.
fn limits(check: &str, column: i16) -> bool {
    /// The operators `<>`, `>` and `>=` of bigint and integer.
    const ABOVE: [&str; 3] = ["417", "419", "430"];
    let holds = nodes(check) == ["OPEXPR", "VAR", "CONST"]
        && ABOVE.iter().any(|operator| check.starts_with(&format!("{{OPEXPR :opno {operator} ")));
    let columns = columns(check);
    !holds && columns.contains(&column) && columns.iter().all(|other| *other == column)
}

/// Whether a table or one that inherits from it has rows. Adding a column with a default writes it
/// again, so that one without rows has no pages.
fn has_rows(table: pg_sys::Oid) -> bool {
    inheritors(table).into_iter().any(|table| {
        let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
        // SAFETY: the statement has locked the table.
        unsafe {
            pg_sys::get_rel_relkind(table) as u8 == pg_sys::RELKIND_RELATION
                && pg_sys::RelationGetNumberOfBlocksInFork(PgRelation::open(table).as_ptr(), fork)
                    > 0
        }
    })
}

/// A table, its partitions and the tables that inherit from it, which the statement has locked.
fn inheritors(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    // SAFETY: looks for them by an OID, and the list is one of OIDs.
    unsafe {
        let tables = pg_sys::find_all_inheritors(table, pg_sys::NoLock as _, std::ptr::null_mut());
        PgList::<pg_sys::Oid>::from_pg(tables).iter_oid().collect()
    }
}
