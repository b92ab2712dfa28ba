//! Any clock, any interleaving of sessions, any limits.

use std::collections::HashSet;

use proptest::prelude::*;
use snowflake_core::generator::{Decision, Generator, Limits, Reading, Request, Run, WaitReason};

use crate::world::{LAST_SEQUENCE, ONE, SESSIONS, START, STRICT, World};

/// One thing that happens.
#[derive(Clone, Debug)]
enum Event {
    /// The clock moves by this much: it ticks, or somebody sets it.
    Clock(i64),
    /// A session reads the clock, and takes an ID only later.
    Read(usize),
    /// A session takes IDs, with the reading it has, or else with a new one.
    Take { session: usize, request: Request },
    /// A reservation switches reuse on or off. Other sessions might not have seen the change.
    SetReuse(bool),
    /// A reload changes `max_burst`.
    SetMaxBurst(i64),
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

/// With a window that can be larger than the ring.
fn limits_with_reuse() -> impl Strategy<Value = Limits> {
    (limits(), 1..20i64).prop_map(|(limits, reuse_window)| Limits { reuse_window, ..limits })
}

fn ticks() -> impl Strategy<Value = Event> {
    prop_oneof![3 => 0..3i64, 1 => 0..50i64].prop_map(Event::Clock)
}

/// A request of more than one ID might leave some to others.
fn requests() -> impl Strategy<Value = Event> {
    (
        0..SESSIONS,
        prop_oneof![2 => Just(0), 1 => 0..=LAST_SEQUENCE],
        prop_oneof![3 => Just(1), 1 => 1..9u32],
        0..=LAST_SEQUENCE,
    )
        .prop_map(|(session, first, want, leave)| {
            let leave = if want == 1 { 0 } else { leave };
            Event::Take { session, request: Request { first, want, leave, ..ONE } }
        })
}

/// The largest `max_burst` of a reload.
const LARGEST_BURST: i64 = 10;

/// Everything but a clock that is set back.
fn calm_events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(
        prop_oneof![
            8 => ticks(),
            8 => (0..SESSIONS).prop_map(Event::Read),
            32 => requests(),
            1 => (0..=LARGEST_BURST).prop_map(Event::SetMaxBurst),
        ],
        0..400,
    )
}

/// Everything.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let steps = prop_oneof![3 => -20..20i64, 1 => -2000..2000i64].prop_map(Event::Clock);
    prop::collection::vec(
        prop_oneof![2 => ticks(), 1 => steps, 2 => (0..SESSIONS).prop_map(Event::Read), 9 => requests()],
        0..400,
    )
}

/// Everything, and reuse that is switched on and off.
fn events_with_reuse() -> impl Strategy<Value = Vec<Event>> {
    let small_steps = (-20..20i64).prop_map(Event::Clock);
    let requests =
        (0..SESSIONS, 0..2u32, 1..3u32, 0..2u32).prop_map(|(session, first, want, leave)| {
            Event::Take { session, request: Request { first, want, leave, ..ONE } }
        });
    prop::collection::vec(
        prop_oneof![
            4 => ticks(),
            4 => small_steps,
            2 => (0..SESSIONS).prop_map(Event::Read),
            1 => any::<bool>().prop_map(Event::SetReuse),
            20 => requests,
        ],
        0..400,
    )
}

/// Runs the events; `check` sees the world after each request, with the reading and the decision.
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
            Event::Take { session, request } => {
                let (reading, decision) = world.take(session, request);
                check(&world, reading, decision)?;
            }
            Event::SetReuse(on) => world.generator.set_reuse(&mut world.ring, on),
            Event::SetMaxBurst(max_burst) => world.limits.max_burst = max_burst,
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

    /// 1, with reuse: a request that finds the clock beyond all IDs gets the highest one.
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

    /// 10.
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
                Event::Read(_) | Event::SetReuse(_) | Event::SetMaxBurst(_) => {}
                Event::Take { request, .. } => {
                    if let Decision::Issue(run) = world.insist(request.want) {
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
    fn a_hold_leaves_max_burst_alone(
        max_burst in 1..50i64,
        beyond in 1..50i64,
        ticks in 0..200i64,
    ) {
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

    /// 5 and 11, also where a start has left a lead over the clock, which melts.
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
                    let explained = limits.max_burst.max(LARGEST_BURST).max(lead);
                    prop_assert!(run.timestamp - world.clock <= explained);
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
                // Without a step, it is for the next millisecond.
                prop_assert_eq!(until, reading.now + 1);
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
    fn a_step_beyond_max_backward_step_is_never_held(
        back in 1..100i64,
        max_backward_step in 0..50i64,
        max_wait in 0..50i64,
    ) {
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
        // Once the clock says `until`, the request succeeds, above everything before.
        world.move_clock((until - world.clock).max(0));
        let decision = world.insist(1);
        prop_assert!(matches!(decision, Decision::Issue(run) if (run.timestamp, run.first) > (START, 0)));
    }
}
