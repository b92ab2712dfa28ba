//! As whom code runs.

use pgrx::pg_sys;

use crate::settings::with_settings;

/// Runs `act` as the owner of what it reads or changes, and puts settings back afterwards. The
/// operation is restricted in the way that REINDEX and VACUUM are, so that code of that user cannot
/// become another user, and can leave nothing behind in the session.
///
/// After an error, the end of the transaction or subtransaction puts everything back.
pub fn as_owner<T>(owner: pg_sys::Oid, act: impl FnOnce() -> T) -> T {
    as_user(owner, pg_sys::SECURITY_RESTRICTED_OPERATION as i32, act)
}

/// As [`as_owner`], but for temporary objects of the current user, which PostgreSQL does not let a
/// restricted operation create. No other session can use them.
pub fn as_owner_of_temporary<T>(owner: pg_sys::Oid, act: impl FnOnce() -> T) -> T {
    // SAFETY: reads a variable of this process.
    if owner == unsafe { pg_sys::GetUserId() } {
        as_user(owner, 0, act)
    } else {
        as_owner(owner, act)
    }
}

fn as_user<T>(user: pg_sys::Oid, restriction: i32, act: impl FnOnce() -> T) -> T {
    let (mut before, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: the user exists; what was in force is put back.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut before, &raw mut context);
        pg_sys::SetUserIdAndSecContext(user, context | restriction);
    }
    let done = with_settings(&[], act);
    // SAFETY: as above.
    unsafe { pg_sys::SetUserIdAndSecContext(before, context) };
    done
}
