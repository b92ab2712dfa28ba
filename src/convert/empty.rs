//! The conversion of columns of tables without rows.

use std::cell::Cell;

use pgrx::prelude::*;

use super::execution::change;
use super::functions::functions;
use super::keys::Keys;
use super::obstacle::Obstacle;
use super::plan::{Direction, Plan, Statements};
use super::rows::{fields, oid};
use super::trust::{Names, oids};
use crate::server::catalog::{self, query, query_now};
use crate::server::patience::Patience;

/// Why a column was not converted.
pub enum NotConverted {
    /// Its table has rows, or another table that would be rewritten has rows.
    HasRows,
    Obstacle(Obstacle),
}

impl From<Obstacle> for NotConverted {
    fn from(obstacle: Obstacle) -> NotConverted {
        NotConverted::Obstacle(obstacle)
    }
}

/// Converts a column as `snowflake_convert()` does, if no table that is concerned has rows. It does
/// not look for functions that might need `bigint`, unless a table has triggers, which might call
/// some.
///
/// The statement of the user has locked some tables already. If this session waited in the queue
/// for another table, it would deadlock with a session that has locked that table and waits for one
/// of these, so no lock is waited for in the queue.
pub fn convert_if_empty(keys: Keys, patience: &Patience) -> Result<(), NotConverted> {
    lock_what_is_read(&keys, patience)?;
    let plan = Plan {
        keys,
        direction: Direction::Convert,
        recreate: true,
        validate: true,
        is_report: false,
        with_functions: false,
    };
    let has_rows = Cell::new(false);
    let refuse_rows = |planned: &Statements| {
        let is_occupied = |table: &String| has_row(planned, table);
        match planned.tables.iter().find(|table| is_occupied(table)) {
            None => Ok(()),
            Some(table) => {
                has_rows.set(true);
                Err(Obstacle::changed(table))
            }
        }
    };
    let check = |planned: &Statements| {
        if have_triggers(planned) {
            functions(&plan.arguments(None), None).check_acknowledged()?;
        }
        // Also before the locks, so that other sessions are not kept from using a table with rows.
        refuse_rows(planned)?;
        lock(&plan, planned, patience)?;
        refuse_rows(planned)
    };
    match change(&plan, false, check) {
        Err(_) if has_rows.get() => Err(NotConverted::HasRows),
        result => Ok(result.map(|_| ())?),
    }
}

fn has_row(planned: &Statements, table: &str) -> bool {
    let row = format!("SELECT FROM {table} LIMIT 1");
    !catalog::as_owner(planned.owner.role, || query_now(&row, &[])).is_empty()
}

fn have_triggers(planned: &Statements) -> bool {
    const TRIGGERS: &str =
        "SELECT FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = ANY ($1::oid[])";
    !query(TRIGGERS, &[oids(planned.names.iter().map(|(table, _)| table))]).is_empty()
}

/// Locks what the queries of a conversion lock as they read it: the tables that are connected by
/// foreign keys or inheritance, the views on them, and what these views read.
fn lock_what_is_read(keys: &Keys, patience: &Patience) -> Result<(), Obstacle> {
    for row in query(include_str!("read.sql"), &keys.column()) {
        let [relation, name] = fields(row);
        let (relation, name) = (oid(relation.expect("a relation")), name.expect("a name"));
        lock_relation(patience, relation, pg_sys::AccessShareLock, &name)?;
    }
    Ok(())
}

/// Locks the tables and views that are changed.
fn lock(plan: &Plan, planned: &Statements, patience: &Patience) -> Result<(), Obstacle> {
    let lock =
        |relation, name: &str| lock_relation(patience, relation, pg_sys::AccessExclusiveLock, name);
    // Views before tables, as in `Plan::lock_views`. A view without a name is gone.
    let views = plan.views();
    let names = Names::of(&views);
    for view in views {
        names.name(view).map_or(Ok(()), |name| lock(view, name))?;
    }
    planned.names.iter().try_for_each(|(table, name)| lock(table, name))
}

fn lock_relation(
    patience: &Patience,
    relation: pg_sys::Oid,
    mode: u32,
    name: &str,
) -> Result<(), Obstacle> {
    if patience.lock(relation, mode) {
        return Ok(());
    }
    Err(Obstacle {
        sqlstate: PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
        object: name.into(),
        message: format!("could not lock relation {name}"),
        detail: Some("Other sessions used it for as long as deadlock_timeout.".into()),
        hint: None,
    })
}
