//! The end of a transaction: the slots of the horizon are told of it, and before it, a commit waits
//! for synchronous standbys, so that an ID that a committed transaction returned is as safe as a
//! row of that transaction, even if no row was written.
//!
//! PostgreSQL does the same for a sequence. Its `nextval()` takes a transaction ID when it writes
//! WAL, so that the commit waits for the synchronous standbys as `synchronous_commit` says. Here,
//! the WAL is the reservation. Another session might have written it, and earlier, when other
//! standbys were synchronous, or none. So a standby that this commit would have to wait for might
//! not have it.
//!
//! No account is kept of who has which reservation. Instead, where there are standbys to wait for,
//! a transaction that took an ID has a commit record. The record is newer than the reservation:
//! whoever has it has both. What the commit waits for, and what can be canceled, is PostgreSQL's
//! own, and stays so when standbys come and go or the setting changes.

use std::ffi::{CStr, c_void};
use std::mem::size_of;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

use pg_sys::XactEvent::{
    XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PARALLEL_ABORT, XACT_EVENT_PARALLEL_PRE_COMMIT,
    XACT_EVENT_PRE_COMMIT, XACT_EVENT_PRE_PREPARE, XACT_EVENT_PREPARE,
};
use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgAtomic, pg_shmem_init};
use snowflake_core::horizon::Event;

use crate::generate::currval;
use crate::generator::horizon_slots;

/// [`currval::mark`] when the last transaction of this session ended. Memory of one process.
static MARK: AtomicI64 = AtomicI64::new(-1);

/// True if this transaction has written to the register itself. Memory of one process.
static WROTE: AtomicBool = AtomicBool::new(false);

/// The count of [`Workers`] for this session when its last transaction ended; [`UNKNOWN`] before
/// the first. Memory of one process.
static COUNTED: AtomicU64 = AtomicU64::new(UNKNOWN);
const UNKNOWN: u64 = u64::MAX;

/// Counts the parallel workers that took IDs, by the process that leads them. Processes might share
/// a count: a commit then waits without need, and no commit fails to wait.
///
/// A leader reads the count after its workers have said that they are done, or are gone. PostgreSQL
/// orders memory there, so that the count needs no order of its own.
struct Workers([AtomicU64; 512]);

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Workers {}

// SAFETY: nobody else names shared memory like this.
static WORKERS: PgAtomic<Workers> = unsafe { PgAtomic::new(c"snowflake_parallel_workers") };

/// Asks for the shared memory, and to be told of the end of each transaction. Called while the
/// library is preloaded.
pub fn init() {
    pg_shmem_init!(WORKERS = Workers([const { AtomicU64::new(0) }; 512]));
    defined();
    // SAFETY: the server starts, and each of its processes inherits this.
    unsafe { pg_sys::RegisterXactCallback(Some(at_end), ptr::null_mut()) };
}

/// A transaction of this process ends.
unsafe extern "C-unwind" fn at_end(event: pg_sys::XactEvent::Type, _: *mut c_void) {
    match event {
        // Before the place of the transaction is looked for, by the transaction ID that it gets
        // here.
        XACT_EVENT_PRE_COMMIT if has_something_to_wait_for() && waits_for_standbys() => {
            write_commit_record();
        }
        XACT_EVENT_PARALLEL_PRE_COMMIT | XACT_EVENT_PARALLEL_ABORT if took_ids() => {
            // SAFETY: shared memory of the server. A worker's leader outlives it.
            let leader = unsafe { (*pg_sys::MyProc).lockGroupLeader };
            counter(leader).fetch_add(1, Relaxed);
        }
        XACT_EVENT_COMMIT | XACT_EVENT_ABORT | XACT_EVENT_PREPARE => {
            MARK.store(currval::mark(), Relaxed);
            WROTE.store(false, Relaxed);
            COUNTED.store(counted(), Relaxed);
        }
        _ => {}
    }
    match event {
        XACT_EVENT_PRE_COMMIT => horizon_slots::at(Event::PreCommit),
        XACT_EVENT_PRE_PREPARE => horizon_slots::at(Event::PrePrepare),
        XACT_EVENT_PREPARE => horizon_slots::at(Event::Prepared),
        XACT_EVENT_COMMIT => horizon_slots::at(Event::Committed),
        XACT_EVENT_ABORT => horizon_slots::at(Event::RolledBack),
        _ => {}
    }
}

