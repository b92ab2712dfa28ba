//! One of the servers: shared memory, a session that takes IDs, one that observes them, the WAL, and
//! a standby. Each step does what the core decides, as the extension does.

use std::hash::{Hash, Hasher};

use snowflake_core::generator::{Decision, Generator, Observation, Reading, Request, Seen};
use snowflake_core::jump::{BootClock, Clocks};
use snowflake_core::layout::Layout;
use snowflake_core::promise::{Effect, Event, Promise, Wish};
use snowflake_core::register::{Issuer, Record, Writer};
use snowflake_core::ring::Ring;

use crate::bounds::{Bounds, Design};
use crate::relative::{BOOT, Relative, START, position};

/// What can be wrong.
pub const NOT_GREATER: &str = "an ID is not greater than one that was seen";
pub const TOO_FAR_AHEAD: &str =
    "an ID was followed that was further ahead of the clock than allowed";

/// What a session does next.
#[expect(clippy::large_enum_variant, reason = "it is copied wherever a state is")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Session {
    /// Nothing: it waits for a message.
    Idle,
    /// Read the clock, to take an ID.
    Read {
        seen: Seen,
    },
    Take(Reading),
    /// Read the clock, to observe this timestamp.
    Look {
        timestamp: i64,
    },
    Observe {
        timestamp: i64,
        now: i64,
    },
    /// Take the lock, and tell the machine of this.
    Want(Wish),
    /// With the lock held, do what the machine asks for.
    Do(Wish, Effect),
}

pub const TAKE: usize = 0;
pub const OBSERVE: usize = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// How far its clock is from true time.
    pub offset: i64,
    /// The latest reading that the clock has had since the session that observes was told of an ID, or
    /// last waited for a flush.
    latest_reading: i64,
    /// By which reading that session has judged the ID, before it waited, for a design that keeps to
    /// it.
    judged_by: i64,
    timeline: u32,
    promise: Promise,
    generator: Generator,
    ring: Ring<4>,
    /// The generator before the last observation, for a design that goes back to it.
    before_observation: Option<Generator>,
    pub sessions: [Session; 2],
    /// The records, and the commits of transactions that have seen a timestamp.
    wal: Vec<Entry>,
    flushed: usize,
    /// What it has seen, by what it has told anybody.
    seen: i64,
    /// The last ID that it issued.
    pub last: Option<(i64, u32)>,
    pub issued: usize,
    reservations: usize,
    pub broken: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Entry {
    Reservation(Record),
    Seen(i64),
}

impl Server {
    pub fn new(offset: i64) -> Server {
        Server {
            offset,
            latest_reading: i64::MIN,
            judged_by: i64::MIN,
            timeline: 1,
            promise: Promise::default(),
            generator: unstarted(),
            ring: Ring::new(),
            before_observation: None,
            sessions: [Session::Read { seen: Seen::NOTHING }, Session::Idle],
            wal: Vec::new(),
            flushed: 0,
            seen: i64::MIN,
            last: None,
            issued: 0,
            reservations: 0,
            broken: None,
        }
    }

    fn issuer(&self) -> Issuer {
        Issuer {
            system_identifier: 1,
            timeline: self.timeline,
            layout: Layout::TWITTER,
            writer: Writer { datacenter_id: 0, worker_id: 0, machine: 0 },
            failover_margin: 2,
            max_backward_step: i64::MAX,
            max_forward_step: None,
            start_after: None,
        }
    }

    fn clocks(&self, time: i64) -> Clocks {
        let boot = BootClock { boot: 1, elapsed: BOOT + time };
        Clocks { wall: START + time + self.offset, boot }
    }

    /// What so much of the WAL leaves in the register.
    fn record(&self, end: usize) -> Option<Record> {
        self.wal[..end].iter().rev().find_map(|entry| match entry {
            Entry::Reservation(record) => Some(*record),
            Entry::Seen(_) => None,
        })
    }

    /// What the standby has of so much of the WAL: what a commit has waited for. What the server was
    /// told of since, nobody knows.
    fn received(&self, end: usize) -> usize {
        let is_commit = |entry: &Entry| matches!(entry, Entry::Seen(_));
        self.wal[..end].iter().rposition(is_commit).map_or(0, |last| last + 1)
    }

    /// What is in so much of the WAL of what it has seen.
    fn seen_by(&self, end: usize) -> i64 {
        let seen = |entry: &Entry| match entry {
            Entry::Seen(timestamp) => Some(*timestamp),
            Entry::Reservation(_) => None,
        };
        self.wal[..end].iter().filter_map(seen).max().unwrap_or(i64::MIN)
    }

