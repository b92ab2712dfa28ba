//! Every effect of an administrator's requests, with the record that it writes. What a record holds
//! beside its floor and its clocks makes no difference to the model checker.

use snowflake_core::generator::{Generator, RESERVATION};
use snowflake_core::issuer::Issuer;
use snowflake_core::jump::{Clocks, Jump};
use snowflake_core::layout::{Layout, Widths};
use snowflake_core::promise::{
    Found, Notice, Outcome, Position, Promise, Refusal, Rejection, Request, Unreadable,
};
use snowflake_core::register::{NO_TIMELINE, Record, RecordError, Writer};
use snowflake_core::time::{Span, Timestamp};

use crate::effects::{Answer, Effect, drive};
use crate::fixtures::{NOW, WRITER, own, wall};

/// The clock, which is later than the floor of the record.
const LATER: Timestamp = Timestamp(NOW.0 + 1000);
const DAY: Span = Span::DAY;
const WRITTEN: Position = 7;
const CONFIRMED: Effect = Effect::Finish(Outcome::Confirmed(true), None);
const NOTHING_TO_CONFIRM: Effect = Effect::Finish(Outcome::Confirmed(false), None);
const ASK_AGAIN: Effect = Effect::Finish(Outcome::AskAgain, None);
const DAMAGED: Found = Err(Unreadable::Record(RecordError::Damaged));
const LATER_VERSION: Found = Err(Unreadable::Record(RecordError::NewerVersion(9)));

/// A promoted server: its record is from an earlier timeline.
fn issuer() -> Issuer {
    let issuer = crate::fixtures::issuer(&own());
    Issuer { timeline: 4, max_backward_step: Some(DAY), ..issuer }
}

/// A record of another system, whose server had another identity.
fn of_another() -> Record {
    let writer = Writer { worker_id: 9, ..WRITER };
    Record { system_identifier: 8, writer, ..own() }
}

/// The answer to an effect where nothing fails.
pub fn answer(effect: Effect, found: Found, now: Clocks) -> Answer {
    match effect {
        Effect::ReadClocks => Answer::Clocks(now),
        Effect::Look | Effect::Freeze => Answer::Looked(generator(NOW)),
        Effect::Read => Answer::Read(found),
        Effect::AskFlushed | Effect::Write(_) => Answer::Position(WRITTEN),
        _ => Answer::Done,
    }
}

/// Does everything that the promise asks for, and returns it but for the questions.
fn effects_of(promise: &mut Promise, request: Request, found: Found, now: Clocks) -> Vec<Effect> {
    use Effect::{AskFlushed, Freeze, Look, Read, ReadClocks};
    let mut effects = Vec::new();
    let last = drive(promise, &issuer(), request, |effect| {
        if !matches!(effect, ReadClocks | Look | Freeze | Read | AskFlushed) {
            effects.push(effect);
        }
        Some(answer(effect, found, now))
    });
    effects.push(last);
    effects
}

/// One that has begun, from its own record.
pub fn begun() -> Promise {
    let mut promise = Promise::default();
    let reserve = Request::Reserve { timestamp: NOW, lead: Span::ZERO };
    let began = effects_of(&mut promise, reserve, Ok(Some(own())), wall(LATER));
    assert!(matches!(
        began.last(),
        Some(Effect::Finish(Outcome::AskAgain, Some(Notice::Began { .. })))
    ));
    promise
}

/// One that issues nothing before the next ID has begun from the register.
fn generator(timestamp: Timestamp) -> Generator {
    Generator::starting_after(timestamp, Span::MAX, issuer().layout.last_timestamp())
}

fn effects(request: Request, found: Found) -> Vec<Effect> {
    effects_of(&mut Promise::default(), request, found, wall(LATER))
}

fn set(floor: Timestamp) -> Request {
    Request::SetFloor { floor, force: false }
}

fn forced(floor: Timestamp) -> Request {
    Request::SetFloor { floor, force: true }
}

/// The register holds the record before the generator begins above its floor.
fn is_set(record: Record, issued: Timestamp) -> Vec<Effect> {
    vec![
        Effect::Overwrite(record),
        Effect::SyncEntry,
        Effect::Restart(generator(record.floor)),
        Effect::Finish(Outcome::FloorSet { issued }, None),
    ]
}

