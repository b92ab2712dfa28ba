//! What a start may begin from.

use proptest::prelude::*;
use snowflake_core::generator::RESERVATION;
use snowflake_core::jump::Verdict;
use snowflake_core::layout::{Layout, TWITTER_EPOCH};
use snowflake_core::register::{
    Issuer, NO_TIMELINE, Record, Start, StartAfterAhead, StartError, Writer,
};

use crate::fixtures::{DAY, NOW, WRITER, issuer, own, wall};
use crate::records::records;

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What makes IDs unique across a start: it begins above the record, whatever the clock says.
    #[test]
    fn a_start_begins_above_the_record(
        record in records(),
        other in prop::option::of(any::<u32>()),
        now in 0..2 * NOW,
    ) {
        // With a confirmed layout, it depends on the timeline whether there is a start.
        let record = Record { confirmed: record.confirmed.filter(|_| other.is_none()), ..record };
        let timeline = other.unwrap_or(record.timeline);
        let issuer = Issuer { timeline, ..issuer(&record) };
        let start = issuer.start(&record, now).expect("the record is the server's own");
        prop_assert!(start.after >= record.floor);
        prop_assert_eq!(start.after, (record.floor + start.margin).min(record.layout.last_timestamp()));
        prop_assert_eq!(start.margin == 0, timeline == record.timeline);
        prop_assert_eq!(issuer.floor(Some(&record)), Some(start.after));
        // It explains no more than the lead that there is; on its own timeline, no more than the
        // record had.
        prop_assert!(start.hold >= 0);
        prop_assert!(start.hold <= (start.after - now).max(0));
        if timeline == record.timeline {
            prop_assert!(start.hold <= (record.floor - record.written.wall).max(0));
        }
    }

    /// Each timeline adds a margin: a server that began on one of them might have been lost before a
    /// record of its own was received.
    #[test]
    fn every_timeline_adds_a_margin(
        timeline in 1..1000u32,
        more in 1..100u32,
        margin in 0..100_000i64,
    ) {
        let record = Record { timeline, ..own() };
        let issuer = Issuer { timeline: timeline + more, failover_margin: margin, ..issuer(&record) };
        let start = issuer.start(&record, NOW).expect("its own record");
        prop_assert_eq!(start.margin, i64::from(more) * margin);
        prop_assert_eq!(start.after, NOW + start.margin);
    }

    /// A timeline that begins is the clock of another machine: whatever is followed at all is no
    /// step.
    #[test]
    fn a_promotion_explains_its_lead(behind in 0..3 * DAY) {
        let issuer = Issuer { timeline: 4, max_backward_step: DAY, ..issuer(&own()) };
        let start = issuer.start(&own(), NOW - behind).expect("its own record");
        let lead = behind + 5000;
        let explained = if lead <= DAY { lead } else { RESERVATION + 5000 };
        prop_assert_eq!(start.hold, explained);
    }

    /// Every start begins above start_after, which explains its own lead, or is refused.
    #[test]
    fn a_start_begins_above_start_after(
        after in NOW - 2 * DAY..NOW + 3 * DAY,
        ahead in -DAY..DAY,
        timeline in 3..5u32,
    ) {
        let now = NOW + ahead;
        let issuer = Issuer {
            start_after: Some(after), timeline, max_backward_step: DAY, ..issuer(&own())
        };
        let plain = Issuer { start_after: None, ..issuer }.start(&own(), now).expect("its own record");
        match issuer.start(&own(), now) {
            Ok(start) if after <= plain.after => prop_assert_eq!(start, plain),
            Ok(start) => {
                prop_assert_eq!(start.after, after);
                prop_assert!(after - now <= DAY);
                prop_assert_eq!(start.hold, (after - now).max(0));
            }
            Err(error) => {
                prop_assert!(after - now > DAY && after > plain.after);
                prop_assert_eq!(error, StartError::from(StartAfterAhead { lead: after - now }));
            }
        }
        match issuer.first_start(now) {
            Ok(start) => prop_assert_eq!(start.after, after.max(now - 1)),
            Err(_) => prop_assert!(after - now > DAY),
        }
    }
}

#[test]
fn a_start_of_another_system_or_layout_is_refused() {
    let other = Issuer { system_identifier: 8, ..issuer(&own()) };
    assert_eq!(other.start(&own(), NOW), Err(StartError::SystemIdentifier { recorded: 7 }));
    let layout = Layout::new(TWITTER_EPOCH + 1, Layout::TWITTER.widths()).expect("a valid layout");
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

#[test]
fn a_start_holds_what_it_explains() {
    let issuer = issuer(&own());
    for (now, hold) in [(NOW + 1, 0), (NOW, 0), (NOW - 1500, 1500), (NOW - 3_600_000, RESERVATION)]
    {
        assert_eq!(
            issuer.start(&own(), now),
            Ok(Start { after: NOW, hold, margin: 0 }),
            "at {now}"
        );
    }
}

/// An ID of another server has taken this one far ahead of its clock. The record explains that lead to
/// the next start, and a floor that leads is no jump of the clock.
#[test]
fn a_start_explains_an_observed_lead() {
    const LEAD: i64 = DAY - 10_000;
    let before = own();
    let observed = NOW + LEAD;
    let record = issuer(&before).reservation(observed, before.floor, wall(NOW), 0).record;
    let later = NOW + 1000;
    let issuer = Issuer { max_backward_step: 0, ..issuer(&record) };
    let start = issuer.start(&record, later).expect("its own record");
    assert!(start.after >= observed);
    assert_eq!(start.hold, start.after - later);
    let (verdict, _) =
        wall(later).judge(&issuer.reference(&record, None), start.after, Some(RESERVATION));
    assert_eq!(verdict, Verdict::Accept);
}

#[test]
fn a_record_of_no_timeline_adds_one_margin() {
    let record = Record { timeline: NO_TIMELINE, ..own() };
    let issuer = Issuer { timeline: 7, ..issuer(&record) };
    assert_eq!(issuer.start(&record, NOW).expect("its own record").margin, 5000);
}

#[test]
fn start_after_may_be_as_far_ahead_as_a_step_that_is_held() {
    let issuer = Issuer { start_after: Some(NOW + DAY), max_backward_step: DAY, ..issuer(&own()) };
    let start = Start { after: NOW + DAY, hold: DAY, margin: 0 };
    assert_eq!(issuer.start(&own(), NOW), Ok(start));
    assert_eq!(issuer.start(&own(), NOW - 1), Err(StartAfterAhead { lead: DAY + 1 }.into()));
}

/// Whoever set it to the floor that was handed over has reached it since: it refuses nothing.
#[test]
fn a_start_after_that_the_floor_has_reached_changes_nothing() {
    let issuer = Issuer { max_backward_step: 0, ..issuer(&own()) };
    let plain = issuer.start(&own(), NOW - DAY).expect("its own record");
    for start_after in [NOW - 1, NOW] {
        let told = Issuer { start_after: Some(start_after), ..issuer };
        assert_eq!(told.start(&own(), NOW - DAY), Ok(plain));
    }
}

/// What a server says of itself before its first ID is where that ID will start.
#[test]
fn a_floor_is_above_start_after_too() {
    let record = Record { floor: NOW, ..own() };
    let at = |start_after| Issuer { start_after, ..issuer(&record) };
    assert_eq!(at(None).floor(None), None);
    assert_eq!(at(Some(NOW)).floor(None), Some(NOW));
    assert_eq!(at(Some(NOW + 1)).floor(Some(&record)), Some(NOW + 1));
    assert_eq!(at(Some(NOW - 1)).floor(Some(&record)), Some(NOW));
}
