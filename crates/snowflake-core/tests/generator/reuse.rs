//! Small steps back that are answered with unused sequences, and what a run leaves to others.

use snowflake_core::generator::{Decision, Limits, Request, Run};
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

use crate::world::{LAST_SEQUENCE, ONE, START, STRICT, World};

/// Every other millisecond from START to START + Span(8) has given one ID, and then the clock is
/// set to this.
fn stepped_back(to: Timestamp, limits: Limits) -> World {
    let mut world = World::new(limits);
    for _ in 0..5 {
        assert!(matches!(world.insist(1), Decision::Issue(_)));
        world.move_clock(2);
    }
    world.move_clock((to - world.clock).0);
    world
}

const REUSE: Limits = Limits { reuse_window: Span(256), max_backward_step: None, ..STRICT };

/// A small step is answered with what its milliseconds have left, and held when that is used up.
#[test]
fn reuse_comes_before_a_hold_and_ends_where_a_sequence_is_full() {
    let mut world = stepped_back(START + Span(4), REUSE);
    for (first, is_first) in [(1, true), (2, false), (3, false)] {
        let run = Run { timestamp: START + Span(4), first, count: 1 };
        let reuse = Decision::Reuse { run, lead: Span(4), is_first };
        assert_eq!(world.insist(1), reuse);
    }
    let held = Run { timestamp: START + Span(8), first: 1, count: 1 };
    assert_eq!(world.insist(1), Decision::Issue(held));
    // A step that is held stays held, although the next millisecond was not used at all.
    world.move_clock(1);
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.timestamp == START + Span(8)));
    // A further step reaches a millisecond that has all of its sequence left.
    world.move_clock(-2);
    let run = Run { timestamp: START + Span(3), first: 0, count: 3 };
    let reuse = Decision::Reuse { run, lead: Span(5), is_first: false };
    assert_eq!(world.insist(3), reuse);
}

/// Where nothing may be held, the call waits or is refused when there is nothing left.
#[test]
fn after_reuse_the_other_limits_decide() {
    let mut world =
        stepped_back(START + Span(4), Limits { max_backward_step: Some(Span(0)), ..REUSE });
    assert!(matches!(world.insist(3), Decision::Reuse { .. }));
    assert!(matches!(world.insist(1), Decision::Refuse { lead: Span(4), .. }));
    world.move_clock(1);
    assert!(
        matches!(world.insist(9), Decision::Reuse { run, .. } if run.count == LAST_SEQUENCE + 1)
    );
}

#[test]
fn reuse_reaches_as_far_as_its_window_and_the_start() {
    let narrow = Limits { reuse_window: Span(4), max_backward_step: Some(Span(0)), ..REUSE };
    assert!(matches!(stepped_back(START + Span(4), narrow).insist(1), Decision::Reuse { .. }));
    assert!(matches!(stepped_back(START + Span(3), narrow).insist(1), Decision::Refuse { .. }));
    let wide = Limits { max_backward_step: Some(Span(0)), ..REUSE };
    assert!(matches!(stepped_back(START + Span(1), wide).insist(1), Decision::Reuse { .. }));
    assert!(matches!(stepped_back(START - Span(1), wide).insist(1), Decision::Refuse { .. }));
}

/// The ring does not know IDs that were used before reuse was switched on.
#[test]
fn reuse_begins_where_it_is_switched_on() {
    let mut world = World::new(Limits { max_backward_step: Some(Span(0)), ..REUSE });
    world.generator.set_reuse(&mut world.ring, false);
    assert!(!world.generator.reuses());
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    world.move_clock(4);
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    world.generator.set_reuse(&mut world.ring, true);
    assert!(world.generator.reuses());
    world.move_clock(2);
    assert!(matches!(world.insist(1), Decision::Issue(_)));
    // Every reservation passes on the setting as it is, which forgets nothing.
    world.generator.set_reuse(&mut world.ring, true);
    for (clock, is_known) in [(START, false), (START + Span(4), false), (START + Span(5), true)] {
        world.move_clock((clock - world.clock).0);
        assert_eq!(matches!(world.insist(1), Decision::Reuse { .. }), is_known, "{clock}");
    }
    world.generator.set_reuse(&mut world.ring, false);
    assert!(matches!(world.insist(1), Decision::Refuse { .. }));
}

/// It would cost every millisecond a store.
#[test]
fn nothing_is_recorded_while_reuse_is_off() {
    let world = stepped_back(START + Span(10), STRICT);
    assert_eq!(world.ring, Ring::new());
}

/// Whoever takes many leaves some to others, who need not wait.
#[test]
fn a_run_leaves_ids_to_others() {
    let mut world = World::new(Limits { max_backward_step: Some(Span(0)), ..REUSE });
    let many = Request { want: 9, leave: 1, ..ONE };
    world.insist(1);
    let Decision::Issue(run) = world.take(0, many).1 else { panic!("there are IDs") };
    assert_eq!((run.first, run.count), (1, LAST_SEQUENCE - 1));
    let waits = |decision| matches!(decision, Decision::Wait { .. } | Decision::Reread { .. });
    assert!(waits(world.take(0, many).1) && waits(world.take(0, many).1));
    assert!(matches!(world.insist(1), Decision::Issue(run) if run.first == LAST_SEQUENCE));
    assert!(waits(world.insist(1)));
    // A new millisecond that begins with one of those gives that one.
    world.move_clock(1);
    let late = Request { first: LAST_SEQUENCE, ..many };
    let Decision::Issue(run) = world.take(0, late).1 else { panic!("there are IDs") };
    assert_eq!((run.first, run.count), (LAST_SEQUENCE, 1));
    // Reused IDs are taken whole: none is left to others.
    world.move_clock(5);
    world.insist(1);
    world.move_clock(-3);
    world.take(0, many);
    let Decision::Reuse { run, .. } = world.take(0, many).1 else { panic!("a step back") };
    assert_eq!((run.first, run.count), (0, LAST_SEQUENCE + 1));
}
