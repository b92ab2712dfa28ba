//! Those who find a millisecond used up, and take an ID of a later one.

use proptest::prelude::*;
use snowflake_core::generator::{
    Decision, Generator, Limits, Observation, RESERVATION, Reading, Request, Run, WaitReason,
};
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

use crate::world::{
    FIRST, Happened::Took, LAST_SEQUENCE, ONE, START, STRICT, World, events, run, small_steps,
    taken,
};

/// A queue of three milliseconds.
const QUEUE: i64 = 3;
const QUEUES: Limits = Limits { max_queue: Span(QUEUE), ..STRICT };

/// The number of IDs of a millisecond.
const FULL: u32 = LAST_SEQUENCE + 1;

/// So many IDs that the clock's millisecond has and the queue takes.
fn with_queue(ids: u32, limits: Limits) -> World {
    let mut world = World::new(limits);
    for _ in 0..ids {
        assert!(taken(world.insist(1)).is_some());
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// 13: IDs follow each other without a gap, and whoever asks first has to wait least.
    #[test]
    fn whoever_asks_first_is_next(
        max_queue in 0..6i64,
        max_burst in 0..3i64,
        ticks in prop::collection::vec((0..40u32, 1..3i64), 1..30),
    ) {
        let mut world = World::new(Limits { max_queue: Span(max_queue), max_burst: Some(Span(max_burst)), ..STRICT });
        let (mut next, mut before) = (None, FIRST);
        for (requests, passes) in ticks {
            for _ in 0..requests {
                let decision = world.insist(1);
                let Some((run, until)) = taken(decision) else {
                    prop_assert!(is_full(&world, decision), "{decision:?}");
                    prop_assert_eq!(run_ahead(&world), max_queue + max_burst, "the queue is not full");
                    break;
                };
                let id = (run.timestamp, run.first);
                if id != (world.clock, 0) {
                    prop_assert!(next.is_none_or(|next| next == id), "{id:?} after {next:?}");
                }
                next = Some(match run.first {
                    LAST_SEQUENCE => (run.timestamp + Span(1), 0),
                    first => (run.timestamp, first + 1),
                });
                let until = until.max(world.clock);
                prop_assert!(until >= before);
                before = until;
            }
            world.move_clock(passes);
        }
    }

    /// 14, to the millisecond.
    #[test]
    fn a_step_is_told_from_the_queue(
        ids in 0..(QUEUE as u32 + 1) * FULL,
        passes in 0..=QUEUE,
        back in 0..20i64,
        max_burst in 0..3i64,
        max_backward_step in prop_oneof![Just(Some(Span(0))), Just(Some(Span(5))), Just(None)],
    ) {
        let mut world = with_queue(ids + 1, Limits { max_burst: Some(Span(max_burst)), max_backward_step, ..QUEUES });
        let (ahead, reached) = (run_ahead(&world), world.clock);
        let queue = (ahead - max_burst).max(0);
        world.move_clock(passes - back);
        // The distance that the clock has lost to the queue, or without a queue, to the last ID.
        let step = match queue {
            0 => back - passes + ahead.min(max_burst) - max_burst,
            _ => back - passes,
        };
        let decision = world.take(0, ONE).1;
        let decision = match decision {
            Decision::Reread { .. } => world.take(0, ONE).1,
            decision => decision,
        };
        if step <= 0 {
            let is_behind = matches!(
                decision,
                Decision::Hold { .. } | Decision::Refuse { .. }
                    | Decision::Wait { reason: WaitReason::ClockBehind, .. }
            );
            prop_assert!(!is_behind, "{decision:?} at {} of {reached}", world.clock);
            return Ok(());
        }
        let beyond = Span(match queue { 0 => ahead + back - passes, _ => max_burst + step });
        if beyond.is_within(max_backward_step) {
            let holds = matches!(decision, Decision::Hold { lead, .. } if lead == beyond);
            prop_assert!(holds, "{decision:?} for {beyond}");
            // The queue's part is waited for as before, and is no larger.
            let decision = world.insist(1);
            match taken(decision) {
                Some((run, until)) => {
                    prop_assert!(until <= world.clock + Span(QUEUE));
                    prop_assert!(run.timestamp - until.max(world.clock) <= beyond);
                }
                None => prop_assert!(is_full(&world, decision), "{decision:?}"),
            }
        } else {
            let refuses = matches!(decision, Decision::Refuse { lead, .. } if lead == beyond);
            prop_assert!(refuses, "{decision:?} for {beyond}");
        }
    }

    /// 13: no request of several IDs queues, and none waits for longer than the queue is.
    #[test]
    fn runs_do_not_queue(
        max_queue in 0..6i64,
        events in events(&[small_steps()]),
    ) {
        let max_queue = Span(max_queue);
        let limits = Limits { max_queue, max_backward_step: None, ..STRICT };
        run(World::new(limits), events, |_, reading, happened| {
            match happened {
                Took(Decision::Queue { run, until, .. }) => {
                    prop_assert_eq!(run.count, 1);
                    prop_assert!(until > reading.now && until <= reading.now + max_queue);
                }
                Took(Decision::Wait { until, .. }) => {
                    prop_assert!(until > reading.now && until <= reading.now + max_queue + Span(1));
                }
                _ => {}
            }
            Ok(())
        })?;
    }
}

/// Returns whether a request of one ID is told to wait for a place in the queue.
fn is_full(world: &World, decision: Decision) -> bool {
    let until = world.clock + Span(1);
    matches!(decision, Decision::Wait { until: end, reason: WaitReason::NextMillisecond, .. } if end == until)
}

/// Returns how far the generator is ahead of the clock.
fn run_ahead(world: &World) -> i64 {
    (world.generator.timestamp() - world.clock).0
}

fn queued(timestamp: Timestamp, first: u32, until: Timestamp) -> Decision {
    Decision::Queue { run: Run { timestamp, first, count: 1 }, until, reserve: false }
}

/// A run takes what is left once the clock has reached the queue, but for what it leaves to others.
#[test]
fn a_run_waits_for_the_queue() {
    let mut world = with_queue(FULL, QUEUES);
    for (first, ahead) in (0..=LAST_SEQUENCE).map(|first| (first, 1)).chain([(0, 2)]) {
        assert_eq!(world.insist(1), queued(START + Span(ahead), first, START + Span(ahead)));
    }
    let waits = |decision, ahead| {
        let until = START + Span(ahead);
        matches!(decision, Decision::Wait { until: end, reason: WaitReason::NextMillisecond, .. } if end == until)
    };
    assert!(waits(world.insist(2), 2));
    world.move_clock(2);
    assert_eq!(
        world.insist(2),
        Decision::Issue(Run { timestamp: START + Span(2), first: 1, count: 2 })
    );
    // One is left, but not to a run that leaves it.
    let request = Request { want: 2, leave: 1, ..ONE };
    world.take(0, request);
    assert!(waits(world.take(0, request).1, 3));
}

/// Once the clock is there, calls continue with the millisecond that the queue has begun, in their
/// order.
#[test]
fn the_clock_catches_up_with_the_queue() {
    let mut world = with_queue(FULL + 1, QUEUES);
    assert_eq!((world.generator.lead(world.clock), run_ahead(&world)), (Span(0), 1));
    world.move_clock(1);
    assert_eq!(
        world.insist(1),
        Decision::Issue(Run { timestamp: START + Span(1), first: 1, count: 1 })
    );
    world.move_clock(1);
    assert_eq!(
        world.insist(1),
        Decision::Issue(Run { timestamp: START + Span(2), first: 0, count: 1 })
    );
    // The timestamp was not reached by the queue, so that this is a step.
    world.move_clock(-1);
    assert!(matches!(world.insist(1), Decision::Refuse { lead: Span(1), .. }));
}

/// An ID of the queue might need a reservation, or come where one is to be made early, and does not
/// come after the end of the field.
#[test]
fn the_queue_reserves_and_ends() {
    let (floor, mut ring) = (START + Span(1), Ring::<1>::new());
    let mut generator = Generator::starting_after(START - Span(1), Span::ZERO, START + Span(2));
    generator.raise_floor(floor, START);
    let mut take = |generator: &mut Generator| {
        let mut seen = None;
        loop {
            let request = Request { last_sequence: 0, ..ONE };
            let reading = Reading { now: START, seen };
            match generator.take(&mut ring, reading, request, &QUEUES) {
                Decision::Reread { seen: now } => seen = Some(now),
                decision => return decision,
            }
        }
    };
    let run = |timestamp| Run { timestamp, first: 0, count: 1 };
    assert_eq!(take(&mut generator), Decision::Issue(run(START)));
    assert_eq!(
        take(&mut generator),
        Decision::Queue { run: run(START + Span(1)), until: START + Span(1), reserve: true }
    );
    let before = generator;
    assert_eq!(take(&mut generator), Decision::Reserve { timestamp: START + Span(2) });
    assert_eq!(generator, before);
    generator.raise_floor(START + RESERVATION, START + RESERVATION);
    assert_eq!(take(&mut generator), queued(START + Span(2), 0, START + Span(2)));
    assert_eq!(take(&mut generator), Decision::EndOfField);
}

/// While it is frozen, the queue takes what is left of the millisecond that it has reached.
#[test]
fn a_frozen_queue_asks_for_a_reservation() {
    let mut world = with_queue(FULL + FULL - 1, QUEUES);
    world.generator.freeze();
    let mut take = || {
        let reading = Reading { now: START, seen: None };
        let reread = world.generator.take(&mut world.ring, reading, ONE, &QUEUES);
        let Decision::Reread { seen } = reread else { panic!("{reread:?}") };
        let reading = Reading { now: START, seen: Some(seen) };
        world.generator.take(&mut world.ring, reading, ONE, &QUEUES)
    };
    assert!(matches!(take(), Decision::Queue { run, .. } if run.first == LAST_SEQUENCE));
    assert_eq!(take(), Decision::Reserve { timestamp: START + Span(2) });
}

/// A later timestamp that is observed ends the queue, and explains the lead; one that the queue has
/// reached is used up. What was observed before is behind.
#[test]
fn an_observation_comes_between() {
    let observed = |ahead| {
        let mut world = World { max_lead: Span(10), ..with_queue(FULL + 1, QUEUES) };
        let observation = world.observe(0, START + Span(ahead)).1;
        assert_eq!(observation, Observation::Followed { lead: Span(ahead) });
        let decision = world.insist(1);
        (decision, world.generator.hold().0)
    };
    assert_eq!(observed(0), (queued(START + Span(1), 1, START + Span(1)), 0));
    assert_eq!(observed(1), (queued(START + Span(2), 0, START + Span(2)), 0));
    assert_eq!(observed(5), (queued(START + Span(6), 0, START + Span(1)), 5));
}

/// The queue begins where a burst ends, and what explains its IDs goes on to do so when the setting
/// is lowered: no step of the clock.
#[test]
fn a_burst_that_is_lowered_is_no_step() {
    let mut world = with_queue(3 * FULL - 2, Limits { max_burst: Some(Span(2)), ..QUEUES });
    // A step back within what bursts may do is explained by the setting alone.
    for passes in [1, -1] {
        world.move_clock(passes);
        assert!(matches!(world.insist(1), Decision::Issue(_)));
    }
    assert_eq!((world.generator.hold(), run_ahead(&world)), (Span(1), 2));
    assert_eq!(world.insist(1), queued(START + Span(3), 0, START + Span(1)));
    world.limits.max_burst = Some(Span::ZERO);
    assert_eq!(world.insist(1), queued(START + Span(3), 1, START + Span(1)));
}

/// While the queue leads, the lead that is shown is the explained one, until the clock has caught
/// up with the queue.
#[test]
fn what_the_clock_has_caught_up_with_is_the_queue_first() {
    let mut world = with_queue(4 * FULL, Limits { max_burst: Some(Span(2)), ..QUEUES });
    let mut leads = [0; 5];
    for lead in &mut leads {
        *lead = world.generator.lead(world.clock).0;
        world.move_clock(1);
    }
    assert_eq!(leads, [2, 2, 1, 0, -1]);
}

/// 14: of two sessions that have seen the same, the one that read the clock earlier comes later.
#[test]
fn an_old_reading_is_no_step() {
    let mut world = with_queue(FULL + FULL + 1, QUEUES);
    let ask = |world: &mut World, session| world.take(session, ONE).1;
    assert!(matches!(ask(&mut world, 0), Decision::Reread { .. }));
    assert!(matches!(ask(&mut world, 1), Decision::Reread { .. }));
    world.read(0);
    world.move_clock(1);
    assert_eq!(ask(&mut world, 1), queued(START + Span(2), 1, START + Span(2)));
    assert_eq!(ask(&mut world, 0), queued(START + Span(2), 2, START + Span(2)));
}

/// With reuse, small steps within the queue's lead are waited out, and the queue is recorded.
#[test]
fn the_queue_is_recorded_for_reuse() {
    let limits = Limits { reuse_window: Span(8), ..QUEUES };
    let mut world = with_queue(FULL + FULL + 1, limits);
    world.move_clock(2);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.first == 1));
    // The queue has used all of START + Span(1), and a part of this millisecond.
    world.move_clock(1);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp == START + Span(3)));
    world.move_clock(-2);
    assert!(matches!(world.insist(1), Decision::Refuse { lead: Span(2), .. }));
    world.move_clock(1);
    let run = Run { timestamp: START + Span(2), first: 2, count: 1 };
    assert_eq!(world.insist(1), Decision::Reuse { run, lead: Span(1), is_first: true });
}

/// The first sequence of a millisecond may be any.
#[test]
fn a_random_first_sequence_begins_a_millisecond_of_the_queue() {
    let mut world = with_queue(FULL, QUEUES);
    let late = Request { first: LAST_SEQUENCE, ..ONE };
    let mut take = |request| match world.take(0, request).1 {
        Decision::Reread { .. } => world.take(0, request).1,
        decision => decision,
    };
    assert_eq!(take(late), queued(START + Span(1), LAST_SEQUENCE, START + Span(1)));
    assert_eq!(take(ONE), queued(START + Span(2), 0, START + Span(2)));
}
