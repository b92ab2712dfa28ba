//! The world that the tests act in, and what can happen in it.

use proptest::prelude::*;
use proptest::strategy::Union;
use snowflake_core::generator::{
    Decision, Generator, Limits, Observation, Reading, Request, Run, Seen,
};
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

pub const START: Timestamp = Timestamp(1_000_000);
/// Before any other.
pub const FIRST: Timestamp = Timestamp(i64::MIN);
pub const END: Timestamp = Timestamp(2_000_000);
pub const LAST_SEQUENCE: u32 = 3;

/// One ID.
pub const ONE: Request = Request { first: 0, want: 1, last_sequence: LAST_SEQUENCE, leave: 0 };
pub const SESSIONS: usize = 3;

/// No ID ahead of the clock, nothing reused, no step held, no wait, no queue.
pub const STRICT: Limits = Limits {
    max_burst: Some(Span(0)),
    reuse_window: Span(0),
    max_backward_step: Some(Span(0)),
    max_wait: Some(Span(0)),
    max_queue: Span(0),
};

/// A generator, a clock, and sessions that follow every decision as the extension does.
pub struct World {
    pub generator: Generator,
    /// Shorter than the steps of the clock.
    pub ring: Ring<8>,
    pub limits: Limits,
    /// The largest lead over the clock of an ID that is followed.
    pub max_lead: Span,
    pub clock: Timestamp,
    /// By how much the clock has been set back since a request last found it caught up with every
    /// ID, and a millisecond for each reading in flight then: its session sees the hold, but not
    /// yet the step. So it also goes on in a millisecond that the queue has reached since.
    pub set_back: Span,
    pub floor: Timestamp,
    pub sessions: [Session; SESSIONS],
}

#[derive(Clone, Copy)]
pub struct Session {
    pub seen: Option<Seen>,
    pub reading: Option<Reading>,
}

impl World {
    pub fn new(limits: Limits) -> World {
        World::ending_at(END, limits)
    }

    pub fn ending_at(last_timestamp: Timestamp, limits: Limits) -> World {
        let mut generator = Generator::starting_after(START - Span(1), Span::ZERO, last_timestamp);
        let mut ring = Ring::new();
        generator.set_reuse(&mut ring, limits.reuse_window > Span::ZERO);
        World {
            generator,
            ring,
            limits,
            max_lead: Span(0),
            clock: START,
            set_back: Span::ZERO,
            floor: START - Span(1),
            sessions: [Session { seen: None, reading: None }; SESSIONS],
        }
    }

    /// A start explains this lead over the clock.
    pub fn ahead_by(lead: Span, limits: Limits) -> World {
        let generator = Generator::starting_after(START + lead, lead, END);
        World { generator, floor: START + lead, ..World::new(limits) }
    }

    /// Sets it by so many milliseconds.
    pub fn move_clock(&mut self, by: i64) {
        self.clock += Span(by);
        if by < 0 {
            let in_flight = self.readings_in_flight();
            let queue = if in_flight > 0 { self.limits.max_queue } else { Span::ZERO };
            self.set_back = self.set_back + Span(in_flight - by) + queue;
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
            | Decision::Hold { seen, .. } => Some(seen),
            Decision::Issue(_)
            | Decision::IssueAndReserve(_)
            | Decision::Queue { .. }
            | Decision::Reuse { .. }
            | Decision::Refuse { .. }
            | Decision::EndOfField => None,
            Decision::Reserve { timestamp } => {
                self.reserve(timestamp);
                reading.seen
            }
        };
        self.sessions[session] = Session { seen, reading: None };
        if let Decision::Issue(run) = decision
            && reading.now.min(self.clock) >= run.timestamp
            && self.readings_in_flight() == 0
        {
            self.set_back = Span::ZERO;
        }
        (reading, decision)
    }

    fn reserve(&mut self, timestamp: Timestamp) {
        assert!(timestamp > self.floor, "{timestamp:?} was reserved already");
        self.floor = timestamp + Span(5);
        self.generator.raise_floor(self.floor, self.floor);
    }

    /// A session observes a timestamp, and reserves what it has to.
    pub fn observe(&mut self, session: usize, timestamp: Timestamp) -> (Reading, Observation) {
        loop {
            let reading = self.read(session);
            self.sessions[session].reading = None;
            let before = (self.generator, self.ring);
            let generator = &mut self.generator;
            match generator.observe(&mut self.ring, timestamp, reading.now, self.max_lead) {
                Observation::Reserve { timestamp } => self.reserve(timestamp),
                observation => {
                    if matches!(observation, Observation::Refused { .. }) {
                        let after = (self.generator, self.ring);
                        assert_eq!(after, before, "what was refused changed something");
                    }
                    return (reading, observation);
                }
            }
        }
    }

    /// Takes IDs as one session that gets what it wants: reads again when told to, until it has an
    /// ID or must wait.
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

    /// Takes all IDs that need no wait; how many that was.
    pub fn drain(&mut self) -> u32 {
        let mut issued = 0;
        while let Decision::Issue(run) = self.insist(1) {
            issued += run.count;
            assert!(issued < 10_000, "IDs without end");
        }
        issued
    }
}

