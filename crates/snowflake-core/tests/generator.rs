//! Property tests of the generator: any clock, any interleaving of sessions, any limits.
//!
//! The numbers in the test names' comments are those of the promises at the top of
//! `src/generator.rs`. `make mutants` breaks the rules one by one and shows that these tests
//! notice.

use std::collections::HashSet;

use proptest::prelude::*;
use snowflake_core::generator::{
    Claim, Decision, Generator, Limits, RESERVATION, Reading, Run, Seen, WaitReason,
};
use snowflake_core::ring::Ring;

const START: i64 = 1_000_000;
const LAST_SEQUENCE: u32 = 3;

/// One ID.
const ONE: Claim = Claim { first: 0, want: 1, last_sequence: LAST_SEQUENCE, leave: 0 };
const SESSIONS: usize = 3;

/// No ID ahead of the clock, nothing reused, no step held, no wait.
const STRICT: Limits = Limits { max_burst: 0, reuse_window: 0, max_backward_step: 0, max_wait: 0 };

/// One thing that happens.
#[derive(Clone, Debug)]
enum Event {
    /// The clock moves by this much: it ticks, or somebody sets it.
    Clock(i64),
    /// A session reads the clock, and claims only later.
    Read(usize),
    /// A session claims, with the reading it has, or else with a new one.
    Claim { session: usize, claim: Claim },
    /// A reservation switches reuse on or off. Other sessions may not have seen the change.
    SetReuse(bool),
}

/// A generator, a clock, and sessions that follow every decision as the extension does.
struct World {
    generator: Generator,
    /// Shorter than the steps of the clock.
    ring: Ring<8>,
    limits: Limits,
    clock: i64,
    /// By how much the clock has been set back since a claim last found it caught up with every ID,
    /// and a millisecond for each reading in flight then: its session sees the hold, but not yet
    /// the step.
    set_back: i64,
    floor: i64,
    sessions: [Session; SESSIONS],
}

#[derive(Clone, Copy)]
struct Session {
    seen: Seen,
    reading: Option<Reading>,
}

impl World {
    fn new(limits: Limits) -> World {
        World::ending_at(START * 2, limits)
    }

