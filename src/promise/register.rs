//! The register: one WAL-logged page that holds the durable [`Record`].
//!
//! The page is block 0 of a fixed file in the cluster's shared tablespace. It is read and written
//! through the buffer manager and logged as a full-page image, which is a record of PostgreSQL's
//! own. So recovery, checkpoints, base backups, standbys, point-in-time recovery and pg_rewind
//! carry it, and none of them needs this library.
//!
//! # Contract
//!
//! - All functions that write are called with the lock of [`super::reservation`] held exclusively,
//!   on a server that is not in recovery: writing WAL there would be a PANIC.
//! - Nothing inside a critical section can raise, panic or allocate memory of ours.
//! - Between the lock on a buffer's content and its release there are only copies of bytes, or a
//!   critical section. Reading the page might raise PostgreSQL's own errors. PostgreSQL then
//!   releases the buffer at the end of the transaction.
//! - All unsafe code that deals with the page is in this file, and so is all that differs between
//!   PostgreSQL's versions.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::{fs, io, ptr};

// PostgreSQL 19 made the modes of its buffer locks a type.
use crate::pg::in_recovery;
#[cfg(feature = "pg19")]
use pg_sys::BufferLockMode::{BUFFER_LOCK_EXCLUSIVE, BUFFER_LOCK_SHARE};
#[cfg(not(feature = "pg19"))]
use pg_sys::{BUFFER_LOCK_EXCLUSIVE, BUFFER_LOCK_SHARE};
use pgrx::prelude::*;
use pgrx::{PgAtomic, pg_shmem_init};
use snowflake_core::promise::{Found, Position, Unreadable};
use snowflake_core::register::{LENGTH, Record, RecordError};

use crate::settings;

/// The file's name. The number is far above those that PostgreSQL assigns, and PostgreSQL would
/// notice that the name is taken.
const FILE: u32 = 4_294_965_250;

/// Where the page is, as a path below the data directory.
pub const PATH: &str = "global/4294965250";

const FORK: pg_sys::ForkNumber::Type = pg_sys::ForkNumber::MAIN_FORKNUM;
const BLOCK: pg_sys::BlockNumber = 0;
const PAGE_SIZE: usize = pg_sys::BLCKSZ as usize;
const HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);

/// DELAY_CHKPT_START of the server. The end of a transaction clears it too.
const DELAY_CHECKPOINT: i32 = 1;

/// A page in memory of ours, aligned for direct I/O.
#[repr(C, align(4096))]
struct Page([u8; PAGE_SIZE]);

#[cfg(feature = "pg15")]
type Locator = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
type Locator = pg_sys::RelFileLocator;

#[cfg(feature = "pg15")]
fn locator() -> Locator {
    Locator {
        spcNode: pg_sys::GLOBALTABLESPACE_OID,
        dbNode: pg_sys::InvalidOid,
        relNode: pg_sys::Oid::from(FILE),
    }
}

#[cfg(not(feature = "pg15"))]
fn locator() -> Locator {
    Locator {
        spcOid: pg_sys::GLOBALTABLESPACE_OID,
        dbOid: pg_sys::InvalidOid,
        relNumber: pg_sys::Oid::from(FILE),
    }
}

fn storage() -> pg_sys::SMgrRelation {
    /// Not a temporary relation of one backend.
    const SHARED: i32 = -1;
    // SAFETY: opens no file yet; PostgreSQL keeps the answer.
    unsafe { pg_sys::smgropen(locator(), SHARED) }
}

/// True if the file has existed at any time since the server started. If so, and it is gone now, it
/// was deleted: its page might still be in the buffer pool, and processes of the server might have
/// the deleted file open.
///
/// Where the lock is not held, another session might create the file at any moment. So this is read
/// before the file is looked for, and set when the file is there, and processors that order memory
/// weakly are told so.
// SAFETY: nobody else names shared memory like this.
static SEEN: PgAtomic<AtomicBool> = unsafe { PgAtomic::new(c"snowflake_register") };

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    // A server's current directory is its data directory.
    pg_shmem_init!(SEEN = AtomicBool::new(Path::new(PATH).exists()));
}

