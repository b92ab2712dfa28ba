//! Conversion of the keys of the tables that a statement has created.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};

use crate::pg::encoding::encode;
use crate::pg::library_function::LibraryFunction;
use crate::pg::report::{self, ErrorReport};
use crate::pg::spi::execute_here;
use pgrx::pg_sys::NodeTag::{T_Const, T_OpExpr, T_Var};
use pgrx::pg_sys::SysCacheIdentifier::CONSTROID;
use pgrx::prelude::*;
use pgrx::{PgList, PgRelation};

use super::attempt::attempt;
use crate::keys::key::{
    Source, inheritors, is_partitioned_by, is_plain, is_reference, of_primary_key, owned_sequences,
};
use crate::keys::table::{
    Table, column_name, columns, constant, has_type, node, quoted, relation_name, row, type_name,
};
use crate::settings::{self, adopted_schemas};

/// Gives keys of tables that were created, and of columns that were added, snowflake IDs, and
/// returns the tables of these keys. The number of a column is 0 for a table.
pub fn adopt(created: impl Iterator<Item = (pg_sys::Oid, i16)>) -> Vec<pg_sys::Oid> {
    let schemas = adopted_schemas();
    let mut tables = BTreeMap::<u32, Vec<i16>>::new();
    for (table, column) in created {
        tables.entry(table.to_u32()).or_default().push(column);
    }
    let (mut adopted, mut left, mut has_other_types) = (Vec::new(), Vec::new(), false);
    let mut function = None;
    for (oid, added) in tables {
        let table = pg_sys::Oid::from(oid);
        if !is_adopted(table, &schemas) {
            continue;
        }
        let is_new = |number: &i16| added.contains(&0) || added.contains(number);
        let new: Vec<_> = of_primary_key(table).into_iter().filter(is_new).collect();
        if new.is_empty() {
            continue;
        }
        attempt("the new keys of a table could not be looked at", || {
            for (number, key) in keys(table, &new, !added.contains(&0)) {
                if let Err(reason) = key {
                    let (column, name) = (column_name(table, number), relation_name(table));
                    has_other_types |= !has_type(table, number, pg_sys::INT8OID);
                    left.push(format!("Column {column} of table {name}: {reason}."));
                } else if let Some(function) = function.get_or_insert_with(ready) {
                    convert(table, number, function)?;
                    adopted.push(table);
                }
            }
            Ok(())
        });
    }
    if left.is_empty() {
        return adopted;
    }
    let hint = if has_other_types {
        "Declare keys as bigint, or execute what snowflake_conversion() prints for the schema when \
         its migrations have run."
    } else {
        "If such a key is to take snowflake IDs, execute what snowflake_conversion() prints for it."
    };
    let notice = report::message("not all new keys were converted to snowflake IDs");
    report::send(notice.set_detail(left.join("\n")).set_hint(hint), PgLogLevel::NOTICE);
    adopted
}

/// The function whose values the keys take, if the server can issue IDs. Otherwise, a warning says
/// what is missing: the setting asks for what cannot be done.
fn ready() -> Option<LibraryFunction> {
    let fixed = settings::fixed();
    let missing = |report: ErrorReport| {
        (report::sentences(&report.message, None), report.hint.unwrap_or_default())
    };
    let function = LibraryFunction::of("snowflake_nextval");
    let (reason, hint) = match &function {
        _ if !fixed.preloaded => missing(settings::not_preloaded()),
        _ if fixed.identity.is_none() => missing(fixed.no_identity()),
        None => (
            "The database has no extension snowflake, or its snowflake_nextval() is not the \
             library's and a superuser's."
                .into(),
            "If it is missing, execute CREATE EXTENSION snowflake.".into(),
        ),
        Some(function) if !function.is_allowed() => (
            "The role may not execute snowflake_nextval().".into(),
            "Grant EXECUTE on it to this role and to those that insert.".into(),
        ),
        Some(_) => return function,
    };
    let warning = report::warning("keys of new tables were not converted to snowflake IDs");
    report::send(warning.set_detail(reason).set_hint(hint), PgLogLevel::WARNING);
    None
}

