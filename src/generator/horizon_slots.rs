//! Which transactions hold back the horizon: what [`snowflake_core::horizon`] reads and writes, in
//! shared memory.
//!
//! # Locking contract
//!
//! A slot belongs to a process. It is lowered by this process and by its parallel workers, under
//! the generator's spinlock, and it is cleared without a lock by this process, whose workers have
//! ended by then. Clearing releases, and reading acquires: a reader who finds a slot clear finds
//! what was written before. Each place and each prepared slot has a spinlock of its own, under
//! which its few integers are copied, and nothing else is done.
//!
//! Only a library that was preloaded has the memory. Nothing but [`init`], [`ended`] and [`at`] may
//! be called without preloading.

use std::cell::UnsafeCell;
use std::mem::size_of;
use std::ptr;
use std::slice;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64};

use pgrx::prelude::*;
use pgrx::{PgSharedMemoryInitialization, pg_shmem_init};
use snowflake_core::horizon::{Act, Anonymous, Before, Event, NO_ID, Place};
use snowflake_core::time::Timestamp;

use super::spinlock::SpinLock;
use crate::pg::unguarded::GetTopFullTransactionIdIfAny;

/// The number of transactions that have a place. A place takes 32 bytes.
pub const PLACES: usize = 65_536;

/// The first ID of the transaction of a process. It has a cache line of its own.
#[repr(C, align(64))]
pub struct Slot {
    first: AtomicI64,
    /// When that was taken, as a [`Timestamp`].
    since: AtomicI64,
}

impl Slot {
    const fn clear() -> Slot {
        Slot { first: AtomicI64::new(NO_ID), since: AtomicI64::new(0) }
    }

    /// The first ID, and when it was taken; [`NO_ID`] if none was.
    pub fn read(&self) -> (i64, Timestamp) {
        (self.first.load(Acquire), Timestamp(self.since.load(Relaxed)))
    }
}

/// Integers behind a spinlock.
#[repr(C)]
struct Locked<T> {
    lock: SpinLock,
    value: UnsafeCell<T>,
}

impl<T: Copy> Locked<T> {
    fn new(value: T) -> Locked<T> {
        Locked { lock: SpinLock::new(), value: UnsafeCell::new(value) }
    }

    fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held, so nobody else has a reference.
        let result = act(unsafe { &mut *self.value.get() });
        self.lock.unlock();
        result
    }
}

/// A prepared transaction, or one that was; all zero if the prepared slot was never used.
#[derive(Clone, Copy, Default)]
pub struct PreparedSlot {
    /// The transaction ID; 0 if there is none.
    pub xid: u64,
    /// The first ID, or [`NO_ID`].
    pub first: i64,
    /// When that was taken.
    pub since: Timestamp,
    /// The role that prepared it.
    pub role: pg_sys::Oid,
}

/// The shared memory: this, then the slots, the prepared slots and the places.
#[repr(C)]
struct Header {
    /// True once all transactions that were prepared before the server started have ended.
    settled: AtomicBool,
    /// [`Anonymous::count`] and [`Anonymous::next`].
    anonymous: [AtomicU64; 2],
    /// The largest horizon that was found.
    horizon: AtomicI64,
}

/// Where the shared memory is: in this process, and in those that it forks.
static MEMORY: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());

/// The slot that this process writes into. Memory of one process.
static OWN: AtomicPtr<Slot> = AtomicPtr::new((&raw const UNKNOWN).cast_mut());

/// Stands for the slot until the process takes its first ID.
static UNKNOWN: Slot = Slot::clear();

/// The result of [`ended`]. Memory of one process.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// [`Before::count`] and [`Before::horizon`]. Memory of one process.
static BEFORE: (AtomicU64, AtomicI64) = (AtomicU64::new(0), AtomicI64::new(0));

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(SLOTS = ());
}

/// Returns the numbers of slots and prepared slots. Each prepared transaction has a prepared slot,
/// and each process might be about to prepare another one.
fn sizes() -> [usize; 2] {
    // SAFETY: both are known before shared memory is asked for, and do not change.
    let (processes, prepared) = unsafe { (pg_sys::MaxBackends, pg_sys::max_prepared_xacts) };
    let prepared_slots = if prepared == 0 { 0 } else { processes + prepared };
    [processes as usize, prepared_slots as usize]
}

/// Where the slots begin, in bytes.
const SLOTS_AT: usize = size_of::<Header>().next_multiple_of(align_of::<Slot>());

/// Where the prepared slots and the places begin, and where the memory ends, in bytes.
fn offsets() -> [usize; 3] {
    let [slots, prepared_slots] = sizes();
    let prepared_slots_at = SLOTS_AT + slots * size_of::<Slot>();
    let places_at = prepared_slots_at + prepared_slots * size_of::<Locked<PreparedSlot>>();
    [prepared_slots_at, places_at, places_at + PLACES * size_of::<Locked<Place>>()]
}

