//! The statements of a conversion or a reversion: those that the owner of the tables would write.

use std::collections::{BTreeMap, BTreeSet};

use PgSqlErrorCode::*;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::family::{
    Asked, Column, FORCED, Key, References, is_row_security_forced, number_in, owner_of,
    owner_of_caller,
};
use super::names::lock_schemas;
use crate::key::{Source, heirs, owned_sequences};
use crate::sequence::Sequence;
use crate::server::encoding::encode;
use crate::server::ours::Function;
use crate::server::report;
use crate::server::spi::query;
use crate::server::user::as_owner;
use crate::table::{Table, column_name, quoted, quoted_literal, relation_name, type_name};

/// A statement, and the table that it changes.
pub struct Statement {
    pub table: pg_sys::Oid,
    pub text: String,
}

/// What is to be done.
#[derive(Default)]
pub struct Plan {
    pub convert: Vec<Statement>,
    pub revert: Vec<Statement>,
    /// The tables to lock, those whose foreign keys are created again included.
    pub locks: BTreeSet<u32>,
    /// The keys, and where their values come from afterwards.
    pub keys: Vec<(Column, Source)>,
    /// The columns that are bigint afterwards.
    pub retyped: BTreeSet<Column>,
    /// Why other keys stay as they are.
    pub left: Vec<ErrorReport>,
}

impl Plan {
    fn push(&mut self, table: pg_sys::Oid, text: String) {
        self.convert.push(Statement { table, text });
    }

    fn push_back(&mut self, table: pg_sys::Oid, text: String) {
        self.revert.push(Statement { table, text });
    }

    fn lock(&mut self, table: pg_sys::Oid) {
        self.locks.extend(heirs(table).iter().map(|table| table.to_u32()));
    }

    /// Partitions have the foreign keys of their table, but children do not, and might be those of
    /// others.
    fn lock_end(&mut self, table: pg_sys::Oid) {
        // SAFETY: looks for the relation by its OID.
        let kind = unsafe { pg_sys::get_rel_relkind(table) } as u8;
        if kind == pg_sys::RELKIND_PARTITIONED_TABLE {
            self.lock(table);
        } else {
            self.locks.insert(table.to_u32());
        }
    }
}

/// Plans a conversion: `next_id` is the next ID. Of a schema, keys that are refused are left as they
/// are; otherwise, the refusal is the result.
pub fn conversion(asked: &Asked, function: &Function, next_id: i64) -> Result<Plan, ErrorReport> {
    let mut plan = Plan::default();
    let is_schema = matches!(asked, Asked::Schema(_));
    let mut allowed = Vec::new();
    for column in asked.columns(function)? {
        match Key::of(column, function) {
            Ok(key) => allowed.push(key),
            Err(refusal) if is_schema => plan.left.push(refusal),
            Err(refusal) => return Err(refusal),
        }
    }
    lock_schemas(allowed.iter().map(|key| key.column.table()));
    let mut columns = Vec::new();
    for key in allowed {
        match key.facts(next_id) {
            Ok(facts) => columns.push((key, facts)),
            Err(refusal) if is_schema => plan.left.push(refusal),
            Err(refusal) => return Err(refusal),
        }
    }
    let references = References::of(columns.iter().map(|(key, _)| key.column));
    let mut keys = BTreeMap::<u32, Vec<(Key, Facts)>>::new();
    for (key, facts) in columns {
        match references.retyped(key.column) {
            Ok(retyped) => {
                plan.retyped.extend(retyped);
                keys.entry(key.column.of).or_default().push((key, facts));
            }
            Err(refusal) if is_schema => plan.left.push(refusal),
            Err(refusal) => return Err(refusal),
        }
    }
    for column in plan.retyped.clone() {
        plan.lock(column.table());
        references.ends(column).for_each(|table| plan.lock_end(table.into()));
    }
    let mut tables: BTreeSet<_> = plan.retyped.iter().map(|column| column.of).collect();
    tables.extend(keys.keys());
    for of in references.in_order(&tables) {
        let table = pg_sys::Oid::from(of);
        let retyped = plan.retyped.iter().filter(|column| column.of == of);
        let mut actions: Vec<_> = retyped
            .map(|column| format!("ALTER COLUMN {} SET DATA TYPE bigint", column.name()))
            .collect();
        let changed = keys.remove(&of).unwrap_or_default();
        let changed: Vec<_> =
            changed.into_iter().filter(|(key, _)| key.source != Source::Ids).collect();
        for (key, _) in &changed {
            let name = key.column.name();
            if let Source::Identity(_) = key.source {
                actions.push(format!("ALTER COLUMN {name} DROP IDENTITY"));
            }
            let schema = quoted(&encode(&function.schema));
            actions.push(format!("ALTER COLUMN {name} SET DEFAULT {schema}.snowflake_nextval()"));
        }
        if actions.is_empty() {
            continue;
        }
        plan.lock(table);
        plan.push(table, format!("ALTER TABLE {} {};", relation_name(table), actions.join(", ")));
        for (key, facts) in changed {
            key.add(facts, &mut plan);
            plan.keys.push((key.column, Source::Ids));
        }
    }
    Ok(plan)
}

