//! The table of the extension that says which schemas are adopted.

use pgrx::prelude::*;

use super::attempt::{attempt, warn};
use super::error::Error;
use super::guard;
use crate::convert::Obstacle;
use crate::server::catalog::{PlannedQuery, query, query_now};
use crate::server::encoding::encode;
use crate::server::own_table::{OwnTable, text};
use crate::server::patience::lock_at_once;
use crate::server::report::{self, OrRaise};

/// The table, locked so that nobody else changes it until the transaction ends.
pub struct Schemas {
    table: OwnTable,
}

/// The name of the table.
const TABLE: &str = "adopted_schemas";

/// Whether the table can be read without waiting. While it cannot, because somebody has dropped the
/// extension and has not committed yet, statements of others are executed as without the extension,
/// with a notice.
pub fn can_be_read() -> bool {
    // SAFETY: looks for objects by their names.
    let relation = unsafe {
        let schema = pg_sys::get_namespace_oid(c"snowflake_adopt_internal".as_ptr(), true);
        pg_sys::get_relname_relid(encode(TABLE).as_ptr(), schema)
    };
    let can_be_read =
        relation == pg_sys::InvalidOid || lock_at_once(relation, pg_sys::AccessShareLock);
    if !can_be_read {
        let notice = report::message("new tables of adopted schemas were not looked at")
            .set_detail("Another session has locked the table of adopted schemas.");
        report::send(notice, PgLogLevel::NOTICE);
    }
    can_be_read
}

/// A row: an adopted schema that does not exist, or that the statement has created or given this name.
/// The adoption was that of another schema then.
const GONE: &str = "
    SELECT a.schema FROM snowflake_adopt_internal.adopted_schemas AS a
    WHERE NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = a.schema)
    UNION
    SELECT a.schema
    FROM pg_event_trigger_ddl_commands() AS d
    JOIN pg_namespace AS n ON d.classid = 'pg_namespace'::regclass AND n.oid = d.objid
    JOIN snowflake_adopt_internal.adopted_schemas AS a ON a.schema = n.nspname";

thread_local! {
    static IS_ANY_GONE: PlannedQuery = const { PlannedQuery::new(GONE) };
}

impl Schemas {
    /// Locks the schema, so that it cannot be dropped, and then the table. Fails unless the current
    /// role has the rights of the schema's owner.
    pub fn of_owner(function: pg_sys::Oid, schema: &str) -> Result<Schemas, Error> {
        const OWNED: &str = "
            SELECT pg_has_role(nspowner, 'USAGE'), nspname ~ '^pg_' OR nspname = 'information_schema', oid
            FROM pg_namespace WHERE nspname = $1";
        // After the lock, it might be gone, which a transaction that keeps its snapshot has to see.
        let owned =
            || query_now(OWNED, &[text(schema)]).pop().ok_or(Error::NoSchema(schema.into()));
        let mut row = owned()?;
        if row[0].as_deref() == Some("t") {
            let oid = row[2].as_deref().and_then(|oid| oid.parse::<u32>().ok()).expect("an OID");
            let mode = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
            // SAFETY: a schema, which might be gone.
            unsafe { pg_sys::LockDatabaseObject(pg_sys::NamespaceRelationId, oid.into(), 0, mode) };
            row = owned()?;
        }
        let is = |column: usize| row[column].as_deref() == Some("t");
        if is(1) {
            return Err(Error::OfSystem(schema.into()));
        } else if !is(0) {
            return Err(Error::NotOwner(schema.into()));
        }
        Schemas::locked(function)
    }

    fn locked(function: pg_sys::Oid) -> Result<Schemas, Error> {
        let table = OwnTable::of(function, TABLE).ok_or(Error::NoTable)?;
        table.lock()?;
        Ok(Schemas { table })
    }

    /// Adopts the schema, and returns whether this changes the table.
    pub fn adopt(&self, schema: &str, keys: &str) -> bool {
        let name = &self.table.name;
        let statement = format!(
            "WITH adopted AS (
                INSERT INTO {name} AS a (schema, keys) VALUES ($1, $2)
                ON CONFLICT (schema) DO UPDATE SET keys = excluded.keys WHERE a.keys <> excluded.keys
                RETURNING 1)
             SELECT FROM adopted"
        );
        let _permission = guard::Permission::new();
        !self.table.write(&statement, &[text(schema), text(keys)]).is_empty()
    }

    /// Ends the adoption of the schema, and returns whether it was adopted.
    pub fn disown(&self, schema: &str) -> bool {
        let name = &self.table.name;
        let statement = format!(
            "WITH ended AS (DELETE FROM {name} WHERE schema = $1 RETURNING 1) SELECT FROM ended"
        );
        !self.table.write(&statement, &[text(schema)]).is_empty()
    }
}

/// Ends the adoption of schemas that do not exist any more, even if there is a new one of the same
/// name, and says so.
pub fn end_of_the_gone(function: pg_sys::Oid) {
    if !can_be_read() {
        return;
    }
    let end = || {
        if IS_ANY_GONE.with(PlannedQuery::rows).is_empty() {
            return Ok::<_, Obstacle>(());
        }
        let table = OwnTable::of(function, TABLE).ok_or(Error::NoTable).or_raise();
        // Whoever creates, drops or renames a schema must not wait for a session that adopts one.
        if !table.lock_at_once().or_raise() {
            let warning = report::message("the adoption of schemas that are gone was not ended")
                .set_detail("Another session has locked the table of adopted schemas.")
                .set_hint(
                    "The next statement that drops, renames or creates a schema ends it. If there is \
                     a new schema of the same name, call snowflake_disown().",
                );
            report::send(warning, PgLogLevel::WARNING);
            return Ok(());
        }
        let schemas = Schemas { table };
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
