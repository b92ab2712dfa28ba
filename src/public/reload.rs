//! The background worker that reads the file of the keys again. No other process does, so that all
//! sessions change keys at the same moment.

use crate::pg::{report, worker};
use pgrx::bgworkers::{BackgroundWorker, SignalWakeFlags};
use pgrx::prelude::*;

use super::error::unusable;
use super::file;
use super::keys::{self, State};

/// Asks for the worker, where there is a file. Called while the library is preloaded.
pub fn init() {
    if file::configured().is_some() {
        worker::ask_for("snowflake public keys", "snowflake_public_keys_main");
    }
}

/// The main function of the worker.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn snowflake_public_keys_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGHUP | SignalWakeFlags::SIGTERM);
    keys::note_worker(true);
    // If the worker was started again, it might have missed a reload.
    reload();
    while BackgroundWorker::wait_latch(None) {
        if BackgroundWorker::sighup_received() {
            // SAFETY: what each process of the server does when it is signaled to reload.
            unsafe {
                pg_sys::ConfigReloadPending = 0;
                pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
            }
            reload();
        }
    }
    keys::note_worker(false);
    worker::end();
}

fn reload() {
    match file::read() {
        Ok(read) => {
            if keys::publish(Some(read)) {
                log_change(&keys::state());
            }
        }
        Err((path, error)) => {
            keys::publish(None);
            // After a crash, there might be none.
            report::log(unusable(&path, &error).set_detail(match keys::state().fingerprint {
                Some(_) => "The keys from before remain in use.",
                None => keys::NONE_UNTIL_USABLE,
            }));
        }
    }
}

/// Writes to the log that the keys have changed.
fn log_change(state: &State) {
    // A file without a key is refused.
    let Some(fingerprint) = &state.fingerprint else { return };
    report::log(report::message(format!(
        "public IDs have {} {}, the first with fingerprint {fingerprint}",
        state.count,
        if state.count == 1 { "key" } else { "keys" }
    )));
}
