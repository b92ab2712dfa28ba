//! The records from which a start may begin.

use proptest::prelude::*;
use snowflake_core::generator::RESERVATION;
use snowflake_core::issuer::{Issuer, StartAfterAhead, StartError};
use snowflake_core::jump::{BootClock, Clocks, Reference};
use snowflake_core::layout::{Layout, TWITTER_EPOCH};
use snowflake_core::register::{NO_TIMELINE, Record, Writer};
use snowflake_core::time::{Span, Timestamp};

use crate::fixtures::{NOW, WRITER, issuer, own, wall};
use crate::records::records;

/// The largest step back that is held, where a test needs a limit.
const DAY: Span = Span::DAY;

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    /// IDs are unique across a start because it begins above the record, whatever the clock says.
    #[test]
    fn a_start_begins_above_the_record(
        record in records(),
        other in prop::option::of(any::<u32>()),
        now in 0..2 * NOW.0,
    ) {
        let now = Timestamp(now);
        // With a confirmed layout, it depends on the timeline whether there is a start.
        let record = Record { confirmed: record.confirmed.filter(|_| other.is_none()), ..record };
        let timeline = other.unwrap_or(record.timeline);
        let issuer = Issuer { timeline, ..issuer(&record) };
        let start = issuer.start(&record, now).expect("the record is the server's own");
        prop_assert!(start.after >= record.floor);
        prop_assert_eq!(start.after, (record.floor + start.margin).min(record.layout.last_timestamp()));
        prop_assert_eq!(start.margin == Span::ZERO, timeline == record.timeline);
        prop_assert_eq!(issuer.floor(Some(&record)), Some(start.after));
        // It explains the lead that there is; on its own timeline, no more than the record had.
        let lead = (start.after - now).max(Span::ZERO);
        let explained = if timeline == record.timeline {
            lead.min((record.floor - record.written.wall).max(Span::ZERO))
        } else {
            lead
        };
        prop_assert_eq!(start.hold, explained);
    }

    /// Each timeline adds a margin: a server that began on one of them might have been lost before
    /// a record of its own was received. A record of no timeline adds one.
    #[test]
    fn every_timeline_adds_a_margin(
        timeline in prop_oneof![Just(NO_TIMELINE), 1..1000u32],
        more in 1..100u32,
        margin in 0..100_000i64,
    ) {
        let record = Record { timeline, ..own() };
        let issuer = Issuer { timeline: timeline + more, failover_margin: Span(margin), ..issuer(&record) };
        let start = issuer.start(&record, NOW).expect("its own record");
        let timelines = if timeline == NO_TIMELINE { 1 } else { more };
        prop_assert_eq!(start.margin, Span(i64::from(timelines) * margin));
        prop_assert_eq!(start.after, NOW + start.margin);
    }

    /// Each adds what an observation may, too, but for the timeline of another identity: it has
    /// written the record, and who issued IDs after it is not known.
    #[test]
    fn a_shared_identity_adds_what_an_observation_may(
        more in 0..100u32,
        observed in 0..100_000i64,
        is_others in any::<bool>(),
    ) {
        let writer = Writer { worker_id: WRITER.worker_id + u32::from(is_others), ..WRITER };
        let record = Record { writer, ..own() };
        let issuer = Issuer { timeline: 3 + more, max_observed_lead: Span(observed), ..issuer(&record) };
        let start = issuer.start(&record, NOW).expect("its own record");
        let shared = more.saturating_sub(is_others.into());
        prop_assert_eq!(start.margin, Span(5000 * i64::from(more) + observed * i64::from(shared)));
        prop_assert_eq!(start.after, NOW + start.margin);
        prop_assert_eq!(start.hold, start.margin);
    }

    /// A timeline that begins is the clock of another machine: whatever is followed at all is no
    /// step.
    #[test]
    fn a_promotion_explains_its_lead(behind in 0..3 * DAY.0) {
        let issuer = Issuer { timeline: 4, max_backward_step: Some(DAY), ..issuer(&own()) };
        let start = issuer.start(&own(), NOW - Span(behind)).expect("its own record");
        let lead = Span(behind + 5000);
        let explained = if lead <= DAY { lead } else { RESERVATION + Span(5000) };
        prop_assert_eq!(start.hold, explained);
    }

    /// Every start begins above start_after, which explains its own lead, or is refused. One that
    /// the floor has reached changes nothing: whoever set it to the floor that was handed over need
    /// not take it back.
    #[test]
    fn a_start_begins_above_start_after(
        lead in prop::option::of(prop_oneof![-3 * DAY.0..3 * DAY.0, Just(DAY.0), Just(DAY.0 + 1)]),
        ahead in -2 * DAY.0..2 * DAY.0,
        timeline in 3..5u32,
    ) {
        let now = NOW + Span(ahead);
        let after = lead.map_or(NOW, |lead| now + Span(lead));
        let issuer = Issuer {
            start_after: Some(after), timeline, max_backward_step: Some(DAY), ..issuer(&own())
        };
        let plain = Issuer { start_after: None, ..issuer }.start(&own(), now).expect("its own record");
        match issuer.start(&own(), now) {
            Ok(start) if after <= plain.after => prop_assert_eq!(start, plain),
            Ok(start) => {
                prop_assert_eq!(start.after, after);
                prop_assert!(after - now <= DAY);
                prop_assert_eq!(start.hold, (after - now).max(Span::ZERO));
            }
            Err(error) => {
                prop_assert!(after - now > DAY && after > plain.after);
                prop_assert_eq!(error, StartError::from(StartAfterAhead { lead: after - now }));
            }
        }
        match issuer.first_start(now) {
            Ok(start) => {
                prop_assert_eq!(start.after, after.max(now - Span(1)));
                prop_assert!(after - now <= DAY);
            }
            Err(_) => prop_assert!(after - now > DAY),
        }
    }
}