/// Returns the run that was taken above all IDs before, and the reading from which on it may be
/// returned.
pub fn taken(decision: Decision) -> Option<(Run, Timestamp)> {
    match decision {
        Decision::Issue(run) => Some((run, FIRST)),
        Decision::Queue { run, until, .. } => Some((run, until)),
        _ => None,
    }
}

/// One thing that can happen.
#[derive(Clone, Debug)]
pub enum Event {
    /// The clock moves by this much: it ticks, or somebody sets it.
    Clock(i64),
    /// A session reads the clock, and does something only later.
    Read(usize),
    /// A session takes IDs, with the reading it has, or else with a new one.
    Take(usize, Request),
    /// A session observes an ID whose time is so far from the clock.
    Observe(usize, i64),
    /// A reservation switches reuse on or off. Other sessions might not have seen the change.
    SetReuse(bool),
    /// A reload changes `max_burst`.
    SetMaxBurst(Span),
}

/// The outcome of taking or observing IDs.
#[derive(Clone, Copy, Debug)]
pub enum Happened {
    Took(Decision),
    /// `before` is the generator's timestamp.
    Observed {
        timestamp: Timestamp,
        before: Timestamp,
        observation: Observation,
    },
}

/// Runs the events; `check` sees the world after each request and each observation, with the
/// reading.
pub fn run(
    mut world: World,
    events: Vec<Event>,
    mut check: impl FnMut(&World, Reading, Happened) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for event in events {
        match event {
            Event::Clock(by) => world.move_clock(by),
            Event::Read(session) => drop(world.read(session)),
            Event::Take(session, request) => {
                let (reading, decision) = world.take(session, request);
                check(&world, reading, Happened::Took(decision))?;
            }
            Event::Observe(session, by) => {
                let timestamp = (world.clock + Span(by)).max(Timestamp(0));
                let before = world.generator.timestamp();
                let (reading, observation) = world.observe(session, timestamp);
                check(&world, reading, Happened::Observed { timestamp, before, observation })?;
            }
            Event::SetReuse(on) => world.generator.set_reuse(&mut world.ring, on),
            Event::SetMaxBurst(max_burst) => world.limits.max_burst = Some(max_burst),
        }
    }
    Ok(())
}

/// Limits of all sizes, and none.
pub fn limits(reuse_window: impl Strategy<Value = i64>) -> impl Strategy<Value = Limits> {
    fn limit(finite: impl Strategy<Value = i64>) -> impl Strategy<Value = Option<Span>> {
        prop_oneof![3 => finite.prop_map(|limit| Some(Span(limit))), 1 => Just(None)]
    }
    let back = limit(prop_oneof![Just(0), 1..30i64]);
    let queue = prop_oneof![Just(0), 1..6i64];
    (limit(0..10i64), reuse_window, back, limit(0..30i64), queue).prop_map(
        |(max_burst, reuse_window, max_backward_step, max_wait, max_queue)| Limits {
            max_burst,
            reuse_window: Span(reuse_window),
            max_backward_step,
            max_wait,
            max_queue: Span(max_queue),
        },
    )
}

/// Time that passes, sessions that take IDs, and the others, each with how often it happens.
pub fn events(others: &[(u32, BoxedStrategy<Event>)]) -> impl Strategy<Value = Vec<Event>> + use<> {
    // A request of more than one ID might leave some to others.
    let requests = (
        0..SESSIONS,
        prop_oneof![2 => Just(0), 1 => 0..=LAST_SEQUENCE],
        prop_oneof![3 => Just(1), 1 => 1..9u32],
        0..=LAST_SEQUENCE,
    )
        .prop_map(|(session, first, want, leave)| {
            let leave = if want == 1 { 0 } else { leave };
            Event::Take(session, Request { first, want, leave, ..ONE })
        });
    let ticks = prop_oneof![3 => 0..3i64, 1 => 0..50i64].prop_map(Event::Clock);
    let reads = (0..SESSIONS).prop_map(Event::Read);
    let always = [(4, ticks.boxed()), (4, reads.boxed()), (18, requests.boxed())];
    prop::collection::vec(Union::new_weighted([&always, others].concat()), 0..400)
}

/// Somebody sets the clock.
pub fn steps() -> (u32, BoxedStrategy<Event>) {
    (2, prop_oneof![3 => -20..20i64, 1 => -2000..2000i64].prop_map(Event::Clock).boxed())
}

/// Somebody sets the clock, by a little.
pub fn small_steps() -> (u32, BoxedStrategy<Event>) {
    (4, (-20..20i64).prop_map(Event::Clock).boxed())
}

pub fn observations() -> (u32, BoxedStrategy<Event>) {
    let observe = (0..SESSIONS, -10..20i64).prop_map(|(session, by)| Event::Observe(session, by));
    (6, observe.boxed())
}

pub fn reuse_is_switched() -> (u32, BoxedStrategy<Event>) {
    (1, any::<bool>().prop_map(Event::SetReuse).boxed())
}

/// The largest `max_burst` of a reload.
pub const LARGEST_BURST: i64 = 10;

pub fn reloads() -> (u32, BoxedStrategy<Event>) {
    (1, (0..=LARGEST_BURST).prop_map(|burst| Event::SetMaxBurst(Span(burst))).boxed())
}
