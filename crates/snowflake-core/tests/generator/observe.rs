//! IDs of other servers that are observed, between requests, steps of the clock and reuse.

use proptest::prelude::*;
use snowflake_core::generator::{Decision, Limits, Observation, Reading, WaitReason};
use snowflake_core::time::{Span, Timestamp};

use crate::world::{
    FIRST, Happened::Observed, Happened::Took, ONE, START, STRICT, World, events, limits,
    observations, reuse_is_switched, run, small_steps, steps,
};

/// The reading until which a request has to wait for the clock, or is refused.
fn is_behind(decision: &Decision) -> Option<Timestamp> {
    match decision {
        Decision::Wait { until, reason: WaitReason::ClockBehind, .. }
        | Decision::Refuse { until, .. } => Some(*until),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// 12, whatever the clock does, with reuse, and with readings that are old. A lead that grows
    /// by an observation is within the limit, by the reading that it was judged with, and what is
    /// refused is beyond it. What is behind moves nothing.
    #[test]
    fn whoever_has_seen_an_id_issues_greater_ones(
        limits in limits(0..20i64),
        max_lead in 0..15i64,
        events in events(&[steps(), small_steps(), observations(), reuse_is_switched()]),
    ) {
        let (mut seen, mut last) = (FIRST, None);
        let max_lead = Span(max_lead);
        run(World { max_lead, ..World::new(limits) }, events, |world, reading, happened| {
            match happened {
                Took(
                    Decision::Issue(run) | Decision::Queue { run, .. } | Decision::Reuse { run, .. },
                ) => {
                    prop_assert!(run.timestamp > seen, "{} after {seen} was seen", run.timestamp);
                    prop_assert!(run.timestamp <= world.floor);
                }
                Observed { timestamp, before, observation: Observation::Followed { lead } } => {
                    prop_assert_eq!(lead, timestamp - reading.now);
                    prop_assert!(lead <= max_lead || timestamp <= before);
                    prop_assert!(timestamp <= world.floor, "what is followed was reserved");
                    prop_assert_eq!(world.generator.timestamp(), before.max(timestamp));
                    let expected = last.filter(|_| timestamp < before);
                    prop_assert_eq!(world.generator.last(), expected);
                    seen = seen.max(timestamp);
                    prop_assert_eq!(world.generator.observed(), Some(seen));
                }
                Observed { timestamp, before, observation: Observation::Refused { lead } } => {
                    prop_assert_eq!(lead, timestamp - reading.now);
                    prop_assert!(lead > max_lead && timestamp > before);
                }
                _ => {}
            }
            last = world.generator.last();
            Ok(())
        })?;
    }

    /// 8, with leads that bursts and observations explain: at the reading that a wait or a refusal
    /// names, a request is neither refused nor told to wait for the clock, and a millisecond
    /// earlier it is one of them.
    #[test]
    fn what_is_waited_for_is_when_ids_go_on(
        limits in limits(Just(0)),
        max_lead in 0..15i64,
        events in events(&[small_steps(), observations()]),
    ) {
        let max_lead = Span(max_lead);
        run(World { max_lead, ..World::new(limits) }, events, |world, _, happened| {
            let Took(decision) = happened else { return Ok(()) };
            let Some(until) = is_behind(&decision) else { return Ok(()) };
            for (now, expected) in [(until, None), (until - Span(1), Some(until))] {
                let (mut generator, mut ring) = (world.generator, world.ring);
                let mut take =
                    |seen| generator.take(&mut ring, Reading { now, seen }, ONE, &limits);
                let mut decision = take(None);
                if let Decision::Reread { seen } = decision {
                    decision = take(Some(seen));
                }
                prop_assert_eq!(is_behind(&decision), expected, "{:?} at {}", decision, now);
            }
            Ok(())
        })?;
    }
}

/// The next ID is of the next millisecond, and the observed lead melts as the clock catches up.
#[test]
fn an_observed_lead_melts() {
    let mut world = World { max_lead: Span(10), ..World::new(STRICT) };
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    assert_eq!(world.observe(0, START + Span(10)).1, Observation::Followed { lead: Span(10) });
    // All of the millisecond counts as used up, and the lead must not grow.
    assert!(matches!(world.insist(1), Decision::Wait { reason: WaitReason::NextMillisecond, .. }));
    for (passed, timestamp, first, hold) in [(1, 11, 0, 10), (4, 11, 1, 6), (7, 12, 0, 0)] {
        world.move_clock(passed);
        let Decision::Issue(run) = world.insist(1) else { panic!("{passed} ms later") };
        assert_eq!((run.timestamp, run.first), (START + Span(timestamp), first));
        assert_eq!(world.generator.hold(), Span(hold));
    }
}

/// Reuse forgets the milliseconds up to the observed one, and no others.
#[test]
fn nothing_below_an_observed_id_is_reused() {
    let limits = Limits { reuse_window: Span(256), max_backward_step: None, ..STRICT };
    let mut world = World::new(limits);
    for _ in 0..4 {
        assert!(matches!(world.insist(1), Decision::Issue(_)));
        world.move_clock(2);
    }
    world.observe(0, START + Span(3));
    world.move_clock((START + Span(5) - world.clock).0);
    assert!(
        matches!(world.insist(1), Decision::Reuse { run, .. } if run.timestamp == START + Span(5))
    );
    world.move_clock(-2);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp > START + Span(3)));
}