#[test]
fn a_start_of_another_system_or_layout_is_refused() {
    let other = Issuer { system_identifier: 8, ..issuer(&own()) };
    assert_eq!(other.start(&own(), NOW), Err(StartError::SystemIdentifier { recorded: 7 }));
    let layout =
        Layout::new(TWITTER_EPOCH + Span(1), Layout::TWITTER.widths()).expect("a valid layout");
    let other = Issuer { layout, ..issuer(&own()) };
    assert_eq!(other.start(&own(), NOW), Err(StartError::Layout { recorded: Layout::TWITTER }));
}

/// The machine is no part of the identity.
#[test]
fn an_identity_is_the_datacenter_and_the_worker() {
    assert!(WRITER.has_identity_of(&Writer { machine: 4, ..WRITER }));
    assert!(!WRITER.has_identity_of(&Writer { datacenter_id: 2, ..WRITER }));
    assert!(!WRITER.has_identity_of(&Writer { worker_id: 3, ..WRITER }));
}

/// The floor that a server shows before its first ID is where that ID will start.
#[test]
fn a_floor_is_above_start_after_too() {
    let record = Record { floor: NOW, ..own() };
    let at = |start_after| Issuer { start_after, ..issuer(&record) };
    assert_eq!(at(None).floor(None), None);
    assert_eq!(at(Some(NOW)).floor(None), Some(NOW));
    assert_eq!(at(Some(NOW + Span(1))).floor(Some(&record)), Some(NOW + Span(1)));
    assert_eq!(at(Some(NOW - Span(1))).floor(Some(&record)), Some(NOW));
}

/// On its own timeline, a server goes on from its own clock, whatever it heard before.
#[test]
fn a_promotion_is_compared_with_its_upstream() {
    let upstream = wall(NOW + Span(1));
    let promoted = Issuer { timeline: 4, ..issuer(&own()) };
    let of_record = Reference::record(own().written);
    let of_both = Reference { upstream: Some(upstream), ..of_record };
    assert_eq!(promoted.reference(&own(), Some(upstream)), of_both);
    assert_eq!(promoted.reference(&own(), None), of_record);
    assert_eq!(issuer(&own()).reference(&own(), Some(upstream)), of_record);
}

/// Only where the upstream's clock alone is in the way.
#[test]
fn a_refusal_that_the_upstream_is_the_reason_for_is_kept() {
    let issuer = Issuer { timeline: 4, ..issuer(&own()) };
    let at = |wall| Clocks { wall, boot: BootClock { boot: 1, elapsed: Span(1000) } };
    let kept = |now: Timestamp, upstream: Timestamp| {
        let reference = issuer.reference(&own(), Some(at(upstream)));
        issuer.record_of_refusal(&own(), &reference, &at(now))
    };
    let refused = Record { written: at(NOW), ..own() };
    assert_eq!(kept(NOW + DAY * 40, NOW), Some(refused));
    assert_eq!(kept(NOW + Span(1000), NOW), None);
    assert_eq!(kept(NOW + DAY * 800, NOW), None);
}