    fn ending_at(last_timestamp: i64, limits: Limits) -> World {
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

    fn move_clock(&mut self, by: i64) {
        self.clock += by;
        if by < 0 {
            self.set_back += self.readings_in_flight() - by;
        }
    }

    fn readings_in_flight(&self) -> i64 {
        self.sessions.iter().filter(|session| session.reading.is_some()).count() as i64
    }

    fn read(&mut self, session: usize) -> Reading {
        let session = &mut self.sessions[session];
        *session.reading.get_or_insert(Reading { now: self.clock, seen: session.seen })
    }

    /// One claim. Returns the reading that it was made with and what was decided.
    fn claim(&mut self, session: usize, claim: Claim) -> (Reading, Decision) {
        let reading = self.read(session);
        let (mut at_once, mut ring) = (self.generator, self.ring);
        let run = at_once.claim_at_once(&mut ring, reading.now, claim, || self.limits.max_burst);
        assert!(
            run.is_some() || (at_once, ring) == (self.generator, self.ring),
            "a claim that came to nothing changed something"
        );
        let mut decision = self.generator.claim(&mut self.ring, reading, claim, &self.limits);
        if let Some(run) = run {
            // Promise 9.
            let state = (self.generator, self.ring);
            assert_eq!((Decision::Issue(run), (at_once, ring)), (decision, state));
        }
        // A reservation is made in the background, or not at all: here it is not.
        if let Decision::IssueAnd { run, .. } = decision {
            decision = Decision::Issue(run);
        }
        let seen = match decision {
            Decision::Reread { seen }
            | Decision::Wait { seen, .. }
            | Decision::Hold { seen, .. } => seen,
            Decision::Issue(_)
            | Decision::IssueAnd { .. }
            | Decision::Reuse { .. }
            | Decision::Refuse { .. }
            | Decision::EndOfField => Seen::NOTHING,
            Decision::Reserve { timestamp } => {
                assert!(timestamp > self.floor, "{timestamp} was reserved already");
                self.floor = timestamp + 5;
                self.generator.raise_floor(self.floor, true);
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

    /// Claims as one session that gets what it wants: reads again when told to, until it has an ID
    /// or must wait.
    fn insist(&mut self, want: u32) -> Decision {
        for _ in 0..100 {
            match self.claim(0, Claim { want, ..ONE }).1 {
                Decision::Reread { .. } | Decision::Hold { .. } | Decision::Reserve { .. } => {
                    continue;
                }
                decision => return decision,
            }
        }
        panic!("a claim that comes to no end");
    }

    /// Claims all that the clock's present millisecond gives; how many IDs that was.
    fn drain(&mut self) -> u32 {
        let mut issued = 0;
        while let Decision::Issue(run) = self.insist(1) {
            issued += run.count;
            assert!(issued < 10_000, "a millisecond that does not end");
        }
        issued
    }
}

fn limit(finite: impl Strategy<Value = i64>) -> impl Strategy<Value = i64> {
    prop_oneof![3 => finite, 1 => Just(i64::MAX)]
}

fn limits() -> impl Strategy<Value = Limits> {
    (limit(0..10i64), limit(prop_oneof![Just(0), 1..30i64]), limit(0..30i64)).prop_map(
        |(max_burst, max_backward_step, max_wait)| Limits {
            max_burst,
            reuse_window: 0,
            max_backward_step,
            max_wait,
        },
    )
}

/// With a window that may be larger than the ring.
fn limits_with_reuse() -> impl Strategy<Value = Limits> {
    (limits(), 1..20i64).prop_map(|(limits, reuse_window)| Limits { reuse_window, ..limits })
}

fn ticks() -> impl Strategy<Value = Event> {
    prop_oneof![3 => 0..3i64, 1 => 0..50i64].prop_map(Event::Clock)
}

/// A claim of more than one ID may leave some to others.
fn claims() -> impl Strategy<Value = Event> {
    (
        0..SESSIONS,
        prop_oneof![2 => Just(0), 1 => 0..=LAST_SEQUENCE],
        prop_oneof![3 => Just(1), 1 => 1..9u32],
        0..=LAST_SEQUENCE,
    )
        .prop_map(|(session, first, want, leave)| {
            let leave = if want == 1 { 0 } else { leave };
            Event::Claim { session, claim: Claim { first, want, leave, ..ONE } }
        })
}

/// Everything but a clock that is set back.
fn calm_events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(
        prop_oneof![2 => ticks(), 2 => (0..SESSIONS).prop_map(Event::Read), 8 => claims()],
        0..400,
    )
}

/// Everything.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let steps = prop_oneof![3 => -20..20i64, 1 => -2000..2000i64].prop_map(Event::Clock);
    prop::collection::vec(
        prop_oneof![2 => ticks(), 1 => steps, 2 => (0..SESSIONS).prop_map(Event::Read), 9 => claims()],
        0..400,
    )
}

/// Everything, and reuse that is switched on and off.
fn events_with_reuse() -> impl Strategy<Value = Vec<Event>> {
    let small_steps = (-20..20i64).prop_map(Event::Clock);
    let claims =
        (0..SESSIONS, 0..2u32, 1..3u32, 0..2u32).prop_map(|(session, first, want, leave)| {
            Event::Claim { session, claim: Claim { first, want, leave, ..ONE } }
        });
    prop::collection::vec(
        prop_oneof![
            4 => ticks(),
            4 => small_steps,
            2 => (0..SESSIONS).prop_map(Event::Read),
            1 => any::<bool>().prop_map(Event::SetReuse),
            20 => claims,
        ],
        0..400,
    )
}

/// Runs the events; `check` sees the world after each claim, with the reading and the decision.
fn run(
    mut world: World,
    events: Vec<Event>,
    mut check: impl FnMut(&World, Reading, Decision) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for event in events {
        match event {
            Event::Clock(by) => world.move_clock(by),
            Event::Read(session) => {
                world.read(session);
            }
            Event::Claim { session, claim } => {
                let (reading, decision) = world.claim(session, claim);
                check(&world, reading, decision)?;
            }
            Event::SetReuse(on) => world.generator.set_reuse(&mut world.ring, on),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// 1.
    #[test]
    fn ids_strictly_increase(limits in limits(), events in events()) {
        let mut last = (i64::MIN, 0);
        run(World::new(limits), events, |_, _, decision| {
            if let Decision::Issue(Run { timestamp, first, count }) = decision {
                prop_assert!(count >= 1);
                prop_assert!((timestamp, first) > last, "{:?} after {last:?}", (timestamp, first));
                prop_assert!(first + (count - 1) <= LAST_SEQUENCE);
                last = (timestamp, first + (count - 1));
            }
            Ok(())
        })?;
    }

    /// 1, with reuse, also where it is switched on and off, and the ring is shorter than the step.
    #[test]
    fn what_is_reused_is_distinct(limits in limits_with_reuse(), events in events_with_reuse()) {
        let mut issued = HashSet::new();
        run(World::new(limits), events, |_, _, decision| {
            if let Decision::Issue(run) | Decision::Reuse { run, .. } = decision {
                prop_assert!(run.count >= 1);
                prop_assert!(run.first + (run.count - 1) <= LAST_SEQUENCE);
                for sequence in run.first..run.first + run.count {
                    let id = (run.timestamp, sequence);
                    prop_assert!(issued.insert(id), "{id:?} came twice");
                }
            }
            Ok(())
        })?;
    }

    /// 1, with reuse: a claim that finds the clock beyond all IDs gets the highest one.
    #[test]
    fn ids_increase_again_once_the_clock_has_passed_them(
        limits in limits_with_reuse(),
        events in events_with_reuse(),
    ) {
        let mut highest = (i64::MIN, 0);
        run(World::new(limits), events, |_, reading, decision| {
            if let Decision::Issue(run) | Decision::Reuse { run, .. } = decision {
                if reading.now > highest.0 || matches!(decision, Decision::Issue(_)) {
                    prop_assert!((run.timestamp, run.first) > highest);
                }
                highest = highest.max((run.timestamp, run.first + (run.count - 1)));
            }
            Ok(())
        })?;
    }

    /// 11.
    #[test]
    fn reuse_keeps_to_its_window(limits in limits_with_reuse(), events in events_with_reuse()) {
        let mut step = None;
        run(World::new(limits), events, |world, reading, decision| {
            if let Decision::Reuse { run, lead, is_first, .. } = decision {
                prop_assert_eq!(run.timestamp, reading.now);
                prop_assert_eq!(lead, world.generator.timestamp() - reading.now);
                prop_assert!(lead > limits.max_burst.max(world.generator.hold()));
                prop_assert!(lead <= limits.reuse_window);
                prop_assert!(run.timestamp >= START, "from before the start");
                prop_assert_eq!(is_first, step.replace(world.generator.timestamp()) != step);
            }
            Ok(())
        })?;
    }

    /// 2.
    #[test]
    fn an_id_is_never_behind_its_reading(limits in limits(), events in events()) {
        run(World::new(limits), events, |_, reading, decision| {
            if let Decision::Issue(run) = decision {
                prop_assert!(run.timestamp >= reading.now);
            }
            Ok(())
        })?;
    }

    /// 3, for sessions in any order.
    #[test]
    fn lead_is_explained_by_steps_and_max_burst(limits in limits(), events in events()) {
        let mut set_back = 0;
        run(World::new(limits), events, |world, _, decision| {
            set_back = world.set_back.max(set_back);
            if let Decision::Issue(run) = decision {
                let lead = run.timestamp - world.clock;
                prop_assert!(lead <= limits.max_burst.saturating_add(set_back), "lead {lead}");
                set_back = world.set_back;
            }
            Ok(())
        })?;
    }

    /// 3, to the millisecond, where every reading is fresh.
    #[test]
    fn lead_never_grows_by_itself(limits in limits(), events in events()) {
        let mut world = World::new(limits);
        let mut allowed = 0;
        for event in events {
            match event {
                Event::Clock(by) => {
                    world.move_clock(by);
                    allowed += (-by).max(0);
                }
                Event::Read(_) | Event::SetReuse(_) => {}
                Event::Claim { claim, .. } => {
                    if let Decision::Issue(run) = world.insist(claim.want) {
                        let lead = run.timestamp - world.clock;
                        prop_assert!(lead <= limits.max_burst.max(allowed), "lead {lead}, {allowed} explained");
                        allowed = lead;
                    }
                }
            }
        }
    }

    /// 4.
    #[test]
    fn a_held_step_keeps_the_full_rate(
        back in 0..1000i64,
        before in 1..20u32,
        max_burst in 0..1000i64,
        ticks in 1..50usize,
    ) {
        let limits = Limits { max_burst, max_backward_step: i64::MAX, ..STRICT };
        let mut world = World::new(limits);
        for _ in 0..before {
            world.insist(1);
        }
        world.move_clock(-back);
        world.drain();
        for _ in 0..ticks {
            world.move_clock(1);
            prop_assert_eq!(world.drain(), LAST_SEQUENCE + 1);
        }
    }

    /// 3 and 4: a hold that has melted below max_burst does not take the burst away.
    #[test]
    fn a_hold_leaves_max_burst_alone(max_burst in 1..50i64, beyond in 1..50i64, ticks in 0..200i64) {
        let limits = Limits { max_burst, max_backward_step: i64::MAX, ..STRICT };
        let mut world = World::new(limits);
        world.insist(1);
        world.move_clock(-(max_burst + beyond));
        for _ in 0..ticks {
            world.insist(1);
            world.move_clock(1);
        }
        let mut last = 0;
        while let Decision::Issue(run) = world.insist(1) {
            last = run.timestamp;
        }
        prop_assert!(last - world.clock >= max_burst, "lead {}", last - world.clock);
    }

    /// 5, also where a start has left a lead over the clock, which melts.
    #[test]
    fn a_stale_reading_is_no_step(limits in limits(), lead in 0..30i64, events in calm_events()) {
        let mut world = World::new(limits);
        world.generator = Generator::starting_after(START + lead, lead, START * 2);
        world.floor = START + lead;
        run(world, events, |world, _, decision| {
            match decision {
                Decision::Hold { .. }
                | Decision::Refuse { .. }
                | Decision::Wait { reason: WaitReason::ClockBehind, .. } => {
                    prop_assert!(false, "{decision:?} without a step");
                }
                Decision::Issue(run) => {
                    prop_assert!(run.timestamp - world.clock <= limits.max_burst.max(lead));
                }
                _ => {}
            }
            Ok(())
        })?;
    }

    /// 5: a wait for the next millisecond is decided on a fresh reading.
    #[test]
    fn a_wait_is_for_a_time_that_has_not_come(limits in limits(), events in calm_events()) {
        run(World::new(limits), events, |_, reading, decision| {
            if let Decision::Wait { seen, until, .. } = decision {
                prop_assert!(until > reading.now);
                prop_assert_eq!(reading.seen, seen);
            }
            Ok(())
        })?;
    }

    /// 6.
    #[test]
    fn nothing_beyond_the_reservation_or_the_field(
        limits in limits(),
        events in events(),
        field in 0..100i64,
    ) {
        let last_timestamp = START + field;
        run(World::ending_at(last_timestamp, limits), events, |world, reading, decision| {
            match decision {
                Decision::Issue(run) => {
                    prop_assert!(run.timestamp <= world.floor);
                    prop_assert!(run.timestamp <= last_timestamp);
                    prop_assert!(reading.now <= last_timestamp);
                }
                Decision::Reserve { timestamp } => prop_assert!(timestamp <= last_timestamp),
                _ => {}
            }
            Ok(())
        })?;
    }

    /// 8.
    #[test]
    fn a_step_beyond_max_backward_step_is_never_held(back in 1..100i64, max_backward_step in 0..50i64, max_wait in 0..50i64) {
        let limits = Limits { max_backward_step, max_wait, ..STRICT };
        let mut world = World::new(limits);
        prop_assert!(matches!(world.insist(1), Decision::Issue(_)));
        world.move_clock(-back);
        let decision = world.insist(1);
        let until = START - max_backward_step;
        if back <= max_backward_step {
            prop_assert!(matches!(decision, Decision::Issue(run) if run.timestamp == START));
        } else if back - max_backward_step <= max_wait {
            let waits = matches!(
                decision,
                Decision::Wait { until: end, reason: WaitReason::ClockBehind, .. } if end == until
            );
            prop_assert!(waits, "{decision:?}");
        } else {
            prop_assert_eq!(decision, Decision::Refuse { timestamp: START, lead: back, until });
        }
        // Once the clock says `until`, the claim succeeds, above everything before.
        world.move_clock((until - world.clock).max(0));
        let decision = world.insist(1);
        prop_assert!(matches!(decision, Decision::Issue(run) if (run.timestamp, run.first) > (START, 0)));
    }
}

/// 7: where a reservation takes no longer than a quarter of what it reserves, nobody ever waits for
/// it.
#[test]
fn a_reservation_is_asked_for_early() {
    let limits = STRICT;
    let mut generator = Generator::starting_after(START - 1, 0, i64::MAX);
    generator.raise_floor(START + RESERVATION, true);
    let mut reservation = None;
    let mut asked = 0;
    for now in START..START + 100 * RESERVATION {
        if let Some((done, floor)) = reservation
            && done <= now
        {
            generator.raise_floor(floor, true);
            reservation = None;
        }
        match generator.claim(&mut no_reuse(), Reading { now, seen: Seen::NOTHING }, ONE, &limits) {
            Decision::Issue(_) => {}
            Decision::IssueAnd { reserve: true, .. } => {
                asked += 1;
                reservation.get_or_insert((now + RESERVATION / 4, now + RESERVATION));
            }
            decision => panic!("{decision:?} at {now}"),
        }
    }
    assert!((100..=400).contains(&asked), "asked {asked} times");
}

/// A hold that a start explains is no step, and melts as any other.
#[test]
fn a_start_ahead_of_the_clock_is_no_step() {
    let limits = STRICT;
    let mut world = World::new(limits);
    world.generator = Generator::starting_after(START + 99, 100, START * 2);
    world.floor = START + 99;
    for _ in 0..100 {
        world.move_clock(1);
        assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp >= START + 100));
    }
    world.move_clock(-2);
    assert!(matches!(world.insist(1), Decision::Refuse { .. }));
}

/// 5: the timestamp is the one that the reader had seen, but a later reading has let the hold melt
/// since.
#[test]
fn a_reading_from_before_the_hold_melted_is_stale() {
    let limits = Limits { max_backward_step: i64::MAX, ..STRICT };
    let mut generator = Generator::starting_after(START, 1, START * 2);
    generator.raise_floor(START + RESERVATION, true);
    let mut claim =
        |now, seen| generator.claim(&mut no_reuse(), Reading { now, seen }, ONE, &limits);
    let Decision::Reread { seen } = claim(START, Seen::NOTHING) else { panic!("nothing was seen") };
    assert!(matches!(claim(START, seen), Decision::Issue(run) if run.timestamp == START + 1));
    // One session sees this state, and reads the clock: it is 1 ms behind, which is held.
    let Decision::Reread { seen } = claim(START - 5, Seen::NOTHING) else {
        panic!("nothing was seen")
    };
    // The clock moves on, and another session claims: nothing is held any more.
    assert!(
        matches!(claim(START + 1, Seen::NOTHING), Decision::Issue(run) if run.timestamp == START + 1)
    );
    let decision = claim(START, seen);
    assert!(matches!(decision, Decision::Reread { .. }), "{decision:?}");
}

/// 6: the last ID of the field is issued, and nothing after it, whatever the clock says.
#[test]
fn the_field_ends_without_a_wrap() {
    let limits = Limits { max_burst: i64::MAX, max_backward_step: i64::MAX, ..STRICT };
    let mut world = World::ending_at(START + 2, limits);
    let mut last = None;
    while let Decision::Issue(run) = world.insist(1) {
        last = Some((run.timestamp, run.first));
    }
    assert_eq!(last, Some((START + 2, LAST_SEQUENCE)));
    for clock in [START, START + 2, START + 3, i64::MAX / 2, 0] {
        world.move_clock(clock - world.clock);
        assert_eq!(world.insist(1), Decision::EndOfField, "at {clock}");
    }
}

/// The trap of the first Snowflake: after a refused call it handed out the same millisecond again.
#[test]
fn a_refused_call_forgets_nothing() {
    let limits = STRICT;
    let mut world = World::new(limits);
    assert_eq!(world.insist(2), Decision::Issue(Run { timestamp: START, first: 0, count: 2 }));
    world.move_clock(-5);
    assert_eq!(world.insist(1), Decision::Refuse { timestamp: START, lead: 5, until: START });
    world.move_clock(5);
    assert_eq!(world.insist(9), Decision::Issue(Run { timestamp: START, first: 2, count: 2 }));
}

/// Promise 10: an ID above what the synchronous standbys are known to have is marked, until they
/// have it.
#[test]
fn what_is_not_acknowledged_is_marked() {
    let limits = STRICT;
    let mut generator = Generator::starting_after(START - 1, 0, START * 2);
    let claim = |generator: &mut Generator, now| {
        let claim = Claim { last_sequence: u32::MAX - 1, ..ONE };
        generator.claim(&mut no_reuse(), Reading { now, seen: Seen::NOTHING }, claim, &limits)
    };
    let is_marked = |decision| match decision {
        Decision::Issue(_) => false,
        Decision::IssueAnd { unacknowledged, .. } => unacknowledged,
        decision => panic!("{decision:?}"),
    };
    generator.raise_floor(START + 10_000, false);
    assert!(is_marked(claim(&mut generator, START)));
    generator.acknowledge();
    assert!(!is_marked(claim(&mut generator, START)));
    assert!(!is_marked(claim(&mut generator, START + 9000)));
    // The next floor is marked from where the last one ends.
    generator.raise_floor(START + 20_000, false);
    assert!(!is_marked(claim(&mut generator, START + 10_000)));
    assert_eq!(generator.claim_at_once(&mut no_reuse(), START + 10_001, ONE, || 0), None);
    assert!(is_marked(claim(&mut generator, START + 10_001)));
    generator.raise_floor(START + 30_000, true);
    assert!(!is_marked(claim(&mut generator, START + 10_001)));
    assert!(generator.claim_at_once(&mut no_reuse(), START + 10_002, ONE, || 0).is_some());
}

#[test]
fn the_state_says_what_was_issued() {
    let limits = Limits { max_backward_step: 100, ..STRICT };
    let mut generator = Generator::starting_after(START - 1, 0, START * 2);
    assert_eq!(generator.last(), None);
    assert_eq!((generator.timestamp(), generator.floor()), (START - 1, START - 1));
    generator.raise_floor(START + RESERVATION, true);
    assert_eq!(generator.floor(), START + RESERVATION);
    for sequence in 0..3 {
        generator.claim(&mut no_reuse(), Reading { now: START, seen: Seen::NOTHING }, ONE, &limits);
        assert_eq!((generator.last(), generator.hold()), (Some((START, sequence)), 0));
    }
    // A step back of 40 ms is held, and melts as the clock comes back.
    let reading = Reading { now: START - 40, seen: Seen::NOTHING };
    let Decision::Reread { seen } = generator.claim(&mut no_reuse(), reading, ONE, &limits) else {
        panic!()
    };
    let held = generator.claim(&mut no_reuse(), Reading { seen, ..reading }, ONE, &limits);
    assert!(matches!(held, Decision::Hold { lead: 40, .. }));
    assert_eq!((generator.hold(), generator.timestamp()), (40, START));
    generator.claim(&mut no_reuse(), Reading { now: START - 10, seen }, ONE, &limits);
    assert_eq!((generator.hold(), generator.last()), (10, Some((START, 3))));
}

/// What an old reading asked for is needed only if the clock is there, or the next millisecond is.
#[test]
fn what_may_be_needed_is_the_clock_or_the_next_millisecond() {
    let generator = Generator::starting_after(START, 0, START * 2);
    for (timestamp, now, may) in [
        (START + 1, START - 50, true),
        (START + 2, START - 50, false),
        (START + 50, START + 50, true),
        (START + 51, START + 50, false),
    ] {
        assert_eq!(generator.may_need(timestamp, now), may, "{timestamp} at {now}");
    }
}

/// While it is frozen, every claim of a later millisecond asks for a reservation.
#[test]
fn a_frozen_generator_issues_nothing_later() {
    let limits = STRICT;
    let mut generator = Generator::starting_after(START - 1, 0, START * 2);
    generator.raise_floor(START + RESERVATION, true);
    assert!(generator.claim_at_once(&mut no_reuse(), START, ONE, || 0).is_some());
    let before = generator;
    generator.freeze();
    assert_eq!((generator.timestamp(), generator.floor()), (START, START));
    assert!(generator.claim_at_once(&mut no_reuse(), START, ONE, || 0).is_some());
    assert_eq!(generator.claim_at_once(&mut no_reuse(), START + 1, ONE, || 0), None);
    let reading = Reading { now: START + 1, seen: Seen::NOTHING };
    let refused = generator.claim(&mut no_reuse(), reading, ONE, &limits);
    assert_eq!(refused, Decision::Reserve { timestamp: START + 1 });
    // Acknowledged meanwhile: that is no permission.
    generator.acknowledge();
    assert_eq!(generator.claim_at_once(&mut no_reuse(), START + 1, ONE, || 0), None);
    generator.thaw(&before);
    assert_eq!(generator.floor(), START + RESERVATION);
    assert!(generator.claim_at_once(&mut no_reuse(), START + 1, ONE, || 0).is_some());
}

/// For a generator without reuse.
fn no_reuse() -> Ring<1> {
    Ring::new()
}

/// Whether a claim at this time asks for a reservation.
fn asks(generator: &mut Generator, now: i64) -> bool {
    let limits = STRICT;
    match generator.claim(&mut no_reuse(), Reading { now, seen: Seen::NOTHING }, ONE, &limits) {
        Decision::Issue(_) => false,
        Decision::IssueAnd { reserve, .. } => reserve,
        decision => panic!("{decision:?}"),
    }
}

#[test]
fn a_reservation_is_asked_for_again_after_a_quarter_of_a_second() {
    let mut generator = Generator::starting_after(START - 1, 0, START * 2);
    generator.raise_floor(START + RESERVATION, true);
    let asked: Vec<i64> =
        (0..=RESERVATION).filter(|passed| asks(&mut generator, START + passed)).collect();
    assert_eq!(asked, [1001, 1252, 1503, 1754]);
}

#[test]
fn the_last_millisecond_of_the_field_is_used() {
    let mut generator = Generator::starting_after(START - 1, 0, START);
    generator.raise_floor(START + RESERVATION, true);
    assert_eq!(generator.floor(), START);
    asks(&mut generator, START);
    assert_eq!(generator.last(), Some((START, 0)));
}

/// Every other millisecond from START to START + 8 has given one ID, and then the clock is set to
/// this.
fn stepped_back(to: i64, limits: Limits) -> World {
    let mut world = World::new(limits);
    for _ in 0..5 {
        assert!(matches!(world.insist(1), Decision::Issue(_)));
        world.move_clock(2);
    }
    world.move_clock(to - world.clock);
    world
}

const REUSE: Limits = Limits { reuse_window: 256, max_backward_step: i64::MAX, ..STRICT };

/// A small step is answered with what its milliseconds have left, and held when that is used up.
#[test]
fn reuse_comes_before_a_hold_and_ends_where_a_sequence_is_full() {
    let mut world = stepped_back(START + 4, REUSE);
    for (first, is_first) in [(1, true), (2, false), (3, false)] {
        let run = Run { timestamp: START + 4, first, count: 1 };
        let reuse = Decision::Reuse { run, lead: 4, is_first, unacknowledged: false };
        assert_eq!(world.insist(1), reuse);
    }
    let held = Run { timestamp: START + 8, first: 1, count: 1 };
    assert_eq!(world.insist(1), Decision::Issue(held));
    // What is held stays held, although the next millisecond was not used at all.
    world.move_clock(1);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp == START + 8));
    // A further step reaches a millisecond that has all of its sequence left.
    world.move_clock(-2);
    let run = Run { timestamp: START + 3, first: 0, count: 3 };
    let reuse = Decision::Reuse { run, lead: 5, is_first: false, unacknowledged: false };
    assert_eq!(world.insist(3), reuse);
}

