//! Records and layouts of every kind.

use proptest::prelude::*;
use snowflake_core::jump::{BootClock, Clocks};
use snowflake_core::layout::{Layout, Widths};
use snowflake_core::register::{Record, Writer};
use snowflake_core::time::{Span, Timestamp};

use crate::fixtures::NOW;

pub fn layouts() -> impl Strategy<Value = Layout> {
    (0..NOW.0, 0..8u32, 0..8u32, 10..12u32).prop_map(|(epoch, datacenter, worker, sequence)| {
        // At least 10 bits below the timestamp, at most 24.
        let sequence = sequence.min(24 - datacenter - worker);
        let widths = Widths { datacenter, worker, sequence };
        Layout::new(Timestamp(epoch), widths).expect("a valid layout")
    })
}

/// Layouts whose field holds the years around now.
pub fn recent_layouts() -> impl Strategy<Value = Layout> {
    layouts().prop_map(|layout| {
        let epoch = NOW - Span(layout.epoch().0 % (Span::DAY * 3650).0);
        Layout::new(epoch, layout.widths()).expect("a valid layout")
    })
}

fn writers() -> impl Strategy<Value = Writer> {
    (0..1024u32, 0..1024u32, any::<u128>()).prop_map(|(datacenter_id, worker_id, machine)| Writer {
        datacenter_id,
        worker_id,
        machine,
    })
}

pub fn records() -> impl Strategy<Value = Record> {
    let boots = (any::<u128>(), any::<i64>())
        .prop_map(|(boot, elapsed)| BootClock { boot, elapsed: Span(elapsed) });
    let layouts = (layouts(), prop::option::of(layouts()));
    let writers = (writers(), prop::option::of(writers()));
    (any::<u64>(), any::<u32>(), layouts, 0..1_000_000_000i64, -10_000..10_000i64, boots, writers)
        .prop_map(|(system_identifier, timeline, layouts, since, lead, boot, writers)| {
            let ((layout, confirmed), (writer, copy_of)) = (layouts, writers);
            let floor = layout.epoch() + Span(since - 1);
            let written = Clocks { wall: floor - Span(lead), boot };
            Record {
                system_identifier,
                timeline,
                floor,
                written,
                layout,
                confirmed,
                writer,
                copy_of,
            }
        })
}
