//! Which databases of this server have claims.
//!
//! Claims count in one database alone, and a session sees no table of another one. So a shared
//! dependency says of a claims' table that it has rows. PostgreSQL replicates it, copies it with a
//! template, and drops it with the table or the database.

use pgrx::pg_sys;

use crate::pg::own_table::OwnTable;
use crate::pg::spi;

/// The dependencies of claims' tables. PostgreSQL has no others on databases.
const NOTED: &str = "FROM pg_shdepend AS s
    WHERE s.refclassid = 'pg_database'::regclass AND s.classid = 'pg_class'::regclass
      AND s.deptype = 'a'";

/// Notes that the table has rows, which the current user may insert.
pub fn note(table: &OwnTable) {
    let noted = format!(
        "SELECT {NOTED} AND s.objid = $1
         AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
    );
    if !table.write::<()>(&noted, &[spi::oid(table.relation)]).is_empty() {
        return;
    }
    // SAFETY: a variable of this process.
    let database = unsafe { pg_sys::MyDatabaseId };
    let address =
        |class, object| pg_sys::ObjectAddress { classId: class, objectId: object, objectSubId: 0 };
    let mut table = address(pg_sys::RelationRelationId, table.relation);
    let mut database = address(pg_sys::DatabaseRelationId, database);
    // SAFETY: both are there: the table is locked, and the session is in the database.
    unsafe {
        let kind = pg_sys::SharedDependencyType::SHARED_DEPENDENCY_ACL;
        pg_sys::recordSharedDependencyOn(&raw mut table, &raw mut database, kind);
    }
}

/// The databases whose tables have rows.
pub fn with_claims() -> Vec<String> {
    let names = format!(
        "SELECT d.datname FROM pg_database AS d
         WHERE d.oid IN (SELECT s.dbid {NOTED}) ORDER BY d.datname"
    );
    spi::query(&names, &[])
}