/// Where nothing may be held, the call waits or is refused when there is nothing left.
#[test]
fn after_reuse_the_other_limits_decide() {
    let mut world = stepped_back(START + 4, Limits { max_backward_step: 0, ..REUSE });
    assert!(matches!(world.insist(3), Decision::Reuse { .. }));
    assert!(matches!(world.insist(1), Decision::Refuse { lead: 4, .. }));
    world.move_clock(1);
    assert!(
        matches!(world.insist(9), Decision::Reuse { run, .. } if run.count == LAST_SEQUENCE + 1)
    );
}

#[test]
fn reuse_reaches_as_far_as_its_window_and_the_start() {
    let narrow = Limits { reuse_window: 4, max_backward_step: 0, ..REUSE };
    assert!(matches!(stepped_back(START + 4, narrow).insist(1), Decision::Reuse { .. }));
    assert!(matches!(stepped_back(START + 3, narrow).insist(1), Decision::Refuse { .. }));
    let wide = Limits { max_backward_step: 0, ..REUSE };
    assert!(matches!(stepped_back(START + 1, wide).insist(1), Decision::Reuse { .. }));
    assert!(matches!(stepped_back(START - 1, wide).insist(1), Decision::Refuse { .. }));
}

/// What was used before reuse was switched on is not known.
#[test]
fn reuse_begins_where_it_is_switched_on() {
    let mut world = World::new(Limits { max_backward_step: 0, ..REUSE });
    world.generator.set_reuse(&mut world.ring, false);
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    world.move_clock(4);
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    world.generator.set_reuse(&mut world.ring, true);
    world.move_clock(2);
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    for (clock, is_known) in [(START, false), (START + 4, false), (START + 5, true)] {
        world.move_clock(clock - world.clock);
        assert_eq!(matches!(world.insist(1), Decision::Reuse { .. }), is_known, "{clock}");
    }
    world.generator.set_reuse(&mut world.ring, false);
    assert!(matches!(world.insist(1), Decision::Refuse { .. }));
}