/// The columns of a constraint that is a primary key: they are new keys, as those are that become
/// bigint.
pub fn of_new_primary_key(constraint: pg_sys::Oid) -> Vec<(pg_sys::Oid, i16)> {
    const PRIMARY: c_char = pg_sys::CONSTRAINT_PRIMARY as c_char;
    // SAFETY: the cache is one of these rows.
    let table = unsafe {
        row(CONSTROID, constraint, |row| {
            let key = &*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_constraint>();
            (key.contype == PRIMARY).then_some(key.conrelid)
        })
    };
    let of = |table| of_primary_key(table).into_iter().map(move |number| (table, number));
    table.flatten().into_iter().flat_map(of).collect()
}

/// Returns whether a relation is a table, and not a temporary one, in one of the schemas.
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

/// Those of these columns of a table that take values of a sequence, each with an error if it has
/// to stay as it is: the reason.
fn keys(oid: pg_sys::Oid, numbers: &[i16], are_added: bool) -> Vec<(i16, Result<(), String>)> {
    let table = Table::open(oid);
    let has_rows = are_added && has_rows(oid);
    let unless_occupied = |()| match has_rows {
        true => Err("the table has had rows".to_owned()),
        false => Ok(()),
    };
    let of = |number: &i16| Some((*number, key(&table, *number)?.and_then(unless_occupied)));
    numbers.iter().filter_map(of).collect()
}

/// Returns whether a column can take IDs; `None` if it takes no values of a sequence.
fn key(table: &Table, number: i16) -> Option<Result<(), String>> {
    let descriptor = table.relation.tuple_desc();
    let column = descriptor.get(number as usize - 1)?;
    let (of, source) = (column.atttypid, Source::of(table, number, None));
    let takes_sequence =
        matches!(source, Source::Identity(_) | Source::Sequence(_) | Source::Computed);
    // SAFETY: an open relation has its row of pg_class.
    let is_partition = unsafe { (*table.relation.rd_rel).relispartition };
    if is_partition || !takes_sequence || is_reference(table, number) {
        return None;
    }
    if of != pg_sys::INT8OID {
        return Some(Err(format!("it is of type {}", type_name(of))));
    }
    let (defaults, checks) = table.defaults_and_checks();
    let others = defaults.into_iter().filter(|(column, _)| *column != number);
    let others: Vec<_> = others.map(|(_, default)| default).collect();
    let computes = |expression: &String| columns(expression).contains(&number);
    let sequence = match source {
        Source::Sequence(used) => {
            owned_sequences(table.oid, number, b'a').into_iter().find(|owned| *owned == used)
        }
        Source::Identity(sequence) => Some(sequence),
        _ => None,
    };
    let reason = match sequence {
        None if source == Source::Computed => {
            "its default does more than take the next value of a sequence"
        }
        None => "its default takes values of a sequence that it does not own",
        Some(sequence) if !is_plain(sequence) => "its sequence has options of its own",
        Some(sequence) if others.iter().any(|other| other.contains(&constant(sequence))) => {
            "another column uses its sequence"
        }
        _ if has_another_default_below(table, number, source) => {
            "a table that inherits it has another default"
        }
        _ if is_partitioned_by(table.oid, number) => "the table is partitioned by it",
        _ if others.iter().chain(&table.indexes()).any(computes)
            || checks.iter().any(|check| limits(check, number)) =>
        {
            "something computes with it"
        }
        _ => return Some(Ok(())),
    };
    Some(Err(reason.to_owned()))
}

/// Returns whether a column is inherited by a table, not a partition, that takes other values. A
/// new default reaches all of these tables.
fn has_another_default_below(table: &Table, number: i16, source: Source) -> bool {
    // SAFETY: an open relation has its row of pg_class.
    let has_inheritors = unsafe {
        let row = &*table.relation.rd_rel;
        row.relhassubclass && row.relkind as u8 == pg_sys::RELKIND_RELATION
    };
    let differs = |inheritor: pg_sys::Oid| {
        // SAFETY: looks for the column by its number, and for one of the same name.
        let own =
            unsafe { pg_sys::get_attnum(inheritor, pg_sys::get_attname(table.oid, number, false)) };
        ![source, Source::Nothing].contains(&Source::of(&Table::open(inheritor), own, None))
    };
    has_inheritors && inheritors(table.oid, pg_sys::AccessShareLock).into_iter().any(differs)
}