/// The record, or `None` where there is no register yet. Fails where the file was deleted while the
/// server runs, although its page might still be in the buffer pool: the next start might not find
/// it. Unless the lock is held, a file that a session is only now creating looks damaged.
pub fn read() -> Found {
    let seen = was_seen();
    if !exists() {
        return if seen { Err(Unreadable::Deleted) } else { Ok(None) };
    }
    if is_empty() {
        // Recovery creates the file, and makes it longer a moment later.
        return if in_recovery() { Ok(None) } else { Err(RecordError::Damaged.into()) };
    }
    // Only now, and not as soon as the file exists: a session that creates it removes it again if
    // that fails.
    if settings::fixed().preloaded {
        SEEN.get().store(true, Release);
    }
    // If a checksum is wrong, PostgreSQL warns, and zeroes the page in memory. That counts as
    // damage too.
    let buffer = pin(pg_sys::ReadBufferMode::RBM_ZERO_ON_ERROR);
    // SAFETY: the buffer is pinned, and locked while its page is read.
    let bytes = unsafe {
        pg_sys::LockBuffer(buffer, BUFFER_LOCK_SHARE as _);
        let bytes = *content(pg_sys::BufferGetPage(buffer).cast());
        pg_sys::UnlockReleaseBuffer(buffer);
        bytes
    };
    Ok(Some(Record::decode(&bytes)?))
}

fn exists() -> bool {
    // SAFETY: `storage()` is valid.
    unsafe { pg_sys::smgrexists(storage(), FORK) }
}

/// Returns whether the file is gone, by its name alone, which can be looked up wherever the page is
/// written.
pub fn is_gone() -> bool {
    fs::symlink_metadata(PATH).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn is_empty() -> bool {
    // SAFETY: `storage()` is valid, and the file exists.
    unsafe { pg_sys::smgrnblocks(storage(), FORK) == 0 }
}

/// Writes the record and its WAL, and returns the position up to which the WAL has to be flushed
/// before the record is relied upon. It does not matter if the page was damaged meanwhile, since
/// what this server has promised is in its memory. A page that cannot be read is an error.
pub fn write(record: &Record) -> Position {
    let buffer = pin(pg_sys::ReadBufferMode::RBM_NORMAL);
    // SAFETY: the buffer is pinned.
    unsafe { pg_sys::LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE as _) };
    log(buffer, record)
}

/// Makes the file's entry in its directory durable, whether a session or recovery created it. An
/// entry is not WAL-logged, and a checkpoint syncs no directory.
pub fn sync_entry() {
    // SAFETY: a directory of the server.
    unsafe { pg_sys::fsync_fname(c"global".as_ptr(), true) };
}

/// Says that no process has a deleted file open: what [`close_deleted`] returns.
pub struct Closed(bool);

impl Closed {
    /// Nothing was closed.
    pub const NOTHING: Closed = Closed(false);
}

/// Lets all processes of the server close the file, if it was deleted: what one of them wrote to
/// the deleted file after there is a new one would be lost. Waits for them, so no lock may be held.
pub fn close_deleted() -> Closed {
    let is_deleted = was_seen() && !exists();
    if is_deleted {
        // SAFETY: what DROP TABLESPACE does, for the same reason.
        unsafe {
            pg_sys::WaitForProcSignalBarrier(pg_sys::EmitProcSignalBarrier(
                pg_sys::ProcSignalBarrierType::PROCSIGNAL_BARRIER_SMGRRELEASE,
            ));
        }
    }
    Closed(is_deleted)
}

/// Makes the register hold the record, durably, whatever it holds now. Creates it if it does not
/// exist, which is durable once its entry is, too, but fails if it was deleted, and a process might
/// have the deleted file open.
pub fn overwrite(record: &Record, closed: &Closed) -> Result<(), Unreadable> {
    match exists() {
        true if !is_empty() => flush(log(pin(pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK), record)),
        false if !closed.0 && was_seen() => return Err(Unreadable::Deleted),
        _ => create(record),
    }
    Ok(())
}

/// Returns whether the file has existed since the server started: not known without preloading.
fn was_seen() -> bool {
    settings::fixed().preloaded && SEEN.get().load(Acquire)
}

