//! The table of the extension that says which schemas are adopted.

use std::ffi::CStr;

use pgrx::prelude::*;

use super::attempt::{attempt, warn};
use super::error::Error;
use super::guard;
use crate::convert::Obstacle;
use crate::server::catalog::{PlannedQuery, query, query_now};
use crate::server::encoding::{decode, encode};
use crate::server::own_table::{OwnTable, text, texts};
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
    let schema = namespace("snowflake_adopt_internal");
    // SAFETY: looks for a table by its name.
    let relation = unsafe { pg_sys::get_relname_relid(encode(TABLE).as_ptr(), schema) };
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

/// A row: an adopted schema.
const ALL: &str = "SELECT schema FROM snowflake_adopt_internal.adopted_schemas";

/// A row: an adopted schema that is one of `$1`.
const AMONG: &str = "
    SELECT schema FROM snowflake_adopt_internal.adopted_schemas
    WHERE schema = ANY ($1::text::name[])";

thread_local! {
    static ADOPTED: PlannedQuery = const { PlannedQuery::new(ALL) };
    static ADOPTED_AMONG: PlannedQuery = const { PlannedQuery::new(AMONG) };
}

/// Whether no adopted schema has a table of this name, so that a statement that names it has changed
/// none there. This takes a fraction of the time in which PostgreSQL says what a statement has done.
/// The name is not looked up in `search_path`, which another event trigger might have changed.
pub fn are_without(table: &str) -> bool {
    let schemas = [texts(&schemas_with(table))];
    ADOPTED_AMONG.with(|adopted| adopted.rows(&schemas).is_empty())
}

/// The schemas that have a relation of this name.
fn schemas_with(relation: &str) -> Vec<String> {
    let (name, null) = (encode(relation), pg_sys::Datum::null());
    let cache = pg_sys::SysCacheIdentifier::RELNAMENSP as _;
    // SAFETY: the cache is that of relations by their names and schemas. The list, and the names in
    // it, stay until it is released. A schema's name is NULL if the schema is gone, or else a string.
    unsafe {
        let list = pg_sys::SearchSysCacheList(cache, 1, name.as_ptr().into(), null, null);
        let relations = (*list).members.as_slice((*list).n_members as usize);
        let schemas = relations.iter().filter_map(|&relation| {
            let class = pg_sys::GETSTRUCT(&raw mut (*relation).tuple);
            let schema = (*class.cast::<pg_sys::FormData_pg_class>()).relnamespace;
            let name = pg_sys::get_namespace_name(schema);
            (!name.is_null()).then(|| decode(CStr::from_ptr(name)))
        });
        let schemas = schemas.collect();
        pg_sys::ReleaseCatCacheList(list);
        schemas
    }
}

/// Whether all adopted schemas are there, and none has got its name by the statement.
fn are_as_before(new_name: Option<&str>) -> bool {
    let rows = ADOPTED.with(|adopted| adopted.rows(&[]));
    let mut schemas = rows.iter().flatten().flatten();
    schemas
        .all(|schema| namespace(schema) != pg_sys::InvalidOid && new_name != Some(schema.as_str()))
}

/// The schema of this name, or `InvalidOid`.
fn namespace(name: &str) -> pg_sys::Oid {
    // SAFETY: looks for a schema by its name.
    unsafe { pg_sys::get_namespace_oid(encode(name).as_ptr(), true) }
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
/// name, and says so. `new_name` is the one that the statement has given to a schema.
pub fn end_of_the_gone(function: pg_sys::Oid, new_name: Option<&str>) {
    if !can_be_read() {
        return;
    }
    let end = || {
        if are_as_before(new_name) || query(GONE, &[]).is_empty() {
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