/// Makes a column take values of the function, and keep its sequence.
fn convert(table: pg_sys::Oid, number: i16, function: &LibraryFunction) -> Result<(), String> {
    let (name, column) = (relation_name(table), column_name(table, number));
    let schema = quoted(&encode(&function.schema));
    if let [sequence] = owned_sequences(table, number, b'i')[..] {
        end_identity(table, number, sequence);
    }
    execute_here(&format!(
        "ALTER TABLE {name} ALTER {column} SET DEFAULT {schema}.snowflake_nextval()"
    ));
    // The statement has used names, and whoever owns a schema can have put another one in its place
    // meanwhile.
    // SAFETY: what it has done becomes visible.
    unsafe { pg_sys::CommandCounterIncrement() };
    let is_done = Source::of(&Table::open(table), number, Some(function)) == Source::Ids
        && !owned_sequences(table, number, b'a').is_empty();
    let other = || "another session has put another schema in the place of one".into();
    is_done.then_some(()).ok_or_else(other)
}

/// Makes an identity column one that owns its sequence, as `bigserial` does. DROP IDENTITY and
/// CREATE SEQUENCE would do the same, but remove one file and create another, which takes longer
/// than all the rest. The statement that follows is refused to whoever does not own the table,
/// which undoes this.
fn end_identity(table: pg_sys::Oid, number: i16, sequence: pg_sys::Oid) {
    use pg_sys::DependencyType::{DEPENDENCY_AUTO, DEPENDENCY_INTERNAL};
    const CLASS: pg_sys::Oid = pg_sys::RelationRelationId;
    let object = |relation, column: i16| pg_sys::ObjectAddress {
        classId: CLASS,
        objectId: relation,
        objectSubId: column.into(),
    };
    // SAFETY: the table and its partitions are locked, so the rows are there, and are copies.
    unsafe {
        let rows =
            PgRelation::with_lock(pg_sys::AttributeRelationId, pg_sys::RowExclusiveLock as _);
        let name = pg_sys::get_attname(table, number, false);
        // Since PostgreSQL 17, an identity column is one in partitions, too.
        let is_partitioned =
            pg_sys::get_rel_relkind(table) as u8 == pg_sys::RELKIND_PARTITIONED_TABLE;
        // ALTER TABLE ONLY has not locked them. The statement that follows locks them like this.
        let partitions = || inheritors(table, pg_sys::AccessExclusiveLock);
        for table in if is_partitioned { partitions() } else { vec![table] } {
            let row = pg_sys::SearchSysCacheCopyAttName(table, name);
            (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_attribute>()).attidentity = 0;
            pg_sys::CatalogTupleUpdate(rows.as_ptr(), &raw mut (*row).t_self, row);
        }
        pg_sys::deleteDependencyRecordsForClass(CLASS, sequence, CLASS, DEPENDENCY_INTERNAL as _);
        pg_sys::recordDependencyOn(&object(sequence, 0), &object(table, number), DEPENDENCY_AUTO);
        pg_sys::CommandCounterIncrement();
    }
}

/// Returns whether a check of this column alone might not hold for snowflake IDs. One that the key
/// is above an integer, or not equal to it, does.
fn limits(check: &str, column: i16) -> bool {
    /// The operators `<>`, `>` and `>=` of bigint and integer.
    const ABOVE: [u32; 3] = [417, 419, 430];
    // SAFETY: a node is of the type that its tag says, and its list is one of nodes.
    let holds = unsafe {
        let node = node(check);
        (*node).type_ == T_OpExpr && {
            let operation = &*node.cast::<pg_sys::OpExpr>();
            let operands = PgList::<pg_sys::Node>::from_pg(operation.args);
            ABOVE.contains(&operation.opno.to_u32())
                && operands.iter_ptr().map(|node| (*node).type_).eq([T_Var, T_Const])
        }
    };
    let columns = columns(check);
    !holds && columns.contains(&column) && columns.iter().all(|other| *other == column)
}

/// Returns whether a table or one that inherits from it has rows. Adding a column with a default
/// writes it again, so that one without rows has no pages.
fn has_rows(table: pg_sys::Oid) -> bool {
    inheritors(table, pg_sys::AccessShareLock).into_iter().any(|table| {
        let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
        // SAFETY: the table is locked.
        unsafe {
            pg_sys::get_rel_relkind(table) as u8 == pg_sys::RELKIND_RELATION
                && pg_sys::RelationGetNumberOfBlocksInFork(PgRelation::open(table).as_ptr(), fork)
                    > 0
        }
    })
}