    /// It loses its memory, and the part of the WAL that was not flushed. What it has told anybody
    /// holds all the same.
    pub fn crash(&mut self) {
        self.wal.truncate(self.flushed);
        self.lose_memory();
    }

    /// Its standby takes over.
    pub fn fail_over(&mut self) {
        self.flushed = self.received(self.flushed);
        self.wal.truncate(self.flushed);
        self.seen = self.seen_by(self.flushed);
        self.timeline += 1;
        self.lose_memory();
        // IDs that were issued and lost are not this model's matter.
        self.last = None;
    }

    fn lose_memory(&mut self) {
        self.promise = Promise::default();
        self.generator = unstarted();
        self.ring = Ring::new();
        self.before_observation = None;
        self.sessions = [Session::Read { seen: Seen::NOTHING }, Session::Idle];
        (self.latest_reading, self.judged_by) = (i64::MIN, i64::MIN);
    }

    /// A session's next step; `None` where it has to wait for something else.
    pub fn step(&mut self, bounds: &Bounds, time: i64, session: usize) -> Option<()> {
        let now = self.clocks(time).wall;
        if self.sessions[OBSERVE] != Session::Idle {
            self.latest_reading = self.latest_reading.max(now);
        }
        self.sessions[session] = match self.sessions[session] {
            Session::Idle => return None,
            Session::Read { seen } => Session::Take(Reading { now, seen }),
            Session::Take(reading) => self.take(bounds, reading)?,
            Session::Look { timestamp } => Session::Observe { timestamp, now },
            Session::Observe { timestamp, now } => self.observe(bounds, timestamp, now),
            Session::Want(_) if self.is_locked() || self.reservations >= bounds.reservations => {
                return None;
            }
            Session::Want(wish) => self.go_on(bounds, time, wish, Event::Wanted(wish)),
            Session::Do(wish, effect) => {
                let event = self.perform(bounds, time, wish, effect);
                self.go_on(bounds, time, wish, event)
            }
        };
        Some(())
    }

    fn is_locked(&self) -> bool {
        self.sessions.iter().any(|session| matches!(session, Session::Do(..)))
    }

    /// Tells the machine, and does what it asks for up to a flush, or the publication of a floor.
    fn go_on(&mut self, bounds: &Bounds, time: i64, wish: Wish, event: Event) -> Session {
        let (mut promise, issuer) = (self.promise, self.issuer());
        let last = promise.drive(&issuer, event, |effect| match effect {
            Effect::Flush(_) | Effect::Raise { .. } => None,
            effect => Some(self.perform(bounds, time, wish, effect)),
        });
        self.promise = promise;
        if let Effect::Flush(_) | Effect::Raise { .. } = last {
            return Session::Do(wish, last);
        }
        match wish {
            Wish::Reserve { timestamp, .. } if is_to_observe(wish) => match bounds.design {
                Design::JudgeBeforeTheLock => Session::Observe { timestamp, now: self.judged_by },
                _ => Session::Look { timestamp },
            },
            _ => Session::Read { seen: Seen::NOTHING },
        }
    }

    fn perform(&mut self, bounds: &Bounds, time: i64, wish: Wish, effect: Effect) -> Event {
        match effect {
            Effect::ReadClocks => Event::Clocks(self.clocks(time)),
            Effect::Look => Event::Looked(self.generator),
            Effect::Read => Event::Read(Ok(self.record(self.wal.len()))),
            Effect::Create(record) => {
                self.wal.push(Entry::Reservation(record));
                self.flushed = self.wal.len();
                Event::Done
            }
            Effect::Write(record) => {
                self.reservations += 1;
                self.wal.push(Entry::Reservation(record));
                Event::Written(position(self.wal.len()))
            }
            Effect::Flush(position) => {
                if is_to_observe(wish) {
                    self.latest_reading = self.clocks(time).wall;
                }
                if !is_to_observe(wish) || bounds.design != Design::RaiseBeforeTheFlush {
                    self.flushed = self.wal.len();
                }
                Event::Flushed(position)
            }
            Effect::Raise { floor, next_after } => {
                self.generator.raise_floor(floor, next_after);
                self.generator.set_reuse(&mut self.ring, bounds.limits.reuse_window > 0);
                Event::Done
            }
            Effect::Restart(generator) => {
                self.generator = generator;
                Event::Done
            }
            Effect::SyncEntry => Event::Done,
            effect => unreachable!("nobody reserves early or administers: {effect:?}"),
        }
    }