static SLOTS: Slots = Slots;

/// Asks for the memory, and fills it. Its size depends on settings, so it is none of pgrx's types.
struct Slots;

impl PgSharedMemoryInitialization for Slots {
    type Value = ();

    unsafe fn on_shmem_request(&'static self) {
        let [.., end] = offsets();
        // The memory that PostgreSQL gives out begins at a multiple of 128 bytes at least.
        // SAFETY: called where memory is asked for.
        unsafe { pg_sys::RequestAddinShmemSpace(end) };
    }

    unsafe fn on_shmem_startup(&'static self, (): ()) {
        // SAFETY: called where memory is given out, which lives as long as the server. All of it is
        // written before anybody reads it.
        unsafe {
            // PostgreSQL's AddinShmemInitLock.
            let lock = &raw mut (*pg_sys::MainLWLockArray.add(21)).lock;
            pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
            let mut found = false;
            let name = c"snowflake_horizon".as_ptr();
            let [prepared_slots_at, places_at, end] = offsets();
            let begin = pg_sys::ShmemInitStruct(name, end, &mut found).cast::<Header>();
            MEMORY.store(begin, Relaxed);
            if !found {
                let [slots, prepared_slots] = sizes();
                begin.write(Header {
                    settled: AtomicBool::new(false),
                    anonymous: [AtomicU64::new(0), AtomicU64::new(0)],
                    horizon: AtomicI64::new(0),
                });
                fill(begin, SLOTS_AT, slots, Slot::clear);
                let free = || Locked::new(PreparedSlot::default());
                fill(begin, prepared_slots_at, prepared_slots, free);
                fill(begin, places_at, PLACES, || Locked::new(Place::EMPTY));
            }
            pg_sys::LWLockRelease(lock);
        }
    }
}

/// Writes so many values into the memory, from this offset on.
///
/// # Safety
///
/// They fit there, and nobody else uses the memory yet.
unsafe fn fill<T>(begin: *mut Header, offset: usize, count: usize, value: impl Fn() -> T) {
    for number in 0..count {
        // SAFETY: see above.
        unsafe { begin.byte_add(offset).cast::<T>().add(number).write(value()) };
    }
}

/// So many values of the memory, from this offset on.
fn part<T>(offset: usize, count: usize) -> &'static [T] {
    // SAFETY: written when the server started; what is shared is atomic, or behind a lock.
    unsafe {
        let begin = MEMORY.load(Relaxed).byte_add(offset).cast::<T>();
        slice::from_raw_parts(begin, count)
    }
}

/// The slot of each process, by its number.
pub fn slots() -> &'static [Slot] {
    part(SLOTS_AT, sizes()[0])
}

fn prepared_slots() -> &'static [Locked<PreparedSlot>] {
    part(offsets()[0], prepared_slot_count())
}

fn places() -> &'static [Locked<Place>] {
    part(offsets()[1], PLACES)
}

/// Returns the number of prepared slots.
pub fn prepared_slot_count() -> usize {
    sizes()[1]
}

/// Returns the content of this prepared slot.
pub fn prepared_slot(number: usize) -> PreparedSlot {
    prepared_slots()[number].with(|slot| *slot)
}

/// Returns the content of this place.
pub fn place(number: usize) -> Place {
    places()[number].with(|place| *place)
}

/// True once all transactions that were prepared before the server started have ended.
pub fn settled() -> &'static AtomicBool {
    &header().settled
}

/// The anonymous transactions that have ended.
pub fn anonymous() -> Anonymous {
    let [count, next] = &header().anonymous;
    Anonymous { count: count.load(Acquire), next: next.load(Acquire) }
}

/// Returns the values that were read when the last transaction of this process ended.
pub fn before() -> Before {
    Before { count: BEFORE.0.load(Relaxed), horizon: BEFORE.1.load(Relaxed) }
}

/// Keeps a horizon that was found, for later snapshots.
pub fn keep(horizon: i64) {
    header().horizon.fetch_max(horizon, AcqRel);
}

fn header() -> &'static Header {
    &part(0, 1)[0]
}

/// Notes that the transaction of this process takes an ID. Called under the generator's spinlock,
/// in the same hold as the claim; see the contract there for what may be done.
#[inline(always)]
pub fn claim(id: i64, now: Timestamp) {
    // SAFETY: points to a slot of the shared memory, or to the one that stands for it.
    let slot = unsafe { &*OWN.load(Relaxed) };
    if id < slot.first.load(Relaxed) {
        claim_first(id, now);
    }
}