fn is_denied(rejection: Rejection) -> Vec<Effect> {
    vec![Effect::Finish(Outcome::Denied(rejection), None)]
}

fn is_refused(unreadable: Found) -> Vec<Effect> {
    vec![Effect::Refuse(Refusal::Register(unreadable.expect_err("not a record")))]
}

fn is_written(record: Record) -> Vec<Effect> {
    vec![Effect::Write(record), Effect::Flush(WRITTEN), CONFIRMED]
}

/// A promotion whose first ID is still to come adds its margin to the new floor, too. A record of
/// another system becomes one of this system, and of no timeline of it. A floor confirms no clock.
#[test]
fn a_floor_keeps_what_the_record_says_otherwise() {
    let floor = NOW + Span(60_000);
    let of_issuer = issuer().record(floor, wall(LATER));
    assert_eq!(of_issuer.timeline, 4);
    let written = own().written;
    let kept = Record { timeline: 3, written, ..of_issuer };
    assert_eq!(effects(set(floor), Ok(Some(own()))), is_set(kept, NOW));
    let taken = Record { timeline: NO_TIMELINE, written, ..of_issuer };
    assert_eq!(effects(forced(floor), Ok(Some(of_another()))), is_set(taken, NOW));
    assert_eq!(effects(set(floor), Ok(None)), is_set(of_issuer, NOW));
}

/// Only by force is a record replaced that this server must not start from. What holds no record of
/// a release can be replaced.
#[test]
fn a_floor_replaces_no_record_of_another_system() {
    let floor = NOW + Span(60_000);
    let new = is_set(issuer().record(floor, wall(LATER)), NOW);
    let older = Err(Unreadable::Record(RecordError::OlderVersion(1)));
    for found in [Ok(None), DAMAGED, older, Err(Unreadable::Deleted)] {
        assert_eq!(effects(set(floor), found), new, "{found:?}");
    }
    assert_eq!(effects(set(floor), LATER_VERSION), is_refused(LATER_VERSION));
    assert_eq!(effects(forced(floor), LATER_VERSION), new);
    let other = of_another();
    let refusal = Refusal::OtherSystem { recorded: 8, writer: other.writer };
    assert_eq!(effects(set(floor), Ok(Some(other))), [Effect::Refuse(refusal)]);
}

/// A floor may be what has been issued, and as far ahead as the clock may be set back.
#[test]
fn a_floor_is_neither_lowered_nor_too_far_ahead() {
    let own = own();
    let at = |floor| Record { timeline: 3, ..issuer().record(floor, own.written) };
    for floor in [NOW, LATER + DAY] {
        assert_eq!(effects(set(floor), Ok(Some(own))), is_set(at(floor), NOW));
    }
    let lowered = is_denied(Rejection::FloorLowered { floor: NOW });
    assert_eq!(effects(set(NOW - Span(1)), Ok(Some(own))), lowered);
    assert_eq!(effects(forced(NOW - Span(1)), Ok(Some(own))), is_set(at(NOW - Span(1)), NOW));
    let ahead = is_denied(Rejection::FloorAhead { lead: DAY + Span(1) });
    assert_eq!(effects(set(LATER + DAY + Span(1)), Ok(Some(own))), ahead);
    assert_eq!(
        effects(forced(LATER + DAY + Span(1)), Ok(Some(own))),
        is_set(at(LATER + DAY + Span(1)), NOW)
    );
    // The IDs that the generator has issued count where the record says less.
    let less = Record { floor: NOW - Span(5), ..own };
    assert_eq!(effects(set(NOW - Span(1)), Ok(Some(less))), lowered);
}

/// The record was written two seconds ago, and the clock says that it was two days.
fn jumped() -> Clocks {
    wall(NOW + DAY * 2)
}

