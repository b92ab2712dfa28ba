//! The clock of the server that a standby follows, as the standby knows it.
//!
//! Each message that a walreceiver gets carries the sender's clock. While the server is a standby,
//! [`super::standby_worker`] looks at the last one, and keeps what it says together with the boot
//! clock. A server that is promoted compares its own clock with that: see [`snowflake_core::jump`].
//!
//! In a cascade, it is the clock of the standby that sends. If no message has come since the server
//! started, nothing is known, as after a restart, or where WAL comes from an archive alone.
//!
//! The meaning of the last message depends on how long ago it came, which the wall clock alone does
//! not tell, because it might have been set meanwhile. So each message is used once, at the first
//! look after it came. A worker that is started again must not take the message that is there for a
//! new one.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64};

use crate::pg::time;
use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgAtomic, pg_shmem_init};
use snowflake_core::jump::Clocks;
use snowflake_core::time::Span;

use crate::generator::clock;
use crate::generator::spinlock::SpinLock;

// SAFETY: nobody else names shared memory like this.
static LAST_LOOK: PgAtomic<Look> = unsafe { PgAtomic::new(c"snowflake_upstream") };

/// The last look of the worker, the only process that writes this, which continues from here when
/// it is started again.
struct Look {
    /// When it looked: [`clock::since_boot`]. At first, when the server started.
    at: AtomicI64,
    /// True if it has looked.
    has_looked: AtomicBool,
    /// The last message that it used, in the fields of [`Message`]. 0 before the first one.
    sent: AtomicI64,
    received: AtomicI64,
    /// True if the server was connected to another one, at this look or an earlier one.
    connected: AtomicBool,
}

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Look {}

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(
        LAST_LOOK = Look {
            at: clock::since_boot().0.into(),
            has_looked: false.into(),
            sent: 0.into(),
            received: 0.into(),
            connected: false.into(),
        }
    );
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
    let Walreceiver { streams, message, .. } = walreceiver();
    // A walreceiver that starts sets both times to its own, before it connects.
    (streams && message.sent != message.received).then_some(message)
}

/// Returns whether a walreceiver of this server has been connected to another server since this
/// one started. PostgreSQL 19 forgets the sender when it tries to connect again. So a message of a
/// sender counts, too, and what the worker saw.
pub fn was_connected() -> bool {
    walreceiver().had_sender || LAST_LOOK.get().connected.load(Relaxed)
}

/// The state in PostgreSQL of the walreceiver that runs, or ran last.
struct Walreceiver {
    streams: bool,
    message: Message,
    /// True if it was ever connected: it still holds the name of a host, or the end of the WAL that
    /// a sender has reported.
    had_sender: bool,
}

fn walreceiver() -> Walreceiver {
    // SAFETY: shared memory of the server, which is read as PostgreSQL reads it. Between lock and
    // release there are copies of integers.
    unsafe {
        let receiver = pg_sys::WalRcv;
        let lock = SpinLock::of(&raw mut (*receiver).mutex);
        lock.lock();
        let state = (*receiver).walRcvState;
        let (sent, received) = ((*receiver).lastMsgSendTime, (*receiver).lastMsgReceiptTime);
        let (host, end) = ((*receiver).sender_host[0], (*receiver).latestWalEnd);
        lock.unlock();
        Walreceiver {
            streams: state == pg_sys::WalRcvState::WALRCV_STREAMING,
            message: Message { sent, received },
            had_sender: host != 0 || end != 0,
        }
    }
}

impl Message {
    /// Returns the present reading of the upstream's clock, by this message since the last look.
    pub fn clocks(self, unseen: Option<Span>) -> Clocks {
        let [sent, received] = [self.sent, self.received].map(time::from_timestamptz);
        Clocks::of_upstream(sent, received, clock::clocks(), unseen)
    }
}

/// Hands over what the upstream's clock says by a message that came since the last look. Called by
/// the worker alone.
pub fn look(keep: impl FnOnce(Clocks)) {
    let last = LAST_LOOK.get();
    last.connected.store(was_connected(), Relaxed);
    let (message, now) = (last_message(), clock::since_boot());
    let seen = Message { sent: last.sent.load(Relaxed), received: last.received.load(Relaxed) };
    if let Some(message) = message.filter(|message| *message != seen) {
        keep(message.clocks(Some(now - Span(last.at.load(Relaxed)))));
        last.sent.store(message.sent, Relaxed);
        last.received.store(message.received, Relaxed);
    }
    last.at.store(now.0, Relaxed);
    last.has_looked.store(true, Relaxed);
}

/// A worker that has not looked for longer than this does not run: it looks five times a second,
/// and PostgreSQL starts one again that has ended after 5 seconds.
const GONE: Span = Span(10_000);

/// Returns whether the worker runs. The library must have been preloaded.
pub fn has_worker() -> bool {
    let last = LAST_LOOK.get();
    let is_recent = || clock::since_boot() - Span(last.at.load(Relaxed)) < GONE;
    last.has_looked.load(Relaxed) && is_recent()
}
