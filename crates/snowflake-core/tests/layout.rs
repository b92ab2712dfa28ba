//! Property tests of the layout, and the known answers of systems in the field.

use proptest::prelude::*;
use snowflake_core::epoch::parse_time;
use snowflake_core::layout::{
    EPOCH_RANGE, Layout, LayoutError, Parts, PartsError, SUM_RANGE, Widths,
};
use snowflake_core::time::{Span, Timestamp};

const DISCORD_EPOCH: Timestamp = Timestamp(1_420_070_400_000);

fn widths() -> impl Strategy<Value = Widths> {
    SUM_RANGE
        .prop_flat_map(|sum| (Just(sum), 1..=sum))
        .prop_flat_map(|(sum, sequence)| (Just(sum), Just(sequence), 0..=sum - sequence))
        .prop_map(|(sum, sequence, worker)| Widths {
            datacenter: sum - sequence - worker,
            worker,
            sequence,
        })
}

fn layouts() -> impl Strategy<Value = Layout> {
    let epochs = prop_oneof![Just(0), Just(EPOCH_RANGE.end().0), 0..=EPOCH_RANGE.end().0];
    (epochs, widths())
        .prop_map(|(epoch, widths)| Layout::new(Timestamp(epoch), widths).expect("a valid layout"))
}

