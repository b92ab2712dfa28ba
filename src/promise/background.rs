//! The background worker that follows the clock of the upstream while the server is a standby.

use std::time::Duration;

use crate::server::in_recovery;
use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::prelude::*;

use super::{reservation, upstream};

/// How often the worker looks.
const PERIOD: Duration = Duration::from_millis(200);

/// Asks for the worker. Called while the library is preloaded.
pub fn init() {
    // SAFETY: a variable of the server. pg_upgrade starts it without workers.
    if unsafe { pg_sys::IsBinaryUpgrade } {
        return;
    }
    BackgroundWorkerBuilder::new("snowflake upstream clock")
        .set_type("snowflake upstream clock")
        .set_library("snowflake_pg")
        .set_function("snowflake_upstream_main")
        .enable_shmem_access(None)
        .set_start_time(BgWorkerStartTime::PostmasterStart)
        .set_restart_time(Some(Duration::from_secs(5)))
        .load();
}

/// What the worker runs. It ends when the server is no standby, or no standby any more.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn snowflake_upstream_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGTERM);
    while in_recovery() {
        upstream::look(reservation::keep_upstream);
        if !BackgroundWorker::wait_latch(Some(PERIOD)) {
            // Unless the server stops, it starts the worker again.
            // SAFETY: a process of the server may end itself like this.
            unsafe { pg_sys::proc_exit(1) };
        }
    }
}