/// As [`claim`], where the ID is the first of the transaction, or smaller than that. A smaller one
/// follows only after the floor was lowered by force, or while `snowflake.reuse_window` is on.
#[cold]
#[inline(never)]
fn claim_first(id: i64, now: Timestamp) {
    // SAFETY: variables of this process, which has a number in the array of processes, as its
    // leader has. The leader outlives its workers, which take IDs within its transaction.
    let slot = unsafe {
        let own = pg_sys::MyProc;
        let leader = (*own).lockGroupLeader;
        let is_worker = pg_sys::ParallelWorkerNumber >= 0 && !leader.is_null();
        slot_of(if is_worker { leader } else { own })
    };
    OWN.store(ptr::from_ref(slot).cast_mut(), Relaxed);
    if id < slot.first.load(Relaxed) {
        if slot.first.load(Relaxed) == NO_ID {
            slot.since.store(now.0, Relaxed);
        }
        slot.first.store(id, Relaxed);
    }
}

/// The number of transactions of this process that have ended.
pub fn ended() -> u64 {
    ENDED.load(Relaxed)
}

/// Does what is to be done at an event at the end of the transaction of this process.
pub fn at(event: Event) {
    let is_end = !matches!(event, Event::PreCommit | Event::PrePrepare);
    if is_end {
        ENDED.fetch_add(1, Relaxed);
    }
    if MEMORY.load(Relaxed).is_null() {
        return;
    }
    // A worker might have written into the slot, and this process have taken no ID itself.
    // SAFETY: a process that ends a transaction has a number.
    let slot = unsafe { slot_of(pg_sys::MyProc) };
    for act in event.acts() {
        match act {
            Act::Clear => {
                if slot.first.load(Relaxed) != NO_ID {
                    slot.first.store(NO_ID, Release);
                }
            }
            Act::Put => put(slot.first.load(Relaxed)),
            Act::Count => {
                if slot.first.load(Relaxed) != NO_ID && own_xid() == 0 {
                    count();
                }
            }
            Act::FillPreparedSlot => {
                let (first, since) = slot.read();
                fill_prepared_slot(first, since);
            }
        }
    }
    if is_end {
        BEFORE.0.store(header().anonymous[0].load(Acquire), Relaxed);
        BEFORE.1.store(header().horizon.load(Acquire), Relaxed);
    }
}

/// The slot of a process.
///
/// # Safety
///
/// The process has a number in the array of processes.
unsafe fn slot_of(process: *const pg_sys::PGPROC) -> &'static Slot {
    // SAFETY: the caller's promise; there are as many slots as processes.
    unsafe {
        let number = process.addr() - (*pg_sys::ProcGlobal).allProcs.addr();
        let number = number / size_of::<pg_sys::PGPROC>();
        &*MEMORY.load(Relaxed).byte_add(SLOTS_AT).cast::<Slot>().add(number)
    }
}

/// The transaction ID of this process's transaction; 0 if it has none, and has written nothing.
fn own_xid() -> u64 {
    // SAFETY: in a transaction.
    unsafe { GetTopFullTransactionIdIfAny().value }
}

/// Counts this transaction, which has taken an ID and has no transaction ID.
#[cold]
#[pg_guard]
extern "C-unwind" fn count() {
    let [count, next] = &header().anonymous;
    // SAFETY: reads shared memory of the server.
    next.fetch_max(unsafe { pg_sys::ReadNextFullTransactionId().value }, AcqRel);
    count.fetch_add(1, AcqRel);
}

/// Puts the transaction of this process into its place, if the place wants it.
fn put(first: i64) {
    let xid = own_xid();
    if xid != 0 {
        places()[xid as usize % PLACES].with(|place| {
            if place.wants(xid, first) {
                place.put(xid, first);
            }
        });
    }
}

/// Fills a prepared slot that is free, or whose transaction has ended. There always is one; see
/// [`sizes`].
#[cold]
#[pg_guard]
extern "C-unwind" fn fill_prepared_slot(first: i64, since: Timestamp) {
    // SAFETY: reads a variable of this process.
    let role = unsafe { pg_sys::GetUserId() };
    let new = PreparedSlot { xid: own_xid(), first, since, role };
    for slot in prepared_slots() {
        let found = slot.with(|slot| slot.xid);
        // SAFETY: in a transaction, and no lock is held.
        if found != 0 && unsafe { pg_sys::TransactionIdIsInProgress((found as u32).into()) } {
            continue;
        }
        let is_taken = slot.with(|slot| {
            let is_free = slot.xid == found;
            if is_free {
                *slot = new;
            }
            is_free
        });
        if is_taken {
            return;
        }
    }
}
