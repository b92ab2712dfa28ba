//! Background workers.

use std::time::Duration;

use pgrx::bgworkers::{BackgroundWorkerBuilder, BgWorkerStartTime};
use pgrx::pg_sys;

/// Asks for a worker that runs this function of the library. Called while the library is preloaded.
pub fn ask_for(name: &str, function: &str) {
    // SAFETY: a variable of the server. pg_upgrade starts it without workers.
    if unsafe { pg_sys::IsBinaryUpgrade } {
        return;
    }
    BackgroundWorkerBuilder::new(name)
        .set_type(name)
        .set_library("snowflake_pg")
        .set_function(function)
        .enable_shmem_access(None)
        .set_start_time(BgWorkerStartTime::PostmasterStart)
        .set_restart_time(Some(Duration::from_secs(5)))
        .load();
}

/// Ends the worker. Unless the server stops, it starts the worker again.
pub fn end() {
    // SAFETY: a process of the server may end itself like this.
    unsafe { pg_sys::proc_exit(1) };
}
