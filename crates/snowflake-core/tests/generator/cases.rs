//! Cases that no property shows: the ends of what is reserved and of the field, and known traps.

use snowflake_core::generator::{Decision, Generator, Limits, RESERVATION, Reading, Run};
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

use crate::world::{END, LAST_SEQUENCE, ONE, START, STRICT, World};

/// For a generator without reuse.
fn no_reuse() -> Ring<1> {
    Ring::new()
}

/// A reservation that asks for the next one when half of it is left.
fn raise_floor(generator: &mut Generator, floor: Timestamp) {
    generator.raise_floor(floor, floor - RESERVATION / 2);
}

/// 5: the timestamp is the one that the reader had seen, but a later reading has let the hold melt
/// since.
#[test]
fn a_reading_from_before_the_hold_melted_is_stale() {
    let limits = Limits { max_backward_step: None, ..STRICT };
    let mut generator = Generator::starting_after(START, Span(1), END);
    raise_floor(&mut generator, START + RESERVATION);
    let mut take = |now, seen| generator.take(&mut no_reuse(), Reading { now, seen }, ONE, &limits);
    let Decision::Reread { seen } = take(START, None) else { panic!("nothing was seen") };
    assert!(
        matches!(take(START, Some(seen)), Decision::Issue(run) if run.timestamp == START + Span(1))
    );
    // One session sees this state, and reads the clock: it is 1 ms behind, which is held.
    let Decision::Reread { seen } = take(START - Span(5), None) else { panic!("nothing was seen") };
    // The clock moves on, and another session takes an ID: nothing is held any more.
    assert!(
        matches!(take(START + Span(1), None), Decision::Issue(run) if run.timestamp == START + Span(1))
    );
    let decision = take(START, Some(seen));
    assert!(matches!(decision, Decision::Reread { .. }), "{decision:?}");
}

/// 6: the last ID of the field is issued, and nothing after it, whatever the clock says.
#[test]
fn the_field_ends_without_a_wrap() {
    let limits = Limits { max_burst: None, max_backward_step: None, ..STRICT };
    let mut world = World::ending_at(START + Span(2), limits);
    world.drain();
    assert_eq!(world.generator.last(), Some((START + Span(2), LAST_SEQUENCE)));
    for clock in [START, START + Span(2), START + Span(3), Timestamp(i64::MAX / 2), Timestamp(0)] {
        world.move_clock((clock - world.clock).0);
        assert_eq!(world.insist(1), Decision::EndOfField, "at {clock}");
    }
}

/// The trap of the first Snowflake: after a refused call it handed out the same millisecond again.
#[test]
fn a_refused_call_forgets_nothing() {
    let mut world = World::new(STRICT);
    assert_eq!(world.insist(2), Decision::Issue(Run { timestamp: START, first: 0, count: 2 }));
    world.move_clock(-5);
    assert_eq!(world.insist(1), Decision::Refuse { timestamp: START, lead: Span(5), until: START });
    world.move_clock(5);
    assert_eq!(world.insist(9), Decision::Issue(Run { timestamp: START, first: 2, count: 2 }));
}

#[test]
fn the_state_says_what_was_issued() {
    let mut world = World::new(Limits { max_backward_step: Some(Span(100)), ..STRICT });
    assert_eq!((world.generator.last(), world.generator.timestamp()), (None, START - Span(1)));
    for sequence in 0..3 {
        world.insist(1);
        assert_eq!(
            (world.generator.last(), world.generator.hold()),
            (Some((START, sequence)), Span::ZERO)
        );
    }
    // A step back of 40 ms is held, and melts as the clock comes back.
    world.move_clock(-40);
    assert!(matches!(world.take(0, ONE).1, Decision::Reread { .. }));
    assert!(matches!(world.take(0, ONE).1, Decision::Hold { lead: Span(40), .. }));
    assert_eq!((world.generator.hold(), world.generator.timestamp()), (Span(40), START));
    world.move_clock(30);
    world.insist(1);
    assert_eq!((world.generator.hold(), world.generator.last()), (Span(10), Some((START, 3))));
}

