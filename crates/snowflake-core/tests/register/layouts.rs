//! Layouts that are changed, and confirmed.

use proptest::prelude::*;
use snowflake_core::issuer::{GoesBack, Issuer, StartError};
use snowflake_core::layout::{Layout, TWITTER_EPOCH, Widths};
use snowflake_core::register::Record;
use snowflake_core::time::{Span, Timestamp};

use crate::fixtures::{NOW, issuer, own, wall};
use crate::records::{layouts, recent_layouts, records};

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A change of layout is accepted only when every ID of the new one is above every ID of the
    /// old one.
    #[test]
    fn a_changed_layout_goes_on_above_the_old_one(
        record in records(),
        layout in layouts(),
        old_bits: i64,
        new_bits: i64,
        ago in 0..1000i64,
    ) {
        let issuer = Issuer { layout, ..issuer(&record) };
        if issuer.confirm_layout(&record).is_ok() && layout != record.layout {
            let mask = |layout: Layout| (1 << layout.timestamp_shift()) - 1;
            let old = ((record.floor - Span(ago) - record.layout.epoch()).0 << record.layout.timestamp_shift()) | (old_bits & mask(record.layout));
            let new = ((record.floor + Span(1) - layout.epoch()).0 << layout.timestamp_shift()) | (new_bits & mask(layout));
            prop_assert!(new > old);
        }
    }

    /// Layouts are configured and confirmed in any order, with IDs in between and without: IDs
    /// increase, and the layout of those that were issued last is never refused.
    #[test]
    fn whatever_layouts_are_confirmed_ids_increase(
        layouts in prop::array::uniform3(recent_layouts()),
        steps in prop::collection::vec((0..3usize, any::<bool>(), any::<bool>(), 0..5000i64), 1..30),
    ) {
        let mut record = Record { layout: layouts[0], ..own() };
        let mut highest = record.highest_id().expect("a floor in the field");
        let mut now = NOW;
        for (layout, confirms, takes, passed) in steps {
            now += Span(passed);
            let issued = record.layout;
            let issuer = Issuer { layout: layouts[layout], ..issuer(&record) };
            if confirms {
                match issuer.confirm_layout(&record) {
                    Ok(Some(confirmed)) => record = confirmed,
                    Ok(None) => {}
                    Err(GoesBack) => prop_assert_ne!(issuer.layout, issued),
                }
                prop_assert_eq!(issuer.confirm_layout(&record).unwrap_or(None), None);
            }
            let Ok(start) = issuer.start(&record, now) else {
                prop_assert_ne!(issuer.layout, issued);
                continue;
            };
            if takes {
                let lowest = issuer.layout.first_id(start.after + Span(1)).expect("in the field");
                prop_assert!(lowest > highest, "{lowest} after {highest}");
                record = issuer.reservation(start.after + Span(1), start.after, wall(now), Span::ZERO).record;
                highest = record.highest_id().expect("in the field");
            }
        }
    }

    /// A server is lost with the first IDs after a layout was confirmed. Whichever of the two
    /// layouts they were of, and whichever the promoted server has, what it issues is above those
    /// within the margin, or it issues nothing.
    #[test]
    fn a_confirmed_layout_does_no_harm_if_it_is_lost_with_its_first_ids(
        issued in prop::array::uniform2(recent_layouts()),
        promoted in 0..2usize,
        margin in 0..10_000_000i64,
    ) {
        let (record, margin) = (Record { layout: issued[0], ..own() }, Span(margin));
        let lost = Issuer { layout: issued[1], failover_margin: margin, ..issuer(&record) };
        let Ok(Some(confirmed)) = lost.confirm_layout(&record) else { return Ok(()) };
        let issuer = Issuer { layout: issued[promoted], timeline: lost.timeline + 1, ..lost };
        let Ok(start) = issuer.start(&confirmed, NOW) else {
            prop_assert!(issuer.confirm_layout(&confirmed).is_err() || issued[0] == issued[1]);
            return Ok(());
        };
        let lowest = issuer.layout.first_id(start.after + Span(1)).expect("in the field");
        for layout in issued {
            let highest = layout.last_id(confirmed.floor + margin).expect("in the field");
            prop_assert!(lowest > highest, "{lowest} after {highest}");
        }
    }
}

