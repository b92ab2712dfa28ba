//! Names that stay those of the same objects while they are used.

use pgrx::prelude::*;

use crate::server::spi::query;
use crate::server::user::as_owner;

/// Lets nobody rename or drop the schemas of relations, which are locked, until the transaction ends. A
/// schema has no lock that ALTER SCHEMA takes, but it waits for the lock of a row that it has to update.
/// Without this, the owner of a schema could put a view of the same name in the place of a table, and
/// its functions would run as the owner of the table.
pub fn lock_schemas(relations: impl Iterator<Item = pg_sys::Oid>) {
    const LOCK: &str = "
        SELECT FROM pg_namespace
        WHERE oid IN (SELECT relnamespace FROM pg_class WHERE oid = ANY ($1))
        ORDER BY oid FOR KEY SHARE OF pg_namespace";
    let relations: Vec<_> = relations.collect();
    let arguments = [(relations.into_datum(), pg_sys::OIDARRAYOID)];
    // Locks a row of the catalog, which only superusers may.
    as_owner(pg_sys::Oid::from(pg_sys::BOOTSTRAP_SUPERUSERID), || query(LOCK, &arguments));
    // SAFETY: the caches forget what was renamed while this waited.
    unsafe { pg_sys::AcceptInvalidationMessages() };
}