/// Plans the reversion of a column of snowflake IDs to the sequence that it owns.
pub fn reversion(column: Column, function: Option<&Function>) -> Result<Plan, ErrorReport> {
    owner_of_caller(column)?;
    let refuse = |reason: &str| {
        let (name, table) = (column.name(), relation_name(column.table()));
        let message = format!("column {name} of table {table} cannot be reverted");
        report::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message).set_detail(reason)
    };
    let table = Table::read(column.table());
    if Source::of(&table, column.number, function) != Source::Ids {
        return Err(refuse("Its default is not snowflake_nextval()."));
    }
    let [sequence] = owned_sequences(column.table(), column.number, b'a')[..] else {
        return Err(refuse("It does not own exactly one sequence.").set_hint(format!(
            "Let it own the sequence whose values it is to take, as in CREATE SEQUENCE ... OWNED BY {}.{}.",
            relation_name(column.table()),
            column.name()
        )));
    };
    if is_row_security_forced(&table) {
        return Err(refuse(FORCED));
    }
    let mut plan = Plan { keys: vec![(column, Source::Sequence(sequence))], ..Plan::default() };
    plan.lock(column.table());
    take_from(column.table(), column.name(), &Sequence::of(sequence), &mut plan);
    Ok(plan)
}

/// Appends the statements by which a column takes values of a sequence, above those that are there.
fn take_from(table: pg_sys::Oid, column: String, sequence: &Sequence, plan: &mut Plan) {
    let (name, relation) = (&sequence.name, relation_name(table));
    let literal = quoted_literal(name);
    if sequence.of != pg_sys::INT8OID {
        plan.push_back(table, format!("ALTER SEQUENCE {name} AS bigint;"));
    }
    if sequence.increment > 0 {
        plan.push_back(
            table,
            format!(
                "SELECT pg_catalog.setval({literal}, pg_catalog.max({column})) FROM {relation} \
                 HAVING pg_catalog.max({column}) OPERATOR(pg_catalog.>=) \
                 (SELECT last_value FROM {name});"
            ),
        );
    }
    plan.push_back(
        table,
        format!(
            "ALTER TABLE {relation} ALTER COLUMN {column} SET DEFAULT \
             pg_catalog.nextval({literal}::pg_catalog.regclass);"
        ),
    );
}

/// What a conversion reads of a key that takes values of a sequence, beside the catalog.
#[derive(Default)]
struct Facts {
    /// The last value of an identity's sequence, if there is one.
    last_value: Option<i64>,
    /// What the key was in partitions and children that have a default of their own: the table, its
    /// column, and the default, if there is one.
    defaults: Vec<(pg_sys::Oid, i16, Option<String>)>,
}

impl Key {
    /// Reads what has to be known. 55000 if the next ID is not above the largest key.
    fn facts(&self, next_id: i64) -> Result<Facts, ErrorReport> {
        let mut facts = Facts::default();
        let Key { column, source } = *self;
        // While this is open, the name is that of the table.
        let _table = Table::read(column.table());
        let owner = owner_of(column.table());
        let number = |query: &str| {
            let rows = as_owner(owner, || crate::server::spi::query(query, &[]));
            rows.first().and_then(|row| row[0].as_ref()?.parse::<i64>().ok())
        };
        if source == Source::Ids {
            return Ok(facts);
        }
        let largest =
            format!("SELECT max({}) FROM {}", column.name(), relation_name(column.table()));
        if let Some(largest) = number(&largest).filter(|largest| *largest >= next_id) {
            let reason = format!(
                "The next snowflake ID, {next_id}, is not above the largest key, {largest}."
            );
            return Err(column.refused(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, reason).set_hint(
                "Give the rows with these keys other ones. If no ID has been issued yet, an earlier epoch \
                 makes IDs larger.",
            ));
        }
        if let Source::Identity(sequence) = source {
            // SAFETY: the relation exists, or the lock does no harm.
            unsafe { pg_sys::LockRelationOid(sequence, pg_sys::AccessShareLock as _) };
            let name = relation_name(sequence);
            facts.last_value = number(&format!("SELECT last_value FROM {name} WHERE is_called"));
        }
        facts.defaults = defaults(column);
        Ok(facts)
    }

