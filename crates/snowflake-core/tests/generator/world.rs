//! The world that the tests act in.

use snowflake_core::generator::{Decision, Generator, Limits, Reading, Request, Seen};
use snowflake_core::ring::Ring;

pub const START: i64 = 1_000_000;
pub const LAST_SEQUENCE: u32 = 3;

/// One ID.
pub const ONE: Request = Request { first: 0, want: 1, last_sequence: LAST_SEQUENCE, leave: 0 };
pub const SESSIONS: usize = 3;

/// No ID ahead of the clock, nothing reused, no step held, no wait.
pub const STRICT: Limits =
    Limits { max_burst: 0, reuse_window: 0, max_backward_step: 0, max_wait: 0 };

/// A generator, a clock, and sessions that follow every decision as the extension does.
pub struct World {
    pub generator: Generator,
    /// Shorter than the steps of the clock.
    pub ring: Ring<8>,
    pub limits: Limits,
    pub clock: i64,
    /// By how much the clock has been set back since a request last found it caught up with every ID,
    /// and a millisecond for each reading in flight then: its session sees the hold, but not yet
    /// the step.
    pub set_back: i64,
    pub floor: i64,
    pub sessions: [Session; SESSIONS],
}

#[derive(Clone, Copy)]
pub struct Session {
    pub seen: Seen,
    pub reading: Option<Reading>,
}

impl World {
    pub fn new(limits: Limits) -> World {
        World::ending_at(START * 2, limits)
    }

    pub fn ending_at(last_timestamp: i64, limits: Limits) -> World {
        let mut generator = Generator::starting_after(START - 1, 0, last_timestamp);
        let mut ring = Ring::new();
        generator.set_reuse(&mut ring, limits.reuse_window > 0);
        World {
            generator,
            ring,
            limits,
            clock: START,
            set_back: 0,
            floor: START - 1,
            sessions: [Session { seen: Seen::NOTHING, reading: None }; SESSIONS],
        }
    }

    pub fn move_clock(&mut self, by: i64) {
        self.clock += by;
        if by < 0 {
            self.set_back += self.readings_in_flight() - by;
        }
    }

    pub fn readings_in_flight(&self) -> i64 {
        self.sessions.iter().filter(|session| session.reading.is_some()).count() as i64
    }

    pub fn read(&mut self, session: usize) -> Reading {
        let session = &mut self.sessions[session];
        *session.reading.get_or_insert(Reading { now: self.clock, seen: session.seen })
    }

    /// One request. Returns the reading that it was made with and what was decided.
    pub fn take(&mut self, session: usize, request: Request) -> (Reading, Decision) {
        let reading = self.read(session);
        let (mut at_once, mut ring) = (self.generator, self.ring);
        let run = at_once.take_at_once(&mut ring, reading.now, request, || self.limits.max_burst);
        assert!(
            run.is_some() || (at_once, ring) == (self.generator, self.ring),
            "a request that came to nothing changed something"
        );
        let mut decision = self.generator.take(&mut self.ring, reading, request, &self.limits);
        if let Some(run) = run {
            // Promise 9.
            let state = (self.generator, self.ring);
            assert_eq!((Decision::Issue(run), (at_once, ring)), (decision, state));
        }
        // A reservation is made in the background, or not at all: here it is not.
        if let Decision::IssueAndReserve(run) = decision {
            decision = Decision::Issue(run);
        }
        let seen = match decision {
            Decision::Reread { seen }
            | Decision::Wait { seen, .. }
            | Decision::Hold { seen, .. } => seen,
            Decision::Issue(_)
            | Decision::IssueAndReserve(_)
            | Decision::Reuse { .. }
            | Decision::Refuse { .. }
            | Decision::EndOfField => Seen::NOTHING,
            Decision::Reserve { timestamp } => {
                assert!(timestamp > self.floor, "{timestamp} was reserved already");
                self.floor = timestamp + 5;
                self.generator.raise_floor(self.floor, self.floor);
                reading.seen
            }
        };
        self.sessions[session] = Session { seen, reading: None };
        if let Decision::Issue(run) = decision
            && reading.now.min(self.clock) >= run.timestamp
            && self.readings_in_flight() == 0
        {
            self.set_back = 0;
        }
        (reading, decision)
    }

    /// Takes IDs as one session that gets what it wants: reads again when told to, until it has an ID
    /// or must wait.
    pub fn insist(&mut self, want: u32) -> Decision {
        for _ in 0..100 {
            match self.take(0, Request { want, ..ONE }).1 {
                Decision::Reread { .. } | Decision::Hold { .. } | Decision::Reserve { .. } => {
                    continue;
                }
                decision => return decision,
            }
        }
        panic!("a request that comes to no end");
    }

    /// Takes all that the clock's present millisecond gives; how many IDs that was.
    pub fn drain(&mut self) -> u32 {
        let mut issued = 0;
        while let Decision::Issue(run) = self.insist(1) {
            issued += run.count;
            assert!(issued < 10_000, "a millisecond that does not end");
        }
        issued
    }
}
