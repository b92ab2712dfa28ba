//! The background worker that follows the clock of the upstream while the server is a standby, and
//! lets the register of a server that was restored remember that.

use std::time::Duration;

use crate::server::{in_recovery, worker};
use pgrx::bgworkers::{BackgroundWorker, SignalWakeFlags};
use pgrx::prelude::*;
use snowflake_core::promise::Wish;

use super::{reservation, restored_copy, upstream};
use crate::settings;

/// How often the worker looks.
const PERIOD: Duration = Duration::from_millis(200);

/// Asks for the worker. Called while the library is preloaded.
pub fn init() {
    worker::ask_for("snowflake upstream clock", "snowflake_upstream_main");
}

/// What the worker runs. It ends when the server is no standby, or no standby any more. If both this
/// server and its recovery end, it still does what is left to do.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn snowflake_upstream_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGTERM);
    while in_recovery() {
        upstream::look(reservation::keep_upstream);
        if !BackgroundWorker::wait_latch(Some(PERIOD)) && in_recovery() {
            worker::end();
        }
    }
    if restored_copy::is_restored() {
        // SAFETY: without a transaction, this is what owns the buffer of the register.
        unsafe { pg_sys::CreateAuxProcessResourceOwner() };
        // Where the register cannot be used, no ID is issued.
        let _ = reservation::administer(settings::fixed(), Wish::NoteCopy);
    }
}