/// 10, for what is reused.
#[test]
fn what_is_reused_but_not_acknowledged_is_marked() {
    let mut world = World::new(REUSE);
    world.generator.raise_floor(START + 1, true);
    world.generator.raise_floor(START + 100, false);
    world.floor = START + 100;
    world.move_clock(4);
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    for (clock, is_marked) in [(START + 1, false), (START + 2, true)] {
        world.move_clock(clock - world.clock);
        let decision = world.insist(1);
        assert!(
            matches!(decision, Decision::Reuse { unacknowledged, .. } if unacknowledged == is_marked),
            "{decision:?}"
        );
    }
}

/// Whoever takes many leaves some to others, who need not wait.
#[test]
fn a_run_leaves_ids_to_others() {
    let mut world = World::new(Limits { max_backward_step: 0, ..REUSE });
    let many = Claim { want: 9, leave: 1, ..ONE };
    world.insist(1);
    let Decision::Issue(run) = world.claim(0, many).1 else { panic!("there are IDs") };
    assert_eq!((run.first, run.count), (1, LAST_SEQUENCE - 1));
    let waits = |decision| matches!(decision, Decision::Wait { .. } | Decision::Reread { .. });
    assert!(waits(world.claim(0, many).1) && waits(world.claim(0, many).1));
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.first == LAST_SEQUENCE));
    assert!(waits(world.insist(1)));
    // A new millisecond that begins with one of those gives that one.
    world.move_clock(1);
    let late = Claim { first: LAST_SEQUENCE, ..many };
    let Decision::Issue(run) = world.claim(0, late).1 else { panic!("there are IDs") };
    assert_eq!((run.first, run.count), (LAST_SEQUENCE, 1));
    // What is reused is not left.
    world.move_clock(5);
    world.insist(1);
    world.move_clock(-3);
    world.claim(0, many);
    let Decision::Reuse { run, .. } = world.claim(0, many).1 else { panic!("a step back") };
    assert_eq!((run.first, run.count), (0, LAST_SEQUENCE + 1));
}
