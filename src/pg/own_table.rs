//! The extension's tables, into which its functions write for callers who may not.

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::pg::library_function::extension_of;
use crate::pg::report::{self, ErrorReport};
use crate::pg::spi::{self, Argument, Row, oid, query, text};
use crate::pg::transaction;
use crate::pg::user::as_owner;

/// A table of the extension. It is in the schema in which only the extension's script creates
/// objects, and belongs to the extension.
pub struct OwnTable {
    /// The OID.
    pub relation: pg_sys::Oid,
    /// The qualified name.
    pub name: String,
    owner: pg_sys::Oid,
    /// True if the current user may read it.
    pub is_readable: bool,
}

/// The table `$2` of the extension `$1`.
const TABLE: &str = "
    SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relowner,
           has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE')
    FROM pg_depend AS member
    JOIN pg_class AS c ON c.oid = member.objid AND c.relkind = 'r' AND c.relname = $2
    JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = 'snowflake_internal'
    WHERE member.refclassid = 'pg_extension'::regclass AND member.refobjid = $1
      AND member.deptype = 'e' AND member.classid = 'pg_class'::regclass";

/// Finds the table `$1`, if its name is still `$2` and its owner `$3`.
const IS_SAME: &str = "
    SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = $1 AND format('%I.%I', n.nspname, c.relname) = $2 AND c.relowner = $3";

/// Code of the table `$1` that would run when it is written, and tables that would be written with
/// it; or NULL. The extension's trigger `guard`, which is fired BEFORE INSERT FOR EACH ROW (7), is
/// left out.
const OTHERS_CODE: &str = "
    WITH
    -- a row: a function of a guard, of the extension that has the table. It is in C, and only
    -- superusers create such functions.
    guards (function) AS (
        SELECT p.oid FROM pg_depend AS own
        JOIN pg_depend AS member USING (refclassid, refobjid, deptype)
        JOIN pg_proc AS p ON p.oid = member.objid AND p.proname ^@ 'snowflake_guard_'
        JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'c'
        WHERE own.classid = 'pg_class'::regclass AND own.objid = $1 AND own.deptype = 'e'
          AND member.classid = 'pg_proc'::regclass
    ),
    -- a row: an object that is made for the table, and may call functions
    parts (class, object) AS (
        SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = $1
        UNION ALL SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid = $1
        UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = $1
        UNION ALL SELECT 'pg_statistic_ext'::regclass, oid FROM pg_statistic_ext WHERE stxrelid = $1
    ),
    -- a row: code or a table of others
    found (description) AS (
        SELECT pg_describe_object('pg_trigger'::regclass, t.oid, 0) FROM pg_trigger AS t
        WHERE tgrelid = $1 AND NOT (tgname = 'guard' AND tgtype = 7 AND tgfoid IN (TABLE guards))
        UNION ALL
        SELECT pg_describe_object('pg_rewrite'::regclass, oid, 0) FROM pg_rewrite
        WHERE ev_class = $1
        UNION ALL
        SELECT pg_describe_object('pg_policy'::regclass, oid, 0) FROM pg_policy WHERE polrelid = $1
        UNION ALL
        SELECT pg_describe_object('pg_class'::regclass, inhrelid, 0) FROM pg_inherits
        WHERE inhparent = $1
        UNION ALL
        -- Parts that depend on anything that initdb did not create: its objects have smaller OIDs.
        SELECT pg_describe_object(d.classid, d.objid, 0) FROM parts
        JOIN pg_depend AS d ON d.classid = class AND d.objid = object
        WHERE d.refobjid >= 16384 AND d.refobjid <> $1
          AND (d.refclassid, d.refobjid) NOT IN (TABLE parts)
    )
    SELECT string_agg(DISTINCT description, ', ' ORDER BY description) FROM found";

impl OwnTable {
    /// The table of this name of the extension that has this function; `None` if there is none.
    pub fn of(function: pg_sys::Oid, name: &str) -> Option<OwnTable> {
        let arguments = [oid(extension_of(function)), text(name)];
        let (relation, name, owner, is_readable) = query(TABLE, &arguments).pop()?;
        Some(OwnTable { relation, name, owner, is_readable })
    }

    /// Lets nobody else change the table, its triggers or its rules until the transaction ends.
    /// Then [`OwnTable::write`] runs no code but the extension's. 40001 if the table was replaced,
    /// and 55000 if it has code of others.
    pub fn lock(&self) -> Result<(), ErrorReport> {
        // SAFETY: the relation exists, or the lock does no harm.
        unsafe {
            pg_sys::LockRelationOid(self.relation, pg_sys::ShareRowExclusiveLock as i32);
        }
        self.check_name()?;
        self.check_code()
    }

    /// Lets nobody drop or rename the table until the transaction ends, so that its name can be
    /// read as the current user, without a wait: 55P03 if another session locks it. 40001 if the
    /// table was replaced.
    pub fn keep_name(&self) -> Result<(), ErrorReport> {
        if !transaction::lock_at_once(self.relation) {
            return Err(report::new(
                PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
                format!("not checked, because another session locks table {}", self.name),
            ));
        }
        self.check_name()
    }

    /// Who owns the extension can drop it before the table is locked, and put something else in its
    /// place, so its name is looked at again. Only superusers rename its schema.
    fn check_name(&self) -> Result<(), ErrorReport> {
        let arguments = [oid(self.relation), text(&self.name), oid(self.owner)];
        if !spi::query_now::<()>(IS_SAME, &arguments).is_empty() {
            return Ok(());
        }
        let message = format!("table {} was replaced meanwhile", self.name);
        Err(report::new(PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE, message)
            .set_detail(
                "The extension was dropped, and something else might have this name by now.",
            )
            .set_hint("Try again."))
    }

    fn check_code(&self) -> Result<(), ErrorReport> {
        let found: Option<String> =
            spi::query_now(OTHERS_CODE, &[oid(self.relation)]).swap_remove(0);
        let Some(found) = found else { return Ok(()) };
        Err(report::not_ready(format!(
            "table {} has objects that the extension did not create",
            self.name
        ))
        .set_detail(format!(
            "A write would run or change them with the rights of the owner of the table: {found}."
        ))
        .set_hint("Drop these objects first."))
    }

    /// Runs a query as the owner of the table, which is locked.
    pub fn write<R: Row>(&self, query: &str, arguments: &[Argument]) -> Vec<R> {
        as_owner(self.owner, || spi::query(query, arguments))
    }
}