#[test]
fn a_clock_that_has_jumped_is_confirmed_and_a_floor_does_not_confirm_it() {
    // As far as it is beyond the floor and its margin, where the next ID would begin.
    let by = Jump::Measured(DAY * 2 - Span(5000));
    let mut promise = Promise::default();
    let mut ask = |request, found| effects_of(&mut promise, request, found, jumped());
    let refused = ask(set(NOW + DAY * 2), Ok(Some(own())));
    assert_eq!(refused, [Effect::Refuse(Refusal::ClockAhead(by))]);
    let confirmed = Record { written: jumped(), ..own() };
    assert_eq!(ask(Request::ConfirmClock, Ok(Some(own()))), is_written(confirmed));
    assert_eq!(ask(Request::ConfirmClock, Ok(Some(confirmed))), [NOTHING_TO_CONFIRM]);
    assert_eq!(ask(Request::ConfirmClock, Ok(None)), [NOTHING_TO_CONFIRM]);
    assert_eq!(ask(Request::ConfirmClock, DAMAGED), is_refused(DAMAGED));
    let refusal = Refusal::OtherSystem { recorded: 8, writer: of_another().writer };
    assert_eq!(ask(Request::ConfirmClock, Ok(Some(of_another()))), [Effect::Refuse(refusal)]);
}

/// A session that wants to reserve early can get its turn after a floor was set. The next ID begins
/// above that floor, and reserves.
#[test]
fn nothing_is_reserved_early_before_an_id_has_begun() {
    let mut promise = begun();
    let mut ask = |request| effects_of(&mut promise, request, Ok(Some(own())), wall(LATER));
    assert_ne!(ask(Request::ReserveEarly), [ASK_AGAIN]);
    ask(set(NOW + Span(60_000)));
    assert_eq!(ask(Request::ReserveEarly), [ASK_AGAIN]);
}

/// A session that sets a floor has frozen the generator. It gives it back with the floor that it
/// had, unless the register might hold the new floor already; also where that fails at first.
#[test]
fn a_failure_leaves_no_generator_frozen() {
    let published = NOW + Span(5000);
    let raise = Effect::Raise { floor: published, reserve_after: published };
    let restart = Effect::Restart(generator(NOW));
    for (failing, given_back) in [
        (1..=1, None),
        (2..=2, Some(raise)),
        (3..=3, Some(raise)),
        (3..=4, Some(raise)),
        (4..=4, Some(restart)),
        (5..=5, Some(restart)),
        (6..=6, Some(restart)),
        (6..=7, Some(restart)),
    ] {
        let (mut promise, mut count) = (begun(), 0);
        let mut turn = |request| {
            let mut effects = Vec::new();
            let last = drive(&mut promise, &issuer(), request, |effect| {
                effects.push(effect);
                count += 1;
                (!failing.contains(&count)).then(|| answer(effect, Ok(Some(own())), wall(LATER)))
            });
            (effects, last)
        };
        let (effects, last) = turn(set(NOW + Span(60_000)));
        assert_eq!(last, Effect::Stop, "{failing:?}");
        assert_eq!(effects[*failing.start()..], *given_back.as_slice(), "{failing:?}");
        // The next turn begins with what is left to do.
        let left = given_back.filter(|_| failing.end() > failing.start());
        let (effects, _) = turn(Request::NoteCopy);
        assert_eq!(effects[0], left.unwrap_or(Effect::ReadClocks), "{failing:?}");
    }
}

/// Once an ID has begun, the clock can be confirmed even where the register was damaged since.
#[test]
fn a_clock_is_confirmed_without_a_register() {
    let mut promise = begun();
    let mut confirm = || effects_of(&mut promise, Request::ConfirmClock, DAMAGED, jumped());
    assert_eq!(confirm(), [CONFIRMED]);
    assert_eq!(confirm(), [NOTHING_TO_CONFIRM]);
}

#[test]
fn a_copy_continues_with_the_record_of_its_original() {
    let confirm = |force, has_identity| Request::ConfirmSystemIdentifier { force, has_identity };
    let taken = |record| Record { system_identifier: 7, timeline: NO_TIMELINE, ..record };
    let other = of_another();
    let same = Record { writer: issuer().writer, ..other };
    for (request, found, expected) in [
        (confirm(false, true), Ok(Some(other)), is_written(taken(other))),
        (confirm(true, true), Ok(Some(other)), is_written(taken(other))),
        (confirm(false, true), Ok(Some(same)), is_denied(Rejection::IdentityOfOriginal)),
        (confirm(true, true), Ok(Some(same)), is_written(taken(same))),
        (confirm(true, false), Ok(Some(other)), is_denied(Rejection::NoIdentity)),
        (confirm(false, true), Ok(Some(own())), vec![NOTHING_TO_CONFIRM]),
        (confirm(false, true), Ok(None), vec![NOTHING_TO_CONFIRM]),
        (confirm(true, true), DAMAGED, is_refused(DAMAGED)),
    ] {
        assert_eq!(effects(request, found), expected, "{request:?} of {found:?}");
    }
}