/// A reservation for an old reading is needed only if the clock is there, or the next millisecond
/// is.
#[test]
fn what_may_be_needed_is_the_clock_or_the_next_millisecond() {
    let generator = Generator::starting_after(START, Span::ZERO, END);
    for (timestamp, now, may) in [
        (START + Span(1), START - Span(50), true),
        (START + Span(2), START - Span(50), false),
        (START + Span(50), START + Span(50), true),
        (START + Span(51), START + Span(50), false),
    ] {
        assert_eq!(generator.may_need(timestamp, now), may, "{timestamp} at {now}");
    }
}

/// Whatever the clock says, even a time before 1970.
#[test]
fn a_generator_that_has_not_begun_reserves_first() {
    for now in [START, Timestamp(-1), Timestamp(i64::MAX / 2)] {
        let mut generator = Generator::not_begun(Timestamp(i64::MAX / 2));
        let decision = generator.take(&mut no_reuse(), Reading { now, seen: None }, ONE, &STRICT);
        assert_eq!((decision, generator.promised()), (Decision::Reserve { timestamp: now }, None));
        generator.raise_floor(now, now);
        assert_eq!(generator.promised(), Some(now));
    }
}

/// While it is frozen, every request of a later millisecond asks for a reservation.
#[test]
fn a_frozen_generator_issues_nothing_later() {
    let mut generator = Generator::starting_after(START - Span(1), Span::ZERO, END);
    raise_floor(&mut generator, START + RESERVATION);
    assert!(generator.take_at_once(&mut no_reuse(), START, ONE, || Some(Span::ZERO)).is_some());
    generator.freeze();
    assert_eq!((generator.timestamp(), generator.floor()), (START, START));
    assert!(generator.take_at_once(&mut no_reuse(), START, ONE, || Some(Span::ZERO)).is_some());
    assert_eq!(
        generator.take_at_once(&mut no_reuse(), START + Span(1), ONE, || Some(Span::ZERO)),
        None
    );
    let reading = Reading { now: START + Span(1), seen: None };
    let refused = generator.take(&mut no_reuse(), reading, ONE, &STRICT);
    assert_eq!(refused, Decision::Reserve { timestamp: START + Span(1) });
    raise_floor(&mut generator, START + RESERVATION);
    assert_eq!(generator.floor(), START + RESERVATION);
    assert!(
        generator
            .take_at_once(&mut no_reuse(), START + Span(1), ONE, || Some(Span::ZERO))
            .is_some()
    );
}

/// Returns whether a request at this time asks for a reservation.
fn asks(generator: &mut Generator, now: Timestamp) -> bool {
    if generator.take_at_once(&mut no_reuse(), now, ONE, || Some(Span::ZERO)).is_some() {
        return false;
    }
    match generator.take(&mut no_reuse(), Reading { now, seen: None }, ONE, &STRICT) {
        Decision::IssueAndReserve(_) => true,
        decision => panic!("{decision:?} at {now}"),
    }
}

/// 7: when half of a reservation is left, and again after a quarter of a second. Nobody has to
/// wait.
#[test]
fn a_reservation_is_asked_for_early() {
    let mut generator = Generator::starting_after(START - Span(1), Span::ZERO, END);
    raise_floor(&mut generator, START + RESERVATION);
    let mut asked = Vec::new();
    for passed in 0..RESERVATION.0 + 1500 {
        if asks(&mut generator, START + Span(passed)) {
            asked.push(passed);
        }
        // The third one that is asked makes one.
        if passed == 1503 {
            raise_floor(&mut generator, START + Span(passed) + RESERVATION);
        }
    }
    assert_eq!(asked, [1001, 1252, 1503, 2504, 2755, 3006, 3257]);
}

/// Even where the clock jumps to it: nobody has to wait for a reservation, and the field ends
/// there.
#[test]
fn the_last_millisecond_of_a_reservation_and_of_the_field_is_used() {
    let floor = START + RESERVATION;
    for (last_timestamp, now, early) in
        [(END, floor, true), (floor, floor, true), (START, START, false)]
    {
        let mut generator = Generator::starting_after(START - Span(1), Span::ZERO, last_timestamp);
        raise_floor(&mut generator, floor);
        assert_eq!(generator.floor(), now);
        assert_eq!(asks(&mut generator, now), early);
        assert_eq!(generator.last(), Some((now, 0)));
    }
}