/// Makes the commit of this transaction wait for what it has written to the register itself.
pub fn let_commit_wait() {
    WROTE.store(true, Relaxed);
}

/// Returns whether this transaction took an ID, also one of a subtransaction that was rolled back,
/// or wrote to the register. A prepared transaction always has a record of its own, and waits.
fn has_something_to_wait_for() -> bool {
    let workers = COUNTED.load(Relaxed);
    took_ids() || WROTE.load(Relaxed) || (workers != UNKNOWN && workers != counted())
}

/// Returns whether this process has taken an ID since its last transaction ended.
fn took_ids() -> bool {
    currval::mark() != MARK.load(Relaxed)
}

/// Returns the number of workers of this process that have taken IDs.
fn counted() -> u64 {
    // SAFETY: a pointer of this process, which is in a transaction.
    counter(unsafe { pg_sys::MyProc }).load(Relaxed)
}

/// The processes of a server are an array in shared memory.
fn counter(leader: *mut pg_sys::PGPROC) -> &'static AtomicU64 {
    let Workers(counters) = WORKERS.get();
    &counters[leader.addr() / size_of::<pg_sys::PGPROC>() % counters.len()]
}

/// Returns whether a commit of this transaction would wait for standbys if it had written a record.
fn waits_for_standbys() -> bool {
    // SAFETY: a variable of this process.
    let level = unsafe { pg_sys::synchronous_commit };
    level > LOCAL_FLUSH && has_synchronous_standbys()
}

/// The highest `synchronous_commit` with which a commit waits for no standby.
const LOCAL_FLUSH: i32 = pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_LOCAL_FLUSH as i32;

/// Lets the commit of this transaction write a record, flush it and wait, as if the transaction had
/// written a row. Fails where no transaction ID can be given out, as the row would.
#[cold]
#[inline(never)]
#[pg_guard]
extern "C-unwind" fn write_commit_record() {
    // SAFETY: in a transaction that is about to commit. PostgreSQL asks whether the transaction has
    // an ID and has written WAL before it writes the record of the commit. It waits for the end of
    // that record, so that any position does here.
    unsafe {
        pg_sys::GetTopTransactionId();
        if pg_sys::XactLastRecEnd == 0 {
            pg_sys::XactLastRecEnd = pg_sys::GetFlushRecPtr(ptr::null_mut());
        }
    }
}

/// Returns whether commits wait for standbys, as far as this session or the server knows. A session
/// learns of a change of the setting between two of its statements, and the server's shared memory
/// has what the checkpointer has seen. Both have to say that there are none.
pub fn has_synchronous_standbys() -> bool {
    // SAFETY: variables of this process, and a byte of the server's shared memory, right behind the
    // positions up to which standbys have the WAL.
    unsafe {
        let names = pg_sys::SyncRepStandbyNames;
        let positions: *const u64 = (&raw const (*pg_sys::WalSndCtl).lsn).cast();
        let state = positions.add(pg_sys::NUM_SYNC_REP_WAIT_MODE as usize).cast::<u8>();
        let is_defined = state.read_volatile() & defined() != 0;
        pg_sys::max_wal_senders > 0 && (is_defined || (!names.is_null() && *names != 0))
    }
}

/// Returns the number of standbys for which commits wait, as far as this session knows.
pub fn standbys_needed() -> usize {
    // SAFETY: what PostgreSQL has made of the setting; NULL where it is empty.
    let config = unsafe { pg_sys::SyncRepConfig.as_ref() };
    config.map_or(1, |config| config.num_sync as usize)
}

/// The bit that says that there are synchronous standbys. Before 15.13, 16.9 and 17.5, this was a
/// `bool`, and nothing said whether it had been set at all.
fn defined() -> u8 {
    static DEFINED: OnceLock<u8> = OnceLock::new();
    *DEFINED.get_or_init(|| {
        // SAFETY: a setting that is always there; the answer is read at once.
        let version = unsafe {
            CStr::from_ptr(pg_sys::GetConfigOption(c"server_version_num".as_ptr(), false, false))
        };
        let version: u32 = version.to_string_lossy().parse().unwrap_or_default();
        match (version / 10_000, version % 10_000) {
            (15, ..13) | (16, ..9) | (17, ..5) => 1,
            _ => 1 << 1,
        }
    })
}
