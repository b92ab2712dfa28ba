//! Tests of points in time, and of the spans between them.

use std::time::Duration;

use snowflake_core::time::{Span, Timestamp};

#[test]
fn units_are_whole_milliseconds() {
    assert_eq!(
        (Span::SECOND, Span::MINUTE, Span::DAY),
        (Span(1000), Span(60_000), Span(86_400_000))
    );
}

#[test]
fn spans_compute_as_their_milliseconds_do() {
    let span = Span(7);
    assert_eq!(-span, Span(-7));
    assert_eq!((span.abs(), Span(-7).abs()), (span, span));
    assert_eq!((span * 3, span / 3), (Span(21), Span(2)));
    assert_eq!((span.saturating_mul(3), Span::MAX.saturating_mul(2)), (Span(21), Span::MAX));
    let mut timestamp = Timestamp(5);
    timestamp += span;
    assert_eq!(
        (timestamp, timestamp.to_string(), span.to_string()),
        (Timestamp(12), "12".into(), "7".into())
    );
}

#[test]
fn a_span_is_within_its_limit_or_none() {
    let within =
        [None, Some(Span(8)), Some(Span(7)), Some(Span(6))].map(|limit| Span(7).is_within(limit));
    assert_eq!(within, [true, true, true, false]);
}

#[test]
fn durations_are_never_negative_and_spans_leave_microseconds_out() {
    assert_eq!([7, 0, -7].map(|ms| Duration::from(Span(ms)).as_millis()), [7, 0, 0]);
    assert_eq!(Span::from(Duration::from_micros(7900)), Span(7));
}
