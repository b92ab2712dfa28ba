//! Cases beyond the bounds of the models: a second early reservation, before the record of the
//! first one is durable, and a clock before the epoch.

use snowflake_core::promise::{Promise, Refusal, Request};
use snowflake_core::time::Span;

use crate::administer::{answer, begun};
use crate::effects::{Answer, Effect, drive};
use crate::fixtures::{NOW, issuer, own, wall};

/// Returns the effects that are asked of a session that reserves early, where so much of the WAL is
/// durable.
fn reserve_early(promise: &mut Promise, durable: u64) -> Vec<Effect> {
    let mut effects = Vec::new();
    drive(promise, &issuer(&own()), Request::ReserveEarly, |effect| {
        effects.push(effect);
        Some(match effect {
            Effect::AskFlushed => Answer::Position(durable),
            effect => answer(effect, Ok(Some(own())), wall(NOW + Span(1000))),
        })
    });
    effects
}

#[test]
fn a_record_that_is_not_durable_is_not_published() {
    let mut promise = begun();
    let written = reserve_early(&mut promise, 0);
    let [Effect::ReadClocks, Effect::Look, Effect::Write(record), Effect::FlushSoon(position)] =
        written[..]
    else {
        panic!("{written:?}")
    };
    assert_eq!(reserve_early(&mut promise, position - 1), [Effect::AskFlushed]);
    let published = reserve_early(&mut promise, position);
    let [Effect::AskFlushed, Effect::Raise { floor, .. }] = published[..] else {
        panic!("{published:?}")
    };
    assert_eq!(floor, record.floor);
}

#[test]
fn the_first_start_is_not_before_the_epoch() {
    let issuer = issuer(&own());
    let epoch = issuer.layout.epoch();
    let start = |now| Promise::default().starting(&issuer, Ok(None), wall(now));
    for now in [epoch, epoch + Span(1)] {
        assert!(start(now).is_ok());
    }
    let refusal = Refusal::ClockBeforeEpoch { now: epoch - Span(1), epoch };
    assert_eq!(start(epoch - Span(1)).err(), Some(refusal));
}

#[test]
fn a_standby_remembers_the_clock_that_it_heard_last() {
    let mut promise = Promise::default();
    assert_eq!(promise.upstream(), None);
    for upstream in [wall(NOW), wall(NOW - Span(1))] {
        promise.hear(upstream);
        assert_eq!(promise.upstream(), Some(upstream));
    }
}
