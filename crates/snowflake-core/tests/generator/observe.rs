//! IDs of other servers that are observed, between requests, steps of the clock and reuse.

use proptest::prelude::*;
use snowflake_core::generator::{
    Decision, Generator, Limits, Observation, RESERVATION, Reading, Request, Seen, WaitReason,
};

use crate::world::{ONE, SESSIONS, START, STRICT, World};

/// One thing that happens.
#[derive(Clone, Debug)]
enum Event {
    /// The clock moves by this much.
    Clock(i64),
    /// A session reads the clock, and does something only later.
    Read(usize),
    /// A session takes IDs, with the reading it has, or else with a new one.
    Take(usize, Request),
    /// A session observes an ID whose time is so far from the clock.
    Observe(usize, i64),
    /// A reservation switches reuse on or off.
    SetReuse(bool),
}

fn events(steps: impl Strategy<Value = i64>) -> impl Strategy<Value = Vec<Event>> {
    let requests = (0..SESSIONS, 1..6u32)
        .prop_map(|(session, want)| Event::Take(session, Request { want, ..ONE }));
    prop::collection::vec(
        prop_oneof![
            4 => (0..3i64).prop_map(Event::Clock),
            2 => steps.prop_map(Event::Clock),
            3 => (0..SESSIONS).prop_map(Event::Read),
            12 => requests,
            6 => (0..SESSIONS, -10..20i64).prop_map(|(session, by)| Event::Observe(session, by)),
            1 => any::<bool>().prop_map(Event::SetReuse),
        ],
        0..300,
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    (0..10i64, 0..20i64, prop_oneof![Just(0), Just(i64::MAX)]).prop_map(
        |(max_burst, reuse_window, max_backward_step)| Limits {
            max_burst,
            reuse_window,
            max_backward_step,
            max_wait: 0,
        },
    )
}

/// A session observes a timestamp, and reserves what it has to.
fn observe(
    world: &mut World,
    session: usize,
    timestamp: i64,
    max_lead: i64,
) -> (Reading, Observation) {
    loop {
        let reading = world.read(session);
        world.sessions[session].reading = None;
        let before = (world.generator, world.ring);
        match world.generator.observe(&mut world.ring, timestamp, reading.now, max_lead) {
            Observation::Reserve { timestamp } => {
                assert!(timestamp > world.floor, "{timestamp} was reserved already");
                world.floor = timestamp + 5;
                world.generator.raise_floor(world.floor, world.floor);
            }
            observation => {
                if matches!(observation, Observation::Refused { .. }) {
                    let after = (world.generator, world.ring);
                    assert_eq!(after, before, "what was refused changed something");
                }
                return (reading, observation);
            }
        }
    }
}

/// Runs the events; `check` sees each decision and each observation.
fn run(
    mut world: World,
    events: Vec<Event>,
    max_lead: i64,
    mut check: impl FnMut(&World, Happened) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for event in events {
        match event {
            Event::Clock(by) => world.move_clock(by),
            Event::Read(session) => drop(world.read(session)),
            Event::SetReuse(on) => world.generator.set_reuse(&mut world.ring, on),
            Event::Take(session, request) => {
                let (_, decision) = world.take(session, request);
                check(&world, Happened::Took(decision))?;
            }
            Event::Observe(session, by) => {
                let timestamp = (world.clock + by).max(0);
                let before = world.generator.timestamp();
                let (reading, observation) = observe(&mut world, session, timestamp, max_lead);
                check(&world, Happened::Observed { reading, timestamp, before, observation })?;
            }
        }
    }
    Ok(())
}

/// The reading until which a request has to wait for the clock, or is refused.
fn is_behind(decision: &Decision) -> Option<i64> {
    match decision {
        Decision::Wait { until, reason: WaitReason::ClockBehind, .. }
        | Decision::Refuse { until, .. } => Some(*until),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug)]
enum Happened {
    Took(Decision),
    Observed { reading: Reading, timestamp: i64, before: i64, observation: Observation },
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// 12, whatever the clock does, with reuse, and with readings that are old.
    #[test]
    fn whoever_has_seen_an_id_issues_greater_ones(
        limits in limits(),
        max_lead in 0..15i64,
        events in events(prop_oneof![-20..20i64, -2000..2000i64]),
    ) {
        let mut seen = i64::MIN;
        run(World::new(limits), events, max_lead, |world, happened| {
            match happened {
                Happened::Observed { timestamp, observation: Observation::Followed { .. }, .. } => {
                    seen = seen.max(timestamp);
                    prop_assert!(timestamp <= world.floor, "what is followed was reserved");
                }
                Happened::Took(Decision::Issue(run) | Decision::Reuse { run, .. }) => {
                    prop_assert!(run.timestamp > seen, "{} after {seen} was seen", run.timestamp);
                    prop_assert!(run.timestamp <= world.floor);
                }
                _ => {}
            }
            Ok(())
        })?;
    }

    /// 1, with observations in between.
    #[test]
    fn ids_are_distinct_between_observations(
        limits in limits(),
        events in events(-20..20i64),
    ) {
        let mut issued = std::collections::HashSet::new();
        run(World::new(limits), events, 15, |_, happened| {
            if let Happened::Took(Decision::Issue(run) | Decision::Reuse { run, .. }) = happened {
                for sequence in run.first..run.first + run.count {
                    prop_assert!(issued.insert((run.timestamp, sequence)));
                }
            }
            Ok(())
        })?;
    }

    /// 12: a lead that grows by an observation is within the limit, by the reading that it was judged
    /// with, and what is refused is beyond it.
    #[test]
    fn what_is_followed_is_within_the_limit(
        limits in limits(),
        max_lead in 0..15i64,
        events in events(-20..20i64),
    ) {
        run(World::new(limits), events, max_lead, |world, happened| {
            let Happened::Observed { reading, timestamp, before, observation } = happened else {
                return Ok(());
            };
            let lead = timestamp - reading.now;
            match observation {
                Observation::Followed { lead: said } => {
                    prop_assert_eq!(said, lead);
                    prop_assert!(lead <= max_lead || timestamp <= before);
                    prop_assert_eq!(world.generator.timestamp(), before.max(timestamp));
                }
                Observation::Refused { lead: said } => {
                    prop_assert_eq!(said, lead);
                    prop_assert!(lead > max_lead && timestamp > before);
                }
                Observation::Reserve { .. } => unreachable!(),
            }
            Ok(())
        })?;
    }

    /// 8, with leads that bursts and observations explain: at the reading that a wait or a refusal
    /// names, a request is neither refused nor told to wait for the clock, and a millisecond earlier
    /// it is one of them.
    #[test]
    fn what_is_waited_for_is_when_ids_go_on(
        (max_burst, max_backward_step, max_wait) in (0..10i64, 0..20i64, 0..20i64),
        max_lead in 0..15i64,
        events in events(-20..20i64),
    ) {
        let limits = Limits { max_burst, max_backward_step, max_wait, ..STRICT };
        run(World::new(limits), events, max_lead, |world, happened| {
            let Happened::Took(decision) = happened else { return Ok(()) };
            let Some(until) = is_behind(&decision) else { return Ok(()) };
            for (now, expected) in [(until, None), (until - 1, Some(until))] {
                let (mut generator, mut ring) = (world.generator, world.ring);
                let mut take =
                    |seen| generator.take(&mut ring, Reading { now, seen }, ONE, &limits);
                let mut decision = take(Seen::NOTHING);
                if let Decision::Reread { seen } = decision {
                    decision = take(seen);
                }
                prop_assert_eq!(is_behind(&decision), expected, "{:?} at {}", decision, now);
            }
            Ok(())
        })?;
    }

    /// 5 and 12: without a step of the clock, an observation is not taken for one.
    #[test]
    fn an_observed_lead_is_no_step(
        limits in limits(),
        max_lead in 0..15i64,
        events in events(0..20i64),
    ) {
        let mut observed = 0;
        run(World::new(limits), events, max_lead, |world, happened| {
            match happened {
                Happened::Took(decision @ (Decision::Hold { .. }
                    | Decision::Refuse { .. }
                    | Decision::Reuse { .. }
                    | Decision::Wait { reason: WaitReason::ClockBehind, .. }),
                ) => prop_assert!(false, "{decision:?} without a step"),
                Happened::Took(Decision::Issue(run)) => {
                    let lead = run.timestamp - world.clock;
                    prop_assert!(lead <= limits.max_burst.max(observed), "lead {lead}");
                }
                // A reading that was old explains more, by as much as it was old.
                Happened::Observed { observation: Observation::Followed { lead }, .. } => {
                    observed = observed.max(lead);
                }
                _ => {}
            }
            Ok(())
        })?;
    }
}

/// The next ID is of the next millisecond, and the observed lead melts as the clock catches up.
#[test]
fn an_observed_lead_melts() {
    let mut world = World::new(STRICT);
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    let (_, observation) = observe(&mut world, 0, START + 10, 10);
    assert_eq!(observation, Observation::Followed { lead: 10 });
    assert_eq!(world.generator.last(), None);
    assert_eq!((world.generator.hold(), world.generator.observed()), (10, Some(START + 10)));
    // All of the millisecond counts as used up, and the lead must not grow.
    assert!(matches!(world.insist(1), Decision::Wait { reason: WaitReason::NextMillisecond, .. }));
    world.move_clock(1);
    assert!(
        matches!(world.insist(1), Decision::Issue(run) if (run.timestamp, run.first) == (START + 11, 0))
    );
    world.move_clock(4);
    assert!(
        matches!(world.insist(1), Decision::Issue(run) if (run.timestamp, run.first) == (START + 11, 1))
    );
    assert_eq!(world.generator.hold(), 6);
    world.move_clock(7);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp == START + 12));
    assert_eq!(world.generator.hold(), 0);
}

