//! As whom code runs.

use pgrx::pg_sys;

use crate::pg::settings::with_settings;

/// Returns whether the current role has the rights of this one, or reads the statistics of all.
pub fn reads_statistics_of(role: pg_sys::Oid) -> bool {
    // SAFETY: looks into the catalog, in a transaction.
    unsafe {
        let user = pg_sys::GetUserId();
        let all: pg_sys::Oid = pg_sys::ROLE_PG_READ_ALL_STATS.into();
        pg_sys::has_privs_of_role(user, all) || pg_sys::has_privs_of_role(user, role)
    }
}

/// Runs `act` as the owner of what it reads or changes, and puts settings back afterwards. The
/// operation is restricted in the way that REINDEX and VACUUM are, so that code of that user cannot
/// become another user, and can leave nothing behind in the session.
///
/// After an error, the end of the transaction or subtransaction puts everything back.
pub fn as_owner<T>(owner: pg_sys::Oid, act: impl FnOnce() -> T) -> T {
    let restriction = pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
    let (mut before, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: the role exists; what was in force is put back.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut before, &raw mut context);
        pg_sys::SetUserIdAndSecContext(owner, context | restriction);
    }
    let done = with_settings(&[], act);
    // SAFETY: as above.
    unsafe { pg_sys::SetUserIdAndSecContext(before, context) };
    done
}
