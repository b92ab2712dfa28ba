//! Memory of Rust where the system has no more.
//!
//! PostgreSQL raises an error then. Rust ends the process by a signal, with which the server ends
//! all sessions. So what Rust wants then comes from a reserve of the process. A call with the
//! longest texts takes a quarter of it, and what PostgreSQL allocates for the call raises the
//! error. Where the reserve is used up all the same, as by very many rows of the catalog, this
//! session ends, and no other.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{RefCell, UnsafeCell};
use std::ops::Deref;
use std::panic::{catch_unwind, panic_any};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{ptr, thread};

use cee_scape::call_with_sigsetjmp;
use pgrx::{PgLogLevel, PgSqlErrorCode, pg_sys};
use snowflake_core::reserve::Reserve;

use crate::pg::unguarded::{
    AllocSetContextCreateInternal, CopyErrorData, MemoryContextReset, errcode, errdetail_internal,
    errfinish, errmsg_internal, errstart, palloc, pfree,
};

/// Bytes of a unit of the reserve.
const UNIT: usize = 64;

/// Units of the reserve: 1 MB. Its pages take no memory before they are written.
const UNITS: usize = 1 << 14;

/// The greatest alignment that the reserve has.
const PAGE: usize = 4096;

#[repr(align(4096))]
struct Pages(UnsafeCell<[u8; UNIT * UNITS]>);

// SAFETY: each piece belongs to one owner.
unsafe impl Sync for Pages {}

static PAGES: Pages = Pages(UnsafeCell::new([0; UNIT * UNITS]));

fn reserve() -> MutexGuard<'static, Reserve<UNITS>> {
    static RESERVE: Mutex<Reserve<UNITS>> = Mutex::new(Reserve::new());
    RESERVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The unit of the reserve that a piece of memory begins with; `None` for a piece of the system's.
#[inline(always)]
fn unit(piece: *mut u8) -> Option<usize> {
    let offset = piece.addr().wrapping_sub(PAGES.0.get().addr());
    (offset < UNIT * UNITS).then_some(offset / UNIT)
}

struct Allocator;

#[cfg_attr(not(test), global_allocator)]
static ALLOCATOR: Allocator = Allocator;

/// A piece of the reserve.
#[cold]
fn take(layout: Layout) -> *mut u8 {
    let [count, alignment] = [layout.size(), layout.align()].map(|bytes| bytes.div_ceil(UNIT));
    match reserve().take(count, alignment) {
        // SAFETY: the unit is one of the pages.
        Some(unit) if layout.align() <= PAGE => unsafe {
            PAGES.0.get().cast::<u8>().add(unit * UNIT)
        },
        _ => end_session(),
    }
}

// SAFETY: a piece is the system's or the reserve's, and goes back to where it came from.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let piece = unsafe { System.alloc(layout) };
        if piece.is_null() { take(layout) } else { piece }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match unit(piece) {
            Some(unit) => reserve().give_back(unit, layout.size().div_ceil(UNIT)),
            // SAFETY: the caller's promise.
            None => unsafe { System.dealloc(piece, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise. Where the piece is not moved by the system, it is copied.
        unsafe {
            if unit(piece).is_none() {
                let moved = System.realloc(piece, layout, size);
                if !moved.is_null() {
                    return moved;
                }
            }
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            ptr::copy_nonoverlapping(piece, moved, layout.size().min(size));
            self.dealloc(piece, layout);
            moved
        }
    }
}

/// Ends the session with FATAL. Of what is on the stack, nothing is dropped.
fn end_session() -> ! {
    // SAFETY: as the macro ereport() does. The texts have no formats.
    unsafe {
        errstart(PgLogLevel::FATAL as i32, ptr::null());
        errcode(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as i32);
        errmsg_internal(c"out of memory".as_ptr());
        errdetail_internal(c"The reserve of the library snowflake_pg is used up.".as_ptr());
        errfinish(c"memory.rs".as_ptr(), line!() as i32, c"end_session".as_ptr());
    }
    unreachable!("FATAL ends the process")
}

/// Where errors are copied to.
static ERRORS: AtomicPtr<pg_sys::MemoryContextData> = AtomicPtr::new(ptr::null_mut());

/// Allocates what a process needs once, and what could end it if memory were short later: where
/// errors are copied to, and what the C library has for thread-locals and their destructors. Called
/// when the library is loaded, with nothing to drop: PostgreSQL raises an error if memory is short
/// now.
pub fn prepare() {
    /// More than what the C library allocates.
    const ENOUGH: usize = 1 << 16;
    const SIZE: usize = 8192;
    // SAFETY: memory of the process.
    unsafe {
        pfree(palloc(ENOUGH));
        if ERRORS.load(Relaxed).is_null() {
            let (parent, name) = (pg_sys::TopMemoryContext, c"snowflake_pg errors".as_ptr());
            ERRORS.store(AllocSetContextCreateInternal(parent, name, SIZE, SIZE, SIZE), Relaxed);
        }
    }
    // Rust has a handle of the thread, which its own allocator allocates, and pgrx a thread-local
    // with what it knows of a panic.
    drop(thread::current());
    drop(catch_unwind(|| panic_any(())));
}

/// The linker puts it in the place of `CopyErrorData()`, by which the guard of pgrx reads each
/// error. That copies into the current context, and where it finds no memory there, it raises an
/// error, from which the guard does not recover. Here, that error is read in place of the one that
/// it hides.
///
/// # Safety
///
/// As for `CopyErrorData()`, and called with the guard. The copy lives until the next one.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __wrap_CopyErrorData() -> *mut pg_sys::ErrorData {
    let errors = ERRORS.load(Relaxed);
    let mut copy: *mut pg_sys::ErrorData = ptr::null_mut();
    // SAFETY: the caller's promise. The closure has nothing to drop. The frames on the stack of
    // callbacks are gone, and the guard puts it back.
    unsafe {
        let (handler, context) = (pg_sys::PG_exception_stack, pg_sys::CurrentMemoryContext);
        pg_sys::error_context_stack = ptr::null_mut();
        // An error leaves a context in which PostgreSQL copies none, so each time begins with ours.
        while copy.is_null() {
            MemoryContextReset(errors);
            pg_sys::CurrentMemoryContext = errors;
            call_with_sigsetjmp(false, |here| {
                pg_sys::PG_exception_stack = ptr::from_ref(here).cast_mut().cast();
                copy = CopyErrorData();
                0
            });
        }
        (pg_sys::PG_exception_stack, pg_sys::CurrentMemoryContext) = (handler, context);
    }
    copy
}

/// A variable of the process, which has one thread. A thread-local would have a destructor, for
/// which the C library needs memory when it is used first, and ends the process where there is
/// none.
pub struct OfProcess<T>(RefCell<T>);

// SAFETY: a backend has one thread.
unsafe impl<T> Sync for OfProcess<T> {}

impl<T> OfProcess<T> {
    /// It has this value.
    pub const fn new(value: T) -> OfProcess<T> {
        OfProcess(RefCell::new(value))
    }
}

impl<T> Deref for OfProcess<T> {
    type Target = RefCell<T>;

    fn deref(&self) -> &RefCell<T> {
        &self.0
    }
}