    /// Appends what follows the ALTER TABLE of a key, and what reverts both.
    fn add(&self, facts: Facts, plan: &mut Plan) {
        let (table, number) = (self.column.table(), self.column.number);
        let (column, relation) = (self.column.name(), relation_name(table));
        match self.source {
            Source::Sequence(sequence) => {
                take_from(table, column.clone(), &Sequence::of(sequence), plan);
            }
            Source::Identity(sequence) => {
                let sequence = Sequence::of(sequence);
                let (name, literal) = (&sequence.name, quoted_literal(&sequence.name));
                let is_always = |column: &pg_sys::FormData_pg_attribute| {
                    column.attidentity as u8 == pg_sys::ATTRIBUTE_IDENTITY_ALWAYS
                };
                let read = Table::read(table);
                let columns = read.relation.tuple_desc();
                let kind = match columns.get(number as usize - 1).is_some_and(is_always) {
                    true => "ALWAYS",
                    false => "BY DEFAULT",
                };
                let unlogged = if sequence.is_unlogged { "UNLOGGED " } else { "" };
                plan.push(
                    table,
                    format!(
                        "CREATE {unlogged}SEQUENCE {name} AS {} {} OWNED BY {relation}.{column};",
                        type_name(sequence.of),
                        sequence.options(sequence.maximum, sequence.minimum)
                    ),
                );
                if let Some(last) = facts.last_value {
                    plan.push(table, format!("SELECT pg_catalog.setval({literal}, {last});"));
                }
                plan.push_back(table, format!("DROP SEQUENCE {name};"));
                plan.push_back(
                    table,
                    format!(
                        "ALTER TABLE {relation} ALTER COLUMN {column} DROP DEFAULT, ALTER COLUMN {column} \
                         ADD GENERATED {kind} AS IDENTITY (SEQUENCE NAME {name} {});",
                        sequence.options_of_bigint()
                    ),
                );
                // GREATEST() and setval() leave NULL out. Without a last value, all keys might be
                // below the smallest one.
                let minimum = sequence.minimum;
                let to = match (sequence.increment > 0, facts.last_value) {
                    (true, Some(last)) => {
                        format!("GREATEST(pg_catalog.max({column}), {last})) FROM {relation}")
                    }
                    (true, None) => format!(
                        "pg_catalog.max({column})) FROM {relation} \
                         HAVING pg_catalog.max({column}) OPERATOR(pg_catalog.>=) '{minimum}'"
                    ),
                    (false, last) => {
                        format!("{})", last.map_or("NULL".into(), |last| last.to_string()))
                    }
                };
                plan.push_back(table, format!("SELECT pg_catalog.setval({literal}, {to};"));
            }
            Source::Nothing => {
                plan.push_back(
                    table,
                    format!("ALTER TABLE {relation} ALTER COLUMN {column} DROP DEFAULT;"),
                );
            }
            _ => {}
        }
        for (heir, number, default) in facts.defaults {
            let (name, column) = (relation_name(heir), column_name(heir, number));
            if let Source::Sequence(sequence) = Source::of(&Table::read(heir), number, None) {
                take_from(heir, column, &Sequence::of(sequence), plan);
                continue;
            }
            let action =
                default.map_or("DROP DEFAULT".into(), |default| format!("SET DEFAULT {default}"));
            plan.push_back(heir, format!("ALTER TABLE {name} ALTER COLUMN {column} {action};"));
        }
    }
}

/// Defaults of a column in the tables that inherit it, where they are not those of the column itself.
fn defaults(column: Column) -> Vec<(pg_sys::Oid, i16, Option<String>)> {
    const DEFAULT: &str = "
        SELECT attidentity, pg_get_expr(adbin, adrelid)
        FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
        WHERE attrelid = $1 AND attnum = $2";
    let of = |table: pg_sys::Oid, number: i16| {
        let arguments =
            [(Some(table.into()), pg_sys::OIDOID), (Some(number.into()), pg_sys::INT2OID)];
        query(DEFAULT, &arguments).swap_remove(0)
    };
    let all = heirs(column.table());
    if all.len() == 1 {
        return Vec::new();
    }
    let own = of(column.table(), column.number);
    let heirs = all.into_iter().filter(|heir| *heir != column.table());
    let found = heirs.filter_map(|heir| {
        let number = number_in(heir, column);
        let mut default = of(heir, number);
        let expression = default.pop().flatten();
        // Since PostgreSQL 17, partitions have the identity of their table.
        let is_identity = default[0].as_deref() != Some("");
        (expression != own[1] && !is_identity).then_some((heir, number, expression))
    });
    found.collect()
}
