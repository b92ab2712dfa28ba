//! Which schemas are adopted: a table of the extension.

use pgrx::prelude::*;

use super::attempt::{attempt, warn};
use super::error::Error;
use crate::convert::Obstacle;
use crate::server::catalog::{PlannedQuery, query};
use crate::server::own_table::{OwnTable, text};
use crate::server::report::{self, OrRaise};

/// The table, with nobody else who changes it until the transaction ends.
pub struct Schemas {
    table: OwnTable,
}

/// A row: an adopted schema that does not exist.
const GONE: &str = "
    SELECT a.schema FROM snowflake_adopt_internal.adopted_schemas AS a
    WHERE NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = a.schema)";

thread_local! {
    static IS_ANY_GONE: PlannedQuery = const { PlannedQuery::new(GONE) };
}

impl Schemas {
    /// Locks the table, if the current role owns the schema.
    pub fn of_owner(function: pg_sys::Oid, schema: &str) -> Result<Schemas, Error> {
        const OWNED: &str = "
            SELECT pg_has_role(nspowner, 'USAGE'), nspname ~ '^pg_' OR nspname = 'information_schema'
            FROM pg_namespace WHERE nspname = $1";
        let Some(row) = query(OWNED, &[text(schema)]).pop() else {
            return Err(Error::NoSchema(schema.into()));
        };
        let is = |column: usize| row[column].as_deref() == Some("t");
        if is(1) {
            return Err(Error::OfSystem(schema.into()));
        } else if !is(0) {
            return Err(Error::NotOwner(schema.into()));
        }
        Schemas::locked(function)
    }

    fn locked(function: pg_sys::Oid) -> Result<Schemas, Error> {
        let table = OwnTable::of(function, "adopted_schemas").ok_or(Error::NoTable)?;
        table.lock()?;
        Ok(Schemas { table })
    }

    /// Whether this is new.
    pub fn adopt(&self, schema: &str, keys: &str) -> bool {
        let name = &self.table.name;
        let statement = format!(
            "WITH adopted AS (
                INSERT INTO {name} AS a (schema, keys) VALUES ($1, $2)
                ON CONFLICT (schema) DO UPDATE SET keys = excluded.keys WHERE a.keys <> excluded.keys
                RETURNING 1)
             SELECT FROM adopted"
        );
        !self.table.write(&statement, &[text(schema), text(keys)]).is_empty()
    }

    /// Whether it was adopted.
    pub fn disown(&self, schema: &str) -> bool {
        let name = &self.table.name;
        let statement = format!(
            "WITH ended AS (DELETE FROM {name} WHERE schema = $1 RETURNING 1) SELECT FROM ended"
        );
        !self.table.write(&statement, &[text(schema)]).is_empty()
    }
}

/// Ends the adoption of schemas that do not exist any more, and says so.
pub fn end_of_the_gone(function: pg_sys::Oid) {
    let end = || {
        if IS_ANY_GONE.with(PlannedQuery::rows).is_empty() {
            return Ok::<_, Obstacle>(());
        }
        let schemas = Schemas::locked(function).or_raise();
        for row in query(GONE, &[]) {
            let schema = row.into_iter().next().flatten().expect("a name");
            schemas.disown(&schema);
            let notice = report::message(format!("schema \"{schema}\" is no longer adopted"))
                .set_detail("It was renamed or dropped.");
            report::send(notice, PgLogLevel::NOTICE);
        }
        Ok(())
    };
    if let Err(obstacle) = attempt(end) {
        warn("the adoption of a schema that is gone could not be ended", obstacle);
    }
}
