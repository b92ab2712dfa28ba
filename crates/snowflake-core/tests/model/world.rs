//! A primary and what survives it: sessions, shared memory, the page of the register, the WAL, and
//! how much of it each standby has.

use std::hash::{DefaultHasher, Hash, Hasher};

use snowflake_core::generator::{Decision, Generator, Reading, Seen};
use snowflake_core::jump::{BootClock, Clocks};
use snowflake_core::layout::Layout;
use snowflake_core::promise::{Promise, Request};
use snowflake_core::register::Record;
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

use crate::bounds::{Bounds, Design};
use crate::effects::Effect;
use crate::relative::{BOOT, Relative, START, position};
use crate::turn::Turn;

pub const BACKENDS: usize = 2;
pub const ADMINISTRATOR: usize = BACKENDS;

pub type Id = (Timestamp, u32);

/// A record of the WAL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    Reservation(Record),
    /// The commit of a transaction that has written the ID, or has only returned it.
    Commit(Id),
    /// A promotion.
    Timeline(u32),
}

/// The next step of a session.
#[expect(clippy::large_enum_variant, reason = "it is copied wherever a state is")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Session {
    /// Nothing.
    Idle,
    /// Read the clock, having seen this timestamp.
    Read {
        seen: Option<Seen>,
    },
    Take(Reading),
    /// Do what was decided at this time of the boot clock, which is to wait.
    Sleep(Decision, i64),
    /// Read the clock, to observe this timestamp.
    Look {
        timestamp: Timestamp,
    },
    Observe {
        timestamp: Timestamp,
        now: Timestamp,
    },
    /// Take the lock, and begin a turn.
    Want(Request),
    /// With the lock held, do this effect of the turn.
    Do(Turn, Effect),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    pub clock: Timestamp,
    /// The milliseconds that have truly passed, which the boot clock shows.
    pub elapsed: i64,
    /// Shared memory: gone after a crash.
    pub promise: Promise,
    /// The lead of the clock over true time when the session that has the lock read it; 0 before
    /// that.
    pub ahead_then: i64,
    /// The furthest that the clock was ahead of true time where IDs were allowed to follow it.
    pub accepted: i64,
    /// The lead at the last confirmation.
    pub confirmed: Option<i64>,
    pub set_back: bool,
    pub up: bool,
    pub timeline: u32,
    pub system_identifier: u64,
    /// Which of `layouts()` is configured.
    pub layout: usize,
    /// True if this start is one from a backup; and true if it, or one before it, has issued an ID
    /// or noted that.
    pub is_restored: bool,
    pub is_copy: bool,
    /// Shared memory: gone after a crash.
    pub generator: Generator,
    pub ring: Ring<2>,
    /// All IDs that were issued, if reuse is on.
    pub issued_with_reuse: Vec<Id>,
    /// The backends, which take IDs, and the administrator, who sets a floor, confirms, or observes
    /// an ID.
    pub sessions: [Session; BACKENDS + 1],
    /// The latest reading that the clock has had since the administrator was told of an ID, or last
    /// waited for a flush.
    pub latest_reading: Timestamp,
    /// By which reading the administrator has judged the ID, before the wait, for a design that
    /// keeps to it.
    pub judged_by: Option<Timestamp>,
    /// The page in the buffer pool, and on disk.
    pub buffer: Option<Record>,
    pub disk: Option<Record>,
    /// Recovery begins at this entry of the WAL.
    pub redo: usize,
    pub wal: Vec<Entry>,
    pub flushed: usize,
    /// The end of the WAL that each standby has, until it is promoted.
    pub standbys: [Option<usize>; 2],
    /// The standby that commits wait for.
    pub required: Option<usize>,
    /// Where this primary began, in its first life.
    pub base_of_primary: Option<Timestamp>,
    /// The highest ID whose commit returned while it had to be on this standby.
    pub returned: [Option<Id>; 2],
    /// Commits that wait until the standby has so much of the WAL.
    pub waiting: Vec<(usize, Id)>,
    /// The account of the generator's floor, in a design that keeps one: up to where the WAL has to
    /// be on the standby, and the floor of which it was seen there.
    pub acknowledged_at: usize,
    pub acknowledged: Option<Timestamp>,
    /// When this incarnation began, in true time.
    pub began: i64,
    /// For how long IDs have been taken all the time, and for how long of that the standby has not
    /// received anything, where nothing else has happened since.
    pub busy: i64,
    pub lag: Option<i64>,
    /// The highest ID that must never come again: of all that were issued, or after a promotion, of
    /// all rows.
    pub highest: Option<Id>,
    /// As a number, if layouts change.
    pub highest_number: i64,
    /// The highest timestamp that was observed, unless it was lost with a primary.
    pub seen: Option<Timestamp>,
    pub counts: Counts,
    pub broken: Option<&'static str>,
}

