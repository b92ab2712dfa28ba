//! Any clock, any interleaving of sessions, any limits.

use std::collections::HashSet;

use proptest::prelude::*;
use snowflake_core::generator::{Decision, Limits, Observation, Run, WaitReason};
use snowflake_core::time::Span;

use crate::world::{
    Event, FIRST, Happened::Observed, Happened::Took, LARGEST_BURST, LAST_SEQUENCE, START, STRICT,
    World, events, limits, observations, reloads, reuse_is_switched, run, small_steps, steps,
    taken,
};

/// A window that can be larger than the ring.
fn window() -> std::ops::Range<i64> {
    1..20
}

fn events_with_reuse() -> impl Strategy<Value = Vec<Event>> {
    events(&[small_steps(), reuse_is_switched()])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// 1.
    #[test]
    fn ids_strictly_increase(limits in limits(Just(0)), events in events(&[steps()])) {
        let mut last = (FIRST, 0);
        run(World::new(limits), events, |_, _, happened| {
            if let Took(decision) = happened
                && let Some((Run { timestamp, first, count }, _)) = taken(decision)
            {
                prop_assert!(count >= 1);
                prop_assert!((timestamp, first) > last, "{:?} after {last:?}", (timestamp, first));
                prop_assert!(first + (count - 1) <= LAST_SEQUENCE);
                last = (timestamp, first + (count - 1));
            }
            Ok(())
        })?;
    }

    /// 1, with reuse, also where it is switched on and off, the ring is shorter than the step, and
    /// IDs of other servers are observed.
    #[test]
    fn what_is_reused_is_distinct(
        limits in limits(window()),
        max_lead in prop_oneof![Just(Span(-1000)), Just(Span(15))],
        events in events(&[small_steps(), reuse_is_switched(), (1, observations().1)]),
    ) {
        let mut issued = HashSet::new();
        run(World { max_lead, ..World::new(limits) }, events, |_, _, happened| {
            if let Took(
                Decision::Issue(run) | Decision::Queue { run, .. } | Decision::Reuse { run, .. },
            ) = happened
            {
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

    /// 1, with reuse: a request that finds the clock beyond all IDs gets the highest one.
    #[test]
    fn ids_increase_again_once_the_clock_has_passed_them(
        limits in limits(window()),
        events in events_with_reuse(),
    ) {
        let mut highest = (FIRST, 0);
        run(World::new(limits), events, |_, reading, happened| {
            if let Took(
                decision @ (Decision::Issue(run)
                | Decision::Queue { run, .. }
                | Decision::Reuse { run, .. }),
            ) = happened
            {
                if reading.now > highest.0 || taken(decision).is_some() {
                    prop_assert!((run.timestamp, run.first) > highest);
                }
                highest = highest.max((run.timestamp, run.first + (run.count - 1)));
            }
            Ok(())
        })?;
    }

    /// 10.
    #[test]
    fn reuse_keeps_to_its_window(limits in limits(window()), events in events_with_reuse()) {
        let mut step = None;
        run(World::new(limits), events, |world, reading, happened| {
            if let Took(Decision::Reuse { run, lead, is_first, .. }) = happened {
                prop_assert_eq!(run.timestamp, reading.now);
                prop_assert_eq!(lead, world.generator.lead(reading.now));
                prop_assert!(world.generator.timestamp() - reading.now <= limits.reuse_window);
                prop_assert!(lead > world.generator.hold() && !lead.is_within(limits.max_burst));
                prop_assert!(run.timestamp >= START, "from before the start");
                prop_assert_eq!(is_first, step.replace(world.generator.timestamp()) != step);
            }
            Ok(())
        })?;
    }

    /// 2.
    #[test]
    fn an_id_is_never_behind_its_reading(limits in limits(Just(0)), events in events(&[steps()])) {
        run(World::new(limits), events, |_, reading, happened| {
            if let Took(decision) = happened
                && let Some((run, _)) = taken(decision)
            {
                prop_assert!(run.timestamp >= reading.now);
            }
            Ok(())
        })?;
    }

    /// 3, for sessions in any order, and 13: how far an ID of the queue is ahead.
    #[test]
    fn lead_is_explained_by_steps_and_max_burst(
        limits in limits(Just(0)),
        events in events(&[steps()]),
    ) {
        let mut set_back = Span::ZERO;
        run(World::new(limits), events, |world, reading, happened| {
            set_back = world.set_back.max(set_back);
            if let Took(decision) = happened
                && let Some((run, until)) = taken(decision)
            {
                prop_assert!(until <= reading.now + limits.max_queue);
                let lead = run.timestamp - world.clock.max(until);
                prop_assert!(lead.is_within(limits.max_burst.map(|burst| burst + set_back)), "{lead:?}");
                set_back = world.set_back;
            }
            Ok(())
        })?;
    }

    /// 3, to the millisecond, where every reading is fresh.
    #[test]
    fn lead_never_grows_by_itself(limits in limits(Just(0)), events in events(&[steps()])) {
        let mut world = World::new(limits);
        let mut allowed = Span::ZERO;
        for event in events {
            match event {
                Event::Clock(by) => {
                    world.move_clock(by);
                    allowed = allowed + Span(-by).max(Span::ZERO);
                }
                Event::Take(_, request) => {
                    if let Some((run, until)) = taken(world.insist(request.want)) {
                        let lead = run.timestamp - world.clock.max(until);
                        prop_assert!(lead <= allowed || lead.is_within(limits.max_burst), "{lead:?}, {allowed:?} explained");
                        allowed = lead;
                    }
                }
                _ => {}
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
        let limits = Limits { max_burst: Some(Span(max_burst)), max_backward_step: None, ..STRICT };
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
    fn a_hold_leaves_max_burst_alone(
        max_burst in 1..50i64,
        beyond in 1..50i64,
        ticks in 0..200i64,
    ) {
        let limits = Limits { max_burst: Some(Span(max_burst)), max_backward_step: None, ..STRICT };
        let mut world = World::new(limits);
        world.insist(1);
        world.move_clock(-(max_burst + beyond));
        for _ in 0..ticks {
            world.insist(1);
            world.move_clock(1);
        }
        prop_assert!(world.drain() > 0);
        let lead = world.generator.timestamp() - world.clock;
        prop_assert!(lead >= Span(max_burst), "{lead}");
    }

    /// 5, 11, 12 and 14: without a step of the clock, nothing is held and nothing refused, whatever
    /// has explained the lead: a start, a burst before `max_burst` was lowered, or an observation.
    /// Each melts. A wait is for the next millisecond, and decided on a fresh reading.
    #[test]
    fn without_a_step_nothing_is_held_or_refused(
        limits in limits(0..20i64),
        start_lead in 0..30i64,
        max_lead in 0..15i64,
        events in events(&[reloads(), observations()]),
    ) {
        let start_lead = Span(start_lead);
        let mut explained = limits.max_burst.map(|burst| burst.max(Span(LARGEST_BURST)).max(start_lead));
        let world = World { max_lead: Span(max_lead), ..World::ahead_by(start_lead, limits) };
        run(world, events, |world, reading, happened| {
            match happened {
                Took(Decision::Wait { seen, until, reason: WaitReason::NextMillisecond }) => {
                    prop_assert!(until > reading.now && until <= reading.now + Span(1) + limits.max_queue);
                    prop_assert_eq!(reading.seen, Some(seen));
                }
                Took(decision @ (Decision::Hold { .. }
                    | Decision::Refuse { .. }
                    | Decision::Reuse { .. }
                    | Decision::Wait { .. }),
                ) => prop_assert!(false, "{decision:?} without a step"),
                Took(Decision::Issue(run)) => {
                    let lead = run.timestamp - world.clock;
                    prop_assert!(lead.is_within(explained), "{lead:?}");
                }
                Took(Decision::Queue { run, until, .. }) => {
                    prop_assert!(until > reading.now && (run.timestamp - until).is_within(explained));
                }
                // A reading that was old explains more, by as much as it was old.
                Observed { observation: Observation::Followed { lead }, .. } => {
                    explained = explained.map(|explained| explained.max(lead));
                }
                _ => {}
            }
            Ok(())
        })?;
    }

    /// 6.
    #[test]
    fn nothing_beyond_the_reservation_or_the_field(
        limits in limits(Just(0)),
        events in events(&[steps()]),
        field in 0..100i64,
    ) {
        let last_timestamp = START + Span(field);
        run(World::ending_at(last_timestamp, limits), events, |world, reading, happened| {
            match happened {
                Took(Decision::Issue(run) | Decision::Queue { run, .. }) => {
                    prop_assert!(run.timestamp <= world.floor);
                    prop_assert!(run.timestamp <= last_timestamp);
                    prop_assert!(reading.now <= last_timestamp);
                }
                Took(Decision::Reserve { timestamp }) => {
                    prop_assert!(timestamp <= last_timestamp);
                }
                _ => {}
            }
            Ok(())
        })?;
    }

    /// 8.
    #[test]
    fn a_step_beyond_max_backward_step_is_never_held(
        back in 1..100i64,
        max_backward_step in 0..50i64,
        max_wait in 0..50i64,
    ) {
        let (back_by, max_backward_step, max_wait) = (Span(back), Span(max_backward_step), Span(max_wait));
        let limits = Limits { max_backward_step: Some(max_backward_step), max_wait: Some(max_wait), ..STRICT };
        let mut world = World::new(limits);
        prop_assert!(matches!(world.insist(1), Decision::Issue(_)));
        world.move_clock(-back);
        let decision = world.insist(1);
        let until = START - max_backward_step;
        if back_by <= max_backward_step {
            prop_assert!(matches!(decision, Decision::Issue(run) if run.timestamp == START));
        } else if back_by - max_backward_step <= max_wait {
            let waits = matches!(
                decision,
                Decision::Wait { until: end, reason: WaitReason::ClockBehind, .. } if end == until
            );
            prop_assert!(waits, "{decision:?}");
        } else {
            prop_assert_eq!(decision, Decision::Refuse { timestamp: START, lead: back_by, until });
        }
        // Once the clock says `until`, the request succeeds, above everything before.
        world.move_clock((until - world.clock).0.max(0));
        let decision = world.insist(1);
        prop_assert!(matches!(decision, Decision::Issue(run) if (run.timestamp, run.first) > (START, 0)));
    }
}
