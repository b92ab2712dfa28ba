//! One of the servers: shared memory, a session that takes IDs, one that observes them, the WAL, and
//! a standby. Each step does what the core decides, as the extension does.

use snowflake_core::generator::{Decision, Generator, Observation, Reading, Request, Seen};
use snowflake_core::jump::{BootClock, Clocks};
use snowflake_core::layout::Layout;
use snowflake_core::register::{Issuer, Record, Reservation, Writer};
use snowflake_core::ring::Ring;

use crate::bounds::{Bounds, Design};

/// What can be wrong.
pub const NOT_GREATER: &str = "an ID is not greater than one that was seen";
pub const TOO_FAR_AHEAD: &str =
    "an ID was followed that was further ahead of the clock than allowed";

pub const START: i64 = 1_800_000_000_000;

/// What a session does next.
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
    /// Take the lock, and write the record that makes this timestamp available.
    Reserve {
        timestamp: i64,
        observed: bool,
    },
    Flush {
        reservation: Reservation,
        timestamp: i64,
        observed: bool,
    },
    Publish {
        reservation: Reservation,
        timestamp: i64,
        observed: bool,
    },
}

pub const TAKE: usize = 0;
pub const OBSERVE: usize = 1;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// How far its clock is from true time.
    pub offset: i64,
    /// The latest reading that the clock has had since the session that observes was told of an ID, or
    /// last waited for a flush.
    latest_reading: i64,
    /// By which reading that session has judged the ID, before it waited.
    judged_by: i64,
    timeline: u32,
    begun: bool,
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
            begun: false,
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
            start_after: None,
        }
    }

    fn clocks(&self, time: i64) -> Clocks {
        Clocks { wall: START + time + self.offset, boot: BootClock { boot: 1, elapsed: time } }
    }

    fn record(&self) -> Option<Record> {
        self.wal.iter().rev().find_map(|entry| match entry {
            Entry::Reservation(record) => Some(*record),
            Entry::Seen(_) => None,
        })
    }

    /// It loses its memory, and the part of the WAL that was not flushed. What it has told anybody
    /// holds all the same.
    pub fn crash(&mut self) {
        self.wal.truncate(self.flushed);
        self.lose_memory();
    }

    /// Its standby takes over. It has what a commit has waited for: what it was told of since, nobody
    /// knows.
    pub fn fail_over(&mut self) {
        self.wal.truncate(self.flushed);
        while matches!(self.wal.last(), Some(Entry::Reservation(_))) {
            self.wal.pop();
        }
        self.flushed = self.wal.len();
        let seen = |entry: &Entry| match entry {
            Entry::Seen(timestamp) => Some(*timestamp),
            Entry::Reservation(_) => None,
        };
        self.seen = self.wal.iter().filter_map(seen).max().unwrap_or(i64::MIN);
        self.timeline += 1;
        self.lose_memory();
        // IDs that were issued and lost are not this model's matter.
        self.last = None;
    }

    fn lose_memory(&mut self) {
        self.begun = false;
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
            Session::Reserve { timestamp, observed } => {
                self.reserve(bounds, time, timestamp, observed)?
            }
            Session::Flush { reservation, timestamp, observed } => {
                self.flushed = self.wal.len();
                if observed {
                    self.latest_reading = now;
                }
                Session::Publish { reservation, timestamp, observed }
            }
            Session::Publish { reservation, timestamp, observed } => {
                self.generator.raise_floor(reservation.record.floor, reservation.next_after);
                self.generator.set_reuse(&mut self.ring, bounds.limits.reuse_window > 0);
                match (observed, bounds.design) {
                    (true, Design::JudgeBeforeTheLock) => {
                        Session::Observe { timestamp, now: self.judged_by }
                    }
                    (true, _) => Session::Look { timestamp },
                    (false, _) => Session::Read { seen: Seen::NOTHING },
                }
            }
        };
        Some(())
    }

    fn is_locked(&self) -> bool {
        let holds =
            |session: &Session| matches!(session, Session::Flush { .. } | Session::Publish { .. });
        self.sessions.iter().any(holds)
    }

    fn reserve(
        &mut self,
        bounds: &Bounds,
        time: i64,
        timestamp: i64,
        observed: bool,
    ) -> Option<Session> {
        if self.is_locked() || self.reservations >= bounds.reservations {
            return None;
        }
        let clocks = self.clocks(time);
        let again = if observed {
            Session::Look { timestamp }
        } else {
            Session::Read { seen: Seen::NOTHING }
        };
        if !self.begun {
            self.begin(clocks);
            return Some(again);
        }
        let lead = if observed { bounds.max_observed_lead } else { 0 };
        if timestamp <= self.generator.floor()
            || !self.generator.may_need(timestamp, clocks.wall + lead)
        {
            return Some(again);
        }
        self.reservations += 1;
        let reservation = self.issuer().reservation(timestamp, self.generator.floor(), clocks, 0);
        self.wal.push(Entry::Reservation(reservation.record));
        if observed && bounds.design == Design::RaiseBeforeTheFlush {
            self.generator.raise_floor(reservation.record.floor, reservation.next_after);
            return Some(Session::Look { timestamp });
        }
        Some(Session::Flush { reservation, timestamp, observed })
    }

    fn begin(&mut self, clocks: Clocks) {
        let issuer = self.issuer();
        let (after, hold) = match self.record() {
            Some(record) => {
                let start = issuer.start(&record, clocks.wall).expect("its own record");
                (start.after, start.hold)
            }
            None => {
                self.wal.push(Entry::Reservation(issuer.record(clocks.wall - 1, clocks)));
                self.flushed = self.wal.len();
                (clocks.wall - 1, 0)
            }
        };
        self.generator = Generator::starting_after(after, hold, Layout::TWITTER.last_timestamp());
        self.begun = true;
    }

    fn observe(&mut self, bounds: &Bounds, timestamp: i64, now: i64) -> Session {
        self.judged_by = now;
        if !self.begun {
            return Session::Reserve { timestamp, observed: true };
        }
        let (before, ring) = (self.generator, self.ring);
        let max_lead = bounds.max_observed_lead;
        let observation = self.generator.observe(&mut self.ring, timestamp, now, max_lead);
        if bounds.design == Design::KeepTheRing {
            self.ring = ring;
        }
        match observation {
            Observation::Reserve { timestamp } => Session::Reserve { timestamp, observed: true },
            Observation::Refused { .. } => Session::Idle,
            Observation::Followed { .. } => {
                let was_raised = self.generator.timestamp() > before.timestamp();
                if was_raised && timestamp - self.latest_reading > max_lead {
                    self.broken = Some(TOO_FAR_AHEAD);
                }
                self.before_observation = Some(before);
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
            Decision::Reserve { timestamp } => Session::Reserve { timestamp, observed: false },
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
}

fn unstarted() -> Generator {
    Generator::starting_after(0, 0, Layout::TWITTER.last_timestamp())
}