/// The numbers of events that have bounds; for crashes, how many are left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    pub clock_moves: u8,
    pub changes: u8,
    pub restores: u8,
    pub switches: u8,
    pub administrations: u8,
    pub failures: u8,
    pub requirements: u8,
    pub issued: usize,
    pub reservations: u8,
    pub crashes: u8,
    pub checkpoints: u8,
}

impl World {
    /// Keeps it as a fact, for a design that does, that the standby has the floor, or that there is
    /// none to wait for.
    pub fn note_acknowledgement(&mut self) {
        let received = self.required.map_or(Some(usize::MAX), |standby| self.standbys[standby]);
        if received.is_some_and(|received| self.acknowledged_at <= received) {
            self.acknowledged = Some(self.generator.floor());
        }
    }

    /// A commit returns.
    pub fn give(&mut self, id: Id) {
        if let Some(standby) = self.required {
            self.returned[standby] = self.returned[standby].max(Some(id));
        }
    }

    /// Lets commits return that have nothing to wait for any more.
    pub fn release(&mut self) {
        let received =
            self.required.map_or(usize::MAX, |standby| self.standbys[standby].unwrap_or(0));
        for (lsn, id) in std::mem::take(&mut self.waiting) {
            if lsn <= received {
                self.give(id);
            } else {
                self.waiting.push((lsn, id));
            }
        }
    }

    pub fn set_reuse(&mut self, bounds: &Bounds, on: bool) {
        if bounds.design == Design::NothingWasUsedBefore {
            let mut as_it_was = self.ring;
            self.generator.set_reuse(&mut as_it_was, on);
            self.ring.begin(Timestamp(0));
        } else {
            self.generator.set_reuse(&mut self.ring, on);
        }
    }

    /// Returns whether the administrator has been told of an ID, and has not followed it yet.
    fn observes(&self) -> bool {
        use Session::{Do, Look, Observe, Want};
        match &self.sessions[ADMINISTRATOR] {
            Look { .. } | Observe { .. } => true,
            Want(request) | Do(Turn { request, .. }, _) => is_to_observe(*request),
            _ => false,
        }
    }

    /// Returns whether a session has the lock.
    pub fn is_locked(&self) -> bool {
        self.sessions.iter().any(|session| matches!(session, Session::Do(..)))
    }

    /// The timeline that whoever has so much of the WAL knows of.
    pub fn known_timeline(&self, received: usize) -> u32 {
        let timeline = |entry: &Entry| match entry {
            Entry::Timeline(timeline) => Some(*timeline),
            _ => None,
        };
        self.wal[..received].iter().rev().find_map(timeline).unwrap_or(1)
    }

    /// The highest row in so much of the WAL. One that was observed might be behind the last one.
    pub fn last_row(&self, received: usize) -> Option<Id> {
        let row = |entry: &Entry| match entry {
            Entry::Commit(id) => Some(*id),
            _ => None,
        };
        self.wal[..received].iter().filter_map(row).max()
    }

    /// Returns the record that recovery finds in the register, if it begins at this entry of the
    /// WAL and ends at that one.
    pub fn recovered(&self, redo: usize, end: usize) -> Option<Record> {
        let record = |entry: &Entry| match entry {
            Entry::Reservation(record) => Some(*record),
            _ => None,
        };
        let last = self.wal[redo..end].iter().rev().find_map(record);
        last.or(self.disk.filter(|_| redo == self.redo))
    }

    /// Returns whether anything but memory will ever be read again.
    pub fn may_crash(&self) -> bool {
        self.counts.crashes > 0 || !self.up
    }

    pub fn log_durably(&mut self, record: Record) {
        self.wal.push(Entry::Reservation(record));
        self.flushed = self.wal.len();
        self.buffer = Some(record);
    }

