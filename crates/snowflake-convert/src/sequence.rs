//! Reads a sequence, and keeps nothing of it.
//!
//! `pg_sequence_last_value()` and a query of the sequence lock it until the end of the transaction. Of
//! thousands of sequences, these locks would fill the lock table. They would also wait for a statement
//! that changes the sequence.

// PostgreSQL 19 made the modes of its buffer locks a type.
#[cfg(not(feature = "pg19"))]
use pg_sys::BUFFER_LOCK_SHARE;
#[cfg(feature = "pg19")]
use pg_sys::BufferLockMode::BUFFER_LOCK_SHARE;
use pgrx::prelude::*;

/// What a sequence says.
pub enum State {
    /// It is gone, another session changes it, it is not on this server, or the role may not read it.
    Unreadable,
    /// No value was taken.
    NotCalled,
    Last(i64),
}

const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;

/// The state of a sequence, for roles that may read it and for those of `pg_monitor`.
pub fn state(sequence: pg_sys::Oid, in_recovery: bool) -> State {
    let privileges = (pg_sys::ACL_SELECT | pg_sys::ACL_USAGE) as pg_sys::AclMode;
    // SAFETY: the relation is locked while it is open, and the buffer while its only row is read, as
    // PostgreSQL itself reads it. Between opening and closing, only reading the page could raise an
    // error, after which PostgreSQL closes and releases both.
    unsafe {
        if !pg_sys::ConditionalLockRelationOid(sequence, LOCK) {
            return State::Unreadable;
        }
        let relation = pg_sys::try_relation_open(sequence, pg_sys::NoLock as pg_sys::LOCKMODE);
        if relation.is_null() {
            pg_sys::UnlockRelationOid(sequence, LOCK);
            return State::Unreadable;
        }
        let class = &*(*relation).rd_rel;
        let persistence = class.relpersistence as u8;
        let role = pg_sys::GetUserId();
        let is_readable = class.relkind as u8 == pg_sys::RELKIND_SEQUENCE
            && persistence != pg_sys::RELPERSISTENCE_TEMP
            // A standby has no unlogged sequences.
            && !(persistence == pg_sys::RELPERSISTENCE_UNLOGGED && in_recovery)
            && (pg_sys::pg_class_aclcheck(sequence, role, privileges) == pg_sys::AclResult::ACLCHECK_OK
                || pg_sys::has_privs_of_role(role, pg_sys::ROLE_PG_MONITOR.into()));
        let state = if is_readable { read(relation) } else { State::Unreadable };
        pg_sys::relation_close(relation, LOCK);
        state
    }
}

/// # Safety
///
/// The relation is a sequence, and is open.
unsafe fn read(relation: pg_sys::Relation) -> State {
    const FIRST: pg_sys::OffsetNumber = 1;
    // SAFETY: a sequence has one page with one row, which never moves and has no NULL.
    unsafe {
        let buffer = pg_sys::ReadBuffer(relation, 0);
        pg_sys::LockBuffer(buffer, BUFFER_LOCK_SHARE as _);
        let page = pg_sys::BufferGetPage(buffer);
        let row = pg_sys::PageGetItem(page, pg_sys::PageGetItemId(page, FIRST));
        let header = row.cast::<pg_sys::HeapTupleHeaderData>();
        let data = row.add((*header).t_hoff.into()).cast::<pg_sys::FormData_pg_sequence_data>();
        let (last_value, is_called) = ((*data).last_value, (*data).is_called);
        pg_sys::UnlockReleaseBuffer(buffer);
        if is_called { State::Last(last_value) } else { State::NotCalled }
    }
}