/// A mistake is undone by setting the server right, until there is an ID of the other layout.
#[test]
fn a_confirmed_layout_and_the_former_one_are_accepted_until_the_first_reservation() {
    let former = issuer(&own());
    let layout =
        |bits| Layout::new(TWITTER_EPOCH, Widths { sequence: bits, ..own().layout.widths() });
    let [confirmed, third] =
        [13, 14].map(|bits| Issuer { layout: layout(bits).expect("a valid layout"), ..former });
    let record = confirmed.confirm_layout(&own()).expect("larger IDs").expect("a change");
    assert_eq!(Record::decode(&record.encode()), Ok(record));
    assert_eq!(record.highest_id(), own().highest_id());
    for (issuer, accepted) in [(former, true), (confirmed, true), (third, false)] {
        assert_eq!(issuer.start(&record, NOW).is_ok(), accepted);
    }
    for (issuer, other) in [(former, confirmed), (confirmed, former)] {
        let record = issuer.reservation(NOW + Span(1), NOW, wall(NOW), Span::ZERO).record;
        assert!(issuer.start(&record, NOW).is_ok());
        assert_eq!(other.start(&record, NOW), Err(StartError::Layout { recorded: issuer.layout }));
    }
    // The former one is confirmed in its turn, or a third one.
    assert_eq!(former.confirm_layout(&record), Ok(Some(own())));
    let record = third.confirm_layout(&record).expect("larger IDs").expect("a change");
    assert!(third.start(&record, NOW).is_ok());
    assert!(confirmed.start(&record, NOW).is_err());
}

/// It is that of the IDs that were issued, or, where those of the confirmed one might be lost, that
/// one.
#[test]
fn a_refusal_names_the_layout_that_is_in_the_way() {
    let widths = Widths { sequence: 13, ..Layout::TWITTER.widths() };
    let layout = Layout::new(TWITTER_EPOCH, widths).expect("a valid layout");
    let confirmed = Issuer { layout, ..issuer(&own()) };
    let record = confirmed.confirm_layout(&own()).expect("larger IDs").expect("a change");
    let third =
        Layout::new(TWITTER_EPOCH + Span(1), Layout::TWITTER.widths()).expect("a valid layout");
    let third = Issuer { layout: third, ..confirmed };
    let recorded = Layout::TWITTER;
    assert_eq!(third.start(&record, NOW), Err(StartError::Layout { recorded }));
    let promoted = Issuer { timeline: 4, ..issuer(&own()) };
    let confirmed = confirmed.layout;
    assert_eq!(promoted.start(&record, NOW), Err(StartError::ConfirmedLayout { confirmed }));
    assert_eq!(record.other_than(promoted.layout), confirmed);
    assert_eq!(record.other_than(confirmed), promoted.layout);
}

/// A server whose timeline is new might have lost records of another one, which are up to a margin
/// above the one that it has. The record says that it counted the margin.
#[test]
fn a_layout_is_confirmed_if_it_is_above_the_margin_of_a_promotion() {
    let record = own();
    // Just above the floor. Its IDs grow half as fast.
    let former = record.layout;
    let widths = Widths { sequence: former.widths().sequence - 1, ..former.widths() };
    let epoch = former.epoch() - (NOW + Span(1) - former.epoch());
    let layout = Layout::new(epoch, widths).expect("a valid layout");
    let issuer = Issuer { layout, failover_margin: Span(5000), ..issuer(&record) };
    let confirmed = issuer.confirm_layout(&record).expect("larger IDs").expect("a change");
    let promoted = Issuer { timeline: record.timeline + 1, ..issuer };
    assert_eq!(promoted.confirm_layout(&record), Err(GoesBack));
    // That it was confirmed before the promotion makes no difference.
    assert_eq!(promoted.confirm_layout(&confirmed), Err(GoesBack));
    let layout = Layout::new(epoch - Span(5000), widths).expect("a valid layout");
    let (confirmed, floor, timeline) = (Some(layout), record.floor + Span(5000), promoted.timeline);
    let above = Record { confirmed, floor, timeline, ..record };
    assert_eq!(Issuer { layout, ..promoted }.confirm_layout(&record), Ok(Some(above)));
}

#[test]
fn a_layout_of_larger_ids_may_follow_another() {
    let record = own();
    for (epoch, datacenter, worker, sequence, may) in [
        // Wider parts, or an earlier epoch: larger IDs.
        (TWITTER_EPOCH, 5, 5, 14, true),
        (Timestamp(0), 5, 5, 12, true),
        // Narrower parts, or a later epoch: IDs that were issued before.
        (TWITTER_EPOCH, 5, 5, 10, false),
        (TWITTER_EPOCH + Span::DAY, 5, 5, 12, false),
        // The same sum of widths means the same IDs, whatever the parts are called.
        (TWITTER_EPOCH, 0, 10, 12, true),
    ] {
        let widths = Widths { datacenter, worker, sequence };
        let layout = Layout::new(epoch, widths).expect("a valid layout");
        let issuer = Issuer { layout, ..issuer(&record) };
        assert_eq!(issuer.confirm_layout(&record).is_ok(), may, "{layout:?}");
    }
}
