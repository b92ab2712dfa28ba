//! Every function of the server that is called without the guard of pgrx, and why that is right.
//!
//! The guard turns an error of PostgreSQL into a Rust panic, so that what is on the stack is
//! dropped. An error of a call without it jumps over all of that. So what is declared here raises
//! no error, or is called where there is nothing to drop. No other file declares functions of the
//! server.
//!
//! Functions of other libraries that had a hook before this one are called without it, too:
//! `keys::utility::run` and `keys::adopt::collect` have nothing to drop when they call them.

use std::ffi::{c_char, c_int, c_void};

use pgrx::pg_sys;

unsafe extern "C-unwind" {
    /// It reads variables of the process, and raises no error. The guard would cost more than the
    /// call, which the hot path makes.
    pub fn GetTopFullTransactionIdIfAny() -> pg_sys::FullTransactionId;

    /// It spins or sleeps, and raises nothing but a PANIC, which ends the process.
    pub fn perform_spin_delay(status: *mut pg_sys::SpinDelayStatus);

    /// It counts in a variable of the process, and raises no error.
    pub fn finish_spin_delay(status: *mut pg_sys::SpinDelayStatus);

    /// It raises what the statement raises. The guard would report less of that than PostgreSQL
    /// does, and its caller has nothing to drop.
    pub fn standard_ProcessUtility(
        statement: *mut pg_sys::PlannedStmt,
        query: *const c_char,
        read_only_tree: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        params: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        destination: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );

    /// It raises an error if memory is short, as the rest of a report does. `report::send` has the
    /// guard around all of it. With FATAL, the process ends.
    pub fn errstart(level: c_int, domain: *const c_char) -> bool;

    /// As `errstart()`.
    pub fn errcode(sqlstate: c_int) -> c_int;

    /// As `errstart()`.
    pub fn errmsg_internal(format: *const c_char, ...) -> c_int;

    /// As `errstart()`.
    pub fn errdetail_internal(format: *const c_char, ...) -> c_int;

    /// As `errstart()`. A callback of reports calls it, too, which has nothing to drop.
    pub fn errhint(format: *const c_char, ...) -> c_int;

    /// It reads the report that is being finished, and raises no error.
    pub fn geterrcode() -> c_int;

    /// As `errstart()`: it raises the error.
    pub fn errfinish(file: *const c_char, line: c_int, function: *const c_char);

    /// It raises an error if memory is short. `memory::prepare` calls it with nothing to drop, and
    /// the guard needs what that prepares.
    pub fn palloc(size: usize) -> *mut c_void;

    /// As `palloc()`.
    pub fn pfree(piece: *mut c_void);

    /// As `palloc()`.
    pub fn AllocSetContextCreateInternal(
        parent: pg_sys::MemoryContext,
        name: *const c_char,
        least: usize,
        first: usize,
        greatest: usize,
    ) -> pg_sys::MemoryContext;

    /// It raises no error. The guard itself calls `memory::__wrap_CopyErrorData`, which calls it.
    pub fn MemoryContextReset(context: pg_sys::MemoryContext);

    /// It raises an error if memory is short, and is called as `MemoryContextReset()` is.
    #[link_name = "__real_CopyErrorData"]
    pub fn CopyErrorData() -> *mut pg_sys::ErrorData;
}