/// Creates the register. It is durable once its entry is, too. No process may have a deleted one
/// open.
pub fn create(record: &Record) {
    let is_new = !exists();
    let mut page = Page([0; PAGE_SIZE]);
    let start = page.0.as_mut_ptr();
    // SAFETY: the page is ours and of the right size and alignment. Nobody writes to the register
    // meanwhile.
    unsafe {
        format(start, &record.encode());
        drop_buffer();
        // A checkpoint that begins after the WAL waits for the file.
        (*pg_sys::MyProc).delayChkptFlags |= DELAY_CHECKPOINT;
    }
    let created = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as above. The WAL comes first and is flushed, so that a crash at any point leaves
        // no page, or the whole page. smgrextend() asks the next checkpoint to sync the file; until
        // then, the WAL has the page.
        unsafe {
            let lsn = pg_sys::log_newpage(&mut locator(), FORK, BLOCK, start.cast(), true);
            pg_sys::XLogFlush(lsn);
            if is_new {
                pg_sys::smgrcreate(storage(), FORK, false);
            }
            pg_sys::PageSetChecksumInplace(start.cast(), BLOCK);
            pg_sys::smgrextend(storage(), FORK, BLOCK, start.cast(), false);
        }
    }));
    // SAFETY: this process's own flags.
    unsafe { (*pg_sys::MyProc).delayChkptFlags &= !DELAY_CHECKPOINT };
    if let Err(error) = created {
        if is_new {
            // Nothing was issued from it, so the next call starts over. A checkpoint that was told
            // to sync the file must not find it gone, so it is told to forget it, as in recovery.
            // SAFETY: the file is new, and the lock is held.
            unsafe { pg_sys::smgrdounlinkall(&mut storage(), 1, true) };
        }
        resume_unwind(error);
    }
    SEEN.get().store(true, Release);
}

/// Forgets what the buffer pool holds of a file that has no page.
fn drop_buffer() {
    let (mut fork, mut first) = (FORK, BLOCK);
    // SAFETY: both pointers are valid for the call, and name one fork.
    unsafe {
        #[cfg(feature = "pg15")]
        pg_sys::DropRelFileNodeBuffers(storage(), &mut fork, 1, &mut first);
        #[cfg(not(feature = "pg15"))]
        pg_sys::DropRelationBuffers(storage(), &mut fork, 1, &mut first);
    }
}

/// Waits until the WAL is durable up to `lsn`, as a commit does.
pub fn flush(lsn: Position) {
    // SAFETY: `lsn` is the end of a record that was inserted.
    unsafe { pg_sys::XLogFlush(lsn) };
}

/// Lets the WAL writer make the WAL durable up to `lsn`, soon.
pub fn flush_soon(lsn: Position) {
    // SAFETY: `lsn` is the end of a record that was inserted.
    unsafe { pg_sys::XLogSetAsyncXactLSN(lsn) };
}

/// Up to where the WAL is durable.
pub fn flushed() -> Position {
    // SAFETY: the server is not in recovery, so there is a flush position. The timeline is not
    // asked for.
    unsafe { pg_sys::GetFlushRecPtr(ptr::null_mut()) }
}

/// Pins the page's buffer. Without `RBM_ZERO_AND_LOCK`, the caller locks it.
fn pin(mode: pg_sys::ReadBufferMode::Type) -> pg_sys::Buffer {
    // SAFETY: the file exists, or the mode creates the page in memory alone.
    unsafe {
        pg_sys::ReadBufferWithoutRelcache(locator(), FORK, BLOCK, mode, ptr::null_mut(), true)
    }
}

/// Puts the record into a buffer that is pinned and exclusively locked, logs it, and lets go of the
/// buffer.
fn log(buffer: pg_sys::Buffer, record: &Record) -> Position {
    let bytes = record.encode();
    // SAFETY: the lock is held, so nobody else sees the page change. Inside the critical section
    // there are only PostgreSQL's own steps for a logged change and a copy of bytes that were made
    // before it.
    unsafe {
        let page = pg_sys::BufferGetPage(buffer).cast();
        pg_sys::CritSectionCount += 1;
        format(page, &bytes);
        pg_sys::MarkBufferDirty(buffer);
        let lsn = pg_sys::log_newpage_buffer(buffer, true);
        pg_sys::CritSectionCount -= 1;
        pg_sys::UnlockReleaseBuffer(buffer);
        lsn
    }
}

/// Makes a whole page that holds the record. Everything behind the record is a hole, which the WAL
/// leaves out.
///
/// # Safety
///
/// `page` points to a page's memory that nobody else accesses.
unsafe fn format(page: *mut u8, record: &[u8; LENGTH]) {
    // SAFETY: within the page.
    unsafe {
        pg_sys::PageInit(page.cast(), PAGE_SIZE, 0);
        (*page.cast::<pg_sys::PageHeaderData>()).pd_lower = (HEADER + LENGTH) as u16;
        *content(page) = *record;
    }
}

/// Where the record is in the page.
fn content(page: *mut u8) -> *mut [u8; LENGTH] {
    page.wrapping_add(HEADER).cast()
}