#[test]
fn a_layout_is_confirmed_unless_ids_would_go_back() {
    let (epoch, widths) = (Layout::TWITTER.epoch(), Layout::TWITTER.widths());
    let layout = |epoch, widths| Layout::new(epoch, widths).expect("a valid layout");
    // With one bit less below the time, or with a later epoch, IDs are smaller.
    let narrower = layout(epoch, Widths { sequence: widths.sequence - 1, ..widths });
    let later = layout(epoch + DAY * 365, widths);
    let earlier = layout(epoch - DAY * 365, widths);
    let confirm = |layout| effects(Request::ConfirmLayout, Ok(Some(Record { layout, ..own() })));
    // On a later timeline, a lost server might have issued IDs up to a margin above the floor.
    let floor = NOW + Span(5000);
    let changed =
        |layout| Record { layout, floor, timeline: 4, confirmed: Some(Layout::TWITTER), ..own() };
    assert_eq!(confirm(narrower), is_written(changed(narrower)));
    assert_eq!(confirm(later), is_written(changed(later)));
    let back = Rejection::LayoutGoesBack { recorded: earlier, floor: NOW };
    assert_eq!(confirm(earlier), is_denied(back));
    assert_eq!(confirm(Layout::TWITTER), [NOTHING_TO_CONFIRM]);
    assert_eq!(effects(Request::ConfirmLayout, Ok(None)), [NOTHING_TO_CONFIRM]);
    assert_eq!(effects(Request::ConfirmLayout, DAMAGED), is_refused(DAMAGED));
}

/// It begins, and then puts the floor above the clock, although nobody takes an ID. Once the record
/// is of its timeline, there is nothing left to do.
#[test]
fn a_promoted_server_reserves_without_an_id() {
    let mut promise = Promise::default();
    let mut ask = |found| effects_of(&mut promise, Request::Promoted, found, wall(LATER));
    let began = ask(Ok(Some(own())));
    assert!(matches!(
        began[..],
        [
            Effect::SyncEntry,
            Effect::Restart(_),
            Effect::Finish(Outcome::AskAgain, Some(Notice::Began { .. }))
        ]
    ));
    let reserved = ask(Ok(Some(own())));
    let [Effect::Write(record), Effect::Flush(WRITTEN), Effect::Raise { floor, .. }, finish] =
        reserved[..]
    else {
        panic!("{reserved:?}")
    };
    assert_eq!((record.timeline, record.writer), (4, WRITER));
    assert!(record.floor == floor && floor >= LATER + RESERVATION, "{floor}");
    assert_eq!(finish, Effect::Finish(Outcome::Reserved { floor }, None));

    for found in [Ok(None), Ok(Some(record))] {
        let mut promise = Promise::default();
        assert!(!issuer().is_promoted(&found));
        assert_eq!(effects_of(&mut promise, Request::Promoted, found, wall(LATER)), [ASK_AGAIN]);
        assert!(!promise.has_begun());
    }
    let refused = Effect::Refuse(Refusal::Register(Unreadable::Record(RecordError::Damaged)));
    assert_eq!(
        effects_of(&mut Promise::default(), Request::Promoted, DAMAGED, wall(LATER)),
        [refused]
    );
}

/// The jump that is refused to sessions is refused to it, and no session has failed.
#[test]
fn a_promoted_server_does_not_follow_a_clock_that_jumped() {
    let mut promise = Promise::default();
    promise.hear(wall(LATER));
    let now = wall(LATER + DAY * 2);
    let mut ask = || effects_of(&mut promise, Request::Promoted, Ok(Some(own())), now).pop();
    assert!(matches!(ask(), Some(Effect::Finish(Outcome::AskAgain, _))));
    assert!(matches!(ask(), Some(Effect::Refuse(Refusal::ClockAhead(_)))));
    assert!(Request::Promoted.is_reservation() && !Request::Promoted.is_for_an_id());
    assert!(Request::ReserveEarly.is_reservation() && Request::ReserveEarly.is_for_an_id());
}