/// A valid layout and parts that fit it, the corners included.
fn layouts_and_parts() -> impl Strategy<Value = (Layout, Parts)> {
    fn field(last: i64) -> impl Strategy<Value = i64> {
        prop_oneof![Just(0), Just(last), 0..=last]
    }
    layouts().prop_flat_map(|layout| {
        let fields = (
            field((layout.last_timestamp() - layout.epoch()).0),
            field(layout.last_datacenter_id().into()),
            field(layout.last_worker_id().into()),
            field(layout.last_sequence().into()),
        );
        (Just(layout), fields).prop_map(|(layout, (timestamp, datacenter, worker, sequence))| {
            let parts = Parts {
                timestamp: layout.epoch() + Span(timestamp),
                datacenter_id: datacenter as u32,
                worker_id: worker as u32,
                sequence: sequence as u32,
            };
            (layout, parts)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decompose_inverts_compose((layout, parts) in layouts_and_parts()) {
        let id = layout.compose(parts).expect("parts that fit");
        prop_assert!(id >= 0);
        prop_assert_eq!(layout.decompose(id), Ok(parts));
    }

    #[test]
    fn compose_inverts_decompose(
        layout in layouts(),
        id in prop_oneof![Just(0), Just(i64::MAX), 0..=i64::MAX],
    ) {
        let parts = layout.decompose(id).expect("an ID");
        prop_assert_eq!(layout.compose(parts), Ok(id));
    }

    /// Of any datacenter and worker.
    #[test]
    fn the_ids_of_a_millisecond_are_between_its_first_and_its_last(
        (layout, parts) in layouts_and_parts(),
    ) {
        let of = |datacenter_id, worker_id, sequence| {
            layout.compose(Parts { datacenter_id, worker_id, sequence, ..parts })
        };
        prop_assert_eq!(layout.first_id(parts.timestamp), of(0, 0, 0));
        let last = of(layout.last_datacenter_id(), layout.last_worker_id(), layout.last_sequence());
        prop_assert_eq!(layout.last_id(parts.timestamp), last);
    }

    #[test]
    fn ids_sort_by_time_before_all_else((layout, a) in layouts_and_parts(), id in 0..=i64::MAX) {
        let b = layout.decompose(id).expect("an ID");
        prop_assume!(a.timestamp != b.timestamp);
        prop_assert_eq!(layout.compose(a).expect("fits") < id, a.timestamp < b.timestamp);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_past_a_field_is_refused((layout, parts) in layouts_and_parts()) {
        let before = Parts { timestamp: layout.epoch() - Span(1), ..parts };
        prop_assert_eq!(layout.compose(before), Err(PartsError::Timestamp(before.timestamp)));
        let after = Parts { timestamp: layout.last_timestamp() + Span(1), ..parts };
        prop_assert_eq!(layout.compose(after), Err(PartsError::Timestamp(after.timestamp)));
        let datacenter_id = layout.last_datacenter_id() + 1;
        prop_assert_eq!(layout.compose(Parts { datacenter_id, ..parts }), Err(PartsError::Datacenter(datacenter_id)));
        let worker_id = layout.last_worker_id() + 1;
        prop_assert_eq!(layout.compose(Parts { worker_id, ..parts }), Err(PartsError::Worker(worker_id)));
        let sequence = layout.last_sequence() + 1;
        prop_assert_eq!(layout.compose(Parts { sequence, ..parts }), Err(PartsError::Sequence(sequence)));
    }

    #[test]
    fn a_negative_number_is_no_id(layout in layouts(), id in prop_oneof![Just(-1), i64::MIN..0]) {
        prop_assert_eq!(layout.decompose(id), Err(PartsError::Negative(id)));
    }
}

#[test]
fn ids_of_systems_in_the_field_are_read_and_made() {
    let discord = Layout::new(DISCORD_EPOCH, Layout::TWITTER.widths()).expect("a valid layout");
    for (layout, id, parts) in [
        (Layout::TWITTER, 1268118639732232192, (1591178018874, 5, 9, 0)), // 2020-06-03 09:53:38.874 UTC
        (Layout::TWITTER, 1541815603606036480, (1656432460105, 11, 26, 0)), // 2022-06-28 16:07:40.105 UTC
        (discord, 175928847299117063, (1462015105796, 1, 0, 7)), // 2016-04-30 11:18:25.796 UTC
    ] {
        let (timestamp, datacenter_id, worker_id, sequence) = parts;
        let timestamp = Timestamp(timestamp);
        let parts = Parts { timestamp, datacenter_id, worker_id, sequence };
        assert_eq!(layout.decompose(id), Ok(parts));
        assert_eq!(layout.compose(parts), Ok(id));
    }
}

/// In 6429, so that the last timestamp of every layout is one that PostgreSQL has.
#[test]
fn the_last_epoch_is_before_2_to_the_power_of_47() {
    assert_eq!(EPOCH_RANGE, Timestamp(0)..=Timestamp(140_737_488_355_327));
}

#[test]
fn the_default_field_ends_in_2080() {
    assert_eq!(Layout::TWITTER.last_timestamp(), Timestamp(3487858230208)); // 2080-07-10 17:30:30.208 UTC
}

#[test]
fn the_error_names_the_range_of_epochs() {
    let text = LayoutError::Epoch { epoch: Timestamp(-1) }.to_string();
    let range = text.strip_prefix("the epoch is not from ").expect("a range");
    let (first, last) = range.split_once(" to ").expect("two times");
    assert_eq!(parse_time(first), Ok(*EPOCH_RANGE.start()));
    assert_eq!(parse_time(last), Ok(*EPOCH_RANGE.end()));
}

#[test]
fn invalid_layouts_are_refused() {
    let new = |epoch, datacenter, worker, sequence| {
        Layout::new(Timestamp(epoch), Widths { datacenter, worker, sequence })
            .expect_err("an invalid layout")
    };
    assert_eq!(new(0, 5, 5, 0), LayoutError::NoSequence);
    assert_eq!(new(0, 0, 0, 9), LayoutError::Sum { sum: 9 });
    assert_eq!(new(0, 8, 8, 9), LayoutError::Sum { sum: 25 });
    assert_eq!(
        new(0, u32::MAX, u32::MAX, u32::MAX),
        LayoutError::Sum { sum: 3 * u64::from(u32::MAX) }
    );
    assert_eq!(new(-1, 5, 5, 12), LayoutError::Epoch { epoch: Timestamp(-1) });
    assert_eq!(
        new(EPOCH_RANGE.end().0 + 1, 5, 5, 12),
        LayoutError::Epoch { epoch: *EPOCH_RANGE.end() + Span(1) }
    );
}

/// The worker takes bits that the datacenter does not need, then bits of the sequence.
#[test]
fn a_larger_worker_changes_the_widths_least() {
    let widths = |datacenter, worker, sequence| Widths { datacenter, worker, sequence };
    for (datacenter_id, worker_id, wanted) in [
        (1, 31, Some(widths(5, 5, 12))),
        (1, 32, Some(widths(4, 6, 12))),
        (31, 32, Some(widths(5, 6, 11))),
        (0, 1023, Some(widths(0, 10, 12))),
        (1, 1 << 30, None),
    ] {
        let found = Layout::TWITTER.widths_with_worker(datacenter_id, worker_id);
        assert_eq!(found, wanted, "{datacenter_id} {worker_id}");
    }
}