    /// Returns how far the clock is ahead of true time.
    pub fn ahead(&self) -> i64 {
        (self.clock - START).0 - self.elapsed
    }

    pub fn clocks(&self) -> Clocks {
        // Each promotion is on another machine.
        let boot = BootClock { boot: self.timeline.into(), elapsed: Span(BOOT + self.elapsed) };
        Clocks { wall: self.clock, boot }
    }

    pub fn lose_memory(&mut self) {
        self.promise = Promise::default();
        self.ahead_then = 0;
        // No client has an ID that it was not told of.
        self.waiting.clear();
        (self.acknowledged_at, self.acknowledged) = (0, None);
        self.busy = 0;
        self.generator = unstarted();
        self.ring = Ring::new();
        self.sessions = idle();
        self.buffer = None;
    }

    pub fn recover(&mut self) {
        self.buffer = self.recovered(self.redo, self.wal.len());
        self.flushed = self.wal.len();
    }
}

/// Hashes the parts that decide how it can go on.
impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let World {
            clock,
            elapsed,
            promise,
            ahead_then,
            accepted,
            confirmed,
            set_back,
            up,
            timeline,
            system_identifier,
            layout,
            is_restored,
            is_copy,
            generator,
            ring,
            issued_with_reuse,
            sessions,
            latest_reading,
            judged_by,
            buffer,
            disk: _,
            redo,
            wal,
            flushed,
            standbys,
            required,
            base_of_primary,
            returned,
            waiting,
            acknowledged_at,
            acknowledged,
            began,
            busy,
            lag,
            highest,
            highest_number,
            seen,
            counts,
            broken,
        } = self;
        let (boot, durable) = (BOOT + elapsed, position(*flushed));
        let hasher = &mut Relative { hasher, wall: *clock, boot, durable };
        (promise, generator, ring, issued_with_reuse, buffer).hash(hasher);
        sessions[ADMINISTRATOR].hash(hasher);
        // The backends are alike, so that their order means nothing.
        let backends = sessions[..BACKENDS].iter().map(|backend| {
            let hasher = DefaultHasher::new();
            let mut relative = Relative { hasher, wall: *clock, boot, durable };
            backend.hash(&mut relative);
            relative.finish()
        });
        let sum = backends.fold(0, u64::wrapping_add);
        // It is no position.
        hasher.hasher.write_u64(sum);
        let ahead = self.ahead();
        let has_read = self.is_locked().then(|| ahead_then - ahead);
        (has_read, accepted - ahead, confirmed.map(|confirmed| confirmed - ahead)).hash(hasher);
        let observes = self.observes().then_some((latest_reading, judged_by));
        (set_back, up, timeline, system_identifier, layout, observes).hash(hasher);
        (is_restored, is_copy).hash(hasher);
        (required, highest, highest_number, seen, counts, broken).hash(hasher);
        (elapsed - began, busy, lag).hash(hasher);
        // The record that would be recovered, and the server that would recover it.
        (self.recovered(*redo, *flushed), *flushed < wal.len()).hash(hasher);
        if !self.may_crash() {
            return;
        }
        self.recovered(*redo, wal.len()).hash(hasher);
        for end in [Some(*flushed), Some(wal.len()), standbys[0], standbys[1]] {
            let left = |end| (self.recovered(0, end), self.last_row(end), self.known_timeline(end));
            end.map(left).hash(hasher);
        }
        let has = |position: usize| standbys.map(|received| received >= Some(position));
        (has(*flushed), standbys[0].cmp(&standbys[1]), base_of_primary, returned).hash(hasher);
        for (position, id) in waiting {
            (has(*position), id).hash(hasher);
        }
        (has(*acknowledged_at), acknowledged_at <= flushed, acknowledged).hash(hasher);
    }
}

/// Returns whether the reservation is for a timestamp that is observed.
pub fn is_to_observe(request: Request) -> bool {
    matches!(request, Request::Reserve { lead, .. } if lead > Span::ZERO)
}

pub fn unstarted() -> Generator {
    Generator::starting_after(Timestamp(0), Span::ZERO, Layout::TWITTER.last_timestamp())
}

/// Backends that take IDs, and an administrator who does nothing yet.
pub fn idle() -> [Session; BACKENDS + 1] {
    let reads = Session::Read { seen: None };
    [reads.clone(), reads, Session::Idle]
}
