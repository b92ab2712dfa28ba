//! What a standby knows of the clock of the server that it follows.
//!
//! Each message that a walreceiver gets carries the sender's clock. A background worker looks at the
//! last one while the server is a standby, and keeps what it says together with the boot clock. A
//! server that is promoted compares its own clock with that: see [`snowflake_core::jump`].
//!
//! In a cascade, it is the clock of the standby that sends. Without a message in this life of the
//! server, nothing is known: after a restart, or where WAL comes from an archive alone.

use std::time::Duration;

use pgrx::bgworkers::{
    BackgroundWorker, BackgroundWorkerBuilder, BgWorkerStartTime, SignalWakeFlags,
};
use pgrx::prelude::*;
use snowflake_core::jump::Clocks;

use super::reservation;
use crate::generator::clock;
use crate::generator::spinlock::SpinLock;
use crate::server::time;

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

/// The last message of a walreceiver: when it was sent, by the sender's clock, and when it was
/// received, by this server's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// PostgreSQL's form of the time.
    pub sent: pg_sys::TimestampTz,
    /// PostgreSQL's form of the time.
    pub received: pg_sys::TimestampTz,
}

/// The last message, if a walreceiver streams.
pub fn last_message() -> Option<Message> {
    // SAFETY: shared memory of the server, which is read as PostgreSQL reads it. Between lock and
    // release there are copies of integers.
    let (state, message) = unsafe {
        let receiver = pg_sys::WalRcv;
        let lock = SpinLock::of(&raw mut (*receiver).mutex);
        lock.lock();
        let state = (*receiver).walRcvState;
        let (sent, received) = ((*receiver).lastMsgSendTime, (*receiver).lastMsgReceiptTime);
        lock.unlock();
        (state, Message { sent, received })
    };
    // A walreceiver that starts sets both times to its own, before it connects.
    let streams = state == pg_sys::WalRcvState::WALRCV_STREAMING;
    (streams && message.sent != message.received).then_some(message)
}

impl Message {
    /// What the upstream's clock says now, by this message, which came since the last look.
    pub fn clocks(self, unseen: i64) -> Clocks {
        let [sent, received] = [self.sent, self.received].map(time::unix_ms);
        Clocks::of_upstream(sent, received, clock::clocks(), unseen)
    }
}

/// What the worker runs. It ends when the server is no standby, or no standby any more.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn snowflake_upstream_main(_argument: pg_sys::Datum) {
    BackgroundWorker::attach_signal_handlers(SignalWakeFlags::SIGTERM);
    let mut seen = None;
    let mut looked = clock::boot_ms();
    while reservation::refuse_in_recovery().is_err() {
        let message = last_message();
        let now = clock::boot_ms();
        if let Some(message) = message.filter(|message| Some(*message) != seen) {
            reservation::keep_upstream(message.clocks(now - looked));
            seen = Some(message);
        }
        looked = now;
        if !BackgroundWorker::wait_latch(Some(PERIOD)) {
            // Unless the server stops, it starts the worker again.
            // SAFETY: a process of the server may end itself like this.
            unsafe { pg_sys::proc_exit(1) };
        }
    }
}
