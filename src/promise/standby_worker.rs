//! The background worker that follows the clock of the upstream while the server is a standby, and
//! reserves as soon as it is promoted; or lets the register of a server that was restored remember
//! that.

use std::time::Duration;

use crate::pg::{in_recovery, worker};
use pgrx::bgworkers::{BackgroundWorker, SignalWakeFlags};
use pgrx::prelude::*;
use snowflake_core::defaults::LOOK;
use snowflake_core::promise::Request;

use super::{reservation, restored_copy, upstream};
use crate::settings;

/// The time between two looks of the worker.
const PERIOD: Duration = Duration::from_millis(LOOK.0 as u64);

/// The time between a reservation that was refused and the next one.
const AGAIN: Duration = Duration::from_secs(1);

/// Asks for the worker. Called while the library is preloaded.
pub fn init() {
    worker::ask_for("snowflake upstream clock", "snowflake_upstream_main");
}

/// The main function of the worker. It ends when the server is no standby, or no standby any more,
/// and what is left to do is done.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn snowflake_upstream_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGTERM);
    let mut is_to_end = false;
    while in_recovery() {
        upstream::look(reservation::keep_upstream);
        is_to_end |= !BackgroundWorker::wait_latch(Some(PERIOD));
        if is_to_end && in_recovery() {
            worker::end();
        }
    }
    // SAFETY: without a transaction, this is what owns the buffer of the register.
    unsafe { pg_sys::CreateAuxProcessResourceOwner() };
    let fixed = settings::fixed();
    if restored_copy::is_restored() {
        // Where the register cannot be used, no ID is issued.
        let _ = reservation::administer(fixed, Request::NoteCopy);
    } else if fixed.identity.is_some() {
        // The obstacle, such as a clock that is wrong, refuses IDs, too, and may be set right.
        while reservation::reserve_promoted(fixed).is_err() {
            if is_to_end || !BackgroundWorker::wait_latch(Some(AGAIN)) {
                worker::end();
            }
        }
    }
}