/// What is behind needs no more than that it is not reused, and what is far behind moves nothing.
#[test]
fn an_old_id_moves_nothing() {
    let mut world = World::new(STRICT);
    assert!(matches!(world.insist(3), Decision::Issue(_)));
    let before = world.generator;
    let (_, observation) = observe(&mut world, 0, START - 1000, 0);
    assert_eq!(observation, Observation::Followed { lead: -1000 });
    assert_eq!(world.generator.last(), before.last());
    assert!(
        matches!(world.insist(1), Decision::Issue(run) if (run.timestamp, run.first) == (START, 3))
    );
}

/// Of the present millisecond, nothing more is issued: another server's sequence might be higher.
#[test]
fn an_id_of_the_same_millisecond_uses_it_up() {
    let mut world = World::new(STRICT);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp == START));
    let (_, observation) = observe(&mut world, 0, START, 0);
    assert_eq!(observation, Observation::Followed { lead: 0 });
    assert!(matches!(world.insist(1), Decision::Wait { .. }));
    world.move_clock(1);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp == START + 1));
}

/// A clock that is far ahead drags nothing along.
#[test]
fn a_clock_that_is_an_hour_ahead_is_refused() {
    let mut world = World::new(STRICT);
    world.insist(1);
    let (_, observation) = observe(&mut world, 0, START + 3_600_000, 1000);
    assert_eq!(observation, Observation::Refused { lead: 3_600_000 });
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp == START));
    // Nobody may reserve it either: the state is what it was.
    assert!(world.generator.floor() < START + RESERVATION);
}

/// What reuse knew of milliseconds up to the observed one is forgotten.
#[test]
fn nothing_below_an_observed_id_is_reused() {
    let limits = Limits { reuse_window: 256, max_backward_step: i64::MAX, ..STRICT };
    let mut world = World::new(limits);
    for _ in 0..4 {
        assert!(matches!(world.insist(1), Decision::Issue(_)));
        world.move_clock(2);
    }
    observe(&mut world, 0, START + 3, 0);
    world.move_clock(START + 5 - world.clock);
    assert!(matches!(world.insist(1), Decision::Reuse { run, .. } if run.timestamp == START + 5));
    world.move_clock(-2);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp > START + 3));
}

/// A start explains the lead of its record, whatever caused it: the core's starts are tested with the
/// register. Here, the lead of a start and that of an observation are the same kind.
#[test]
fn an_observation_above_a_lead_of_a_start_is_explained() {
    let mut world = World::new(STRICT);
    world.generator = Generator::starting_after(START + 20, 20, START * 2);
    world.floor = START + 20;
    let (_, observation) = observe(&mut world, 0, START + 25, 30);
    assert_eq!(observation, Observation::Followed { lead: 25 });
    world.move_clock(1);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp == START + 26));
}