    fn observe(&mut self, bounds: &Bounds, timestamp: i64, now: i64) -> Session {
        if bounds.design == Design::JudgeBeforeTheLock {
            self.judged_by = now;
        }
        if !self.promise.has_begun() {
            return Session::Want(Wish::Reserve { timestamp, lead: bounds.max_observed_lead });
        }
        let (before, ring) = (self.generator, self.ring);
        let max_lead = bounds.max_observed_lead;
        let observation = self.generator.observe(&mut self.ring, timestamp, now, max_lead);
        if bounds.design == Design::KeepTheRing {
            self.ring = ring;
        }
        match observation {
            Observation::Reserve { timestamp } => {
                Session::Want(Wish::Reserve { timestamp, lead: max_lead })
            }
            Observation::Refused { .. } => Session::Idle,
            Observation::Followed { .. } => {
                let was_raised = self.generator.timestamp() > before.timestamp();
                if was_raised && timestamp - self.latest_reading > max_lead {
                    self.broken = Some(TOO_FAR_AHEAD);
                }
                if bounds.design == Design::StaleReadingsUndo {
                    self.before_observation = Some(before);
                }
                self.seen = self.seen.max(timestamp);
                // The transaction that brought the ID commits.
                self.wal.push(Entry::Seen(timestamp));
                Session::Idle
            }
        }
    }

    fn take(&mut self, bounds: &Bounds, reading: Reading) -> Option<Session> {
        if self.issued >= bounds.ids {
            return None;
        }
        if bounds.design == Design::StaleReadingsUndo
            && let Some(before) = self.before_observation
            && reading.seen != Seen::NOTHING
            && reading.now < self.generator.timestamp()
        {
            self.generator = before;
        }
        let request = Request { first: 0, want: 1, last_sequence: 1, leave: 0 };
        let decision = self.generator.take(&mut self.ring, reading, request, &bounds.limits);
        Some(match decision {
            Decision::Issue(run) | Decision::IssueAndReserve(run) | Decision::Reuse { run, .. } => {
                if run.timestamp <= self.seen {
                    self.broken = Some(NOT_GREATER);
                }
                self.last = Some((run.timestamp, run.first));
                self.issued += 1;
                Session::Read { seen: Seen::NOTHING }
            }
            Decision::Reread { seen }
            | Decision::Hold { seen, .. }
            | Decision::Wait { seen, .. } => Session::Read { seen },
            Decision::Reserve { timestamp } => Session::Want(Wish::Reserve { timestamp, lead: 0 }),
            Decision::Refuse { .. } | Decision::EndOfField => Session::Read { seen: Seen::NOTHING },
        })
    }

    /// Whether it has issued an ID after it has seen one.
    pub fn has_answered(&self) -> bool {
        self.seen != i64::MIN && self.last.is_some_and(|(timestamp, _)| timestamp > self.seen)
    }

    /// Whether it could be told of an ID now.
    pub fn listens(&self) -> bool {
        self.sessions[OBSERVE] == Session::Idle
    }

    /// It is told of an ID of this timestamp.
    pub fn hear(&mut self, timestamp: i64) {
        self.sessions[OBSERVE] = Session::Look { timestamp };
        (self.latest_reading, self.judged_by) = (i64::MIN, i64::MIN);
    }

    pub fn set_clock_back(&mut self, by: i64) {
        self.offset += by;
    }

    /// What decides how it can go on, at this time.
    pub fn hash(&self, time: i64, may_crash: bool, hasher: &mut impl Hasher) {
        let Server {
            offset,
            latest_reading,
            judged_by,
            timeline,
            promise,
            generator,
            ring,
            before_observation,
            sessions,
            wal,
            flushed,
            seen,
            last,
            issued,
            reservations,
            broken,
        } = self;
        let Clocks { wall, boot } = self.clocks(time);
        let durable = position(*flushed);
        let hasher = &mut Relative { hasher, wall, boot: boot.elapsed, durable };
        (offset, timeline, promise, generator, ring, before_observation, sessions).hash(hasher);
        (seen, last, issued, reservations, broken).hash(hasher);
        (!self.listens()).then_some((latest_reading, judged_by)).hash(hasher);
        self.record(wal.len()).hash(hasher);
        if may_crash {
            for end in [*flushed, wal.len()] {
                let received = self.received(end);
                (self.record(end), self.record(received), self.seen_by(received)).hash(hasher);
            }
        }
    }
}

fn unstarted() -> Generator {
    Generator::starting_after(0, 0, Layout::TWITTER.last_timestamp())
}

/// Whether the reservation is for a timestamp that is observed.
fn is_to_observe(wish: Wish) -> bool {
    matches!(wish, Wish::Reserve { lead: 1.., .. })
}
