//! Property tests of the ring: it is compared with a map that forgets nothing.

use std::collections::BTreeMap;

use proptest::prelude::*;
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

const PLACES: usize = 8;

/// A generator that goes on by this much, goes back to take what is unused, or forgets what is
/// older than this.
#[derive(Clone, Debug)]
enum Event {
    GoOn { by: i64, sequence: u32 },
    GoBack { by: i64 },
    Forget { before: i64 },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let on = (prop_oneof![5 => 1..4i64, 1 => 1..40i64], 0..4u32)
        .prop_map(|(by, sequence)| Event::GoOn { by, sequence });
    let back = (1..30i64).prop_map(|by| Event::GoBack { by });
    let forget = (0..30i64).prop_map(|before| Event::Forget { before });
    prop::collection::vec(prop_oneof![10 => on, 20 => back, 1 => forget], 0..100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Both promises at the top of `src/ring.rs`.
    #[test]
    fn what_is_unused_is_known_and_nothing_else(after in -100..100i64, events in events()) {
        let mut ring = Ring::<PLACES>::new();
        let after = Timestamp(after);
        ring.begin(after);
        let mut used = BTreeMap::new();
        let mut timestamp = after;
        let mut forgotten = after;
        for event in events {
            match event {
                Event::GoOn { by, sequence } => {
                    timestamp += Span(by);
                    used.insert(timestamp, sequence);
                    ring.record(timestamp, sequence);
                }
                Event::GoBack { by } => {
                    let back = timestamp - Span(by);
                    let lowest = used.get(&back).map_or(0, |last| last + 1);
                    match ring.unused(back, 0) {
                        Some(first) => {
                            prop_assert!(back > forgotten, "from before it began, or forgotten");
                            prop_assert_eq!(first, lowest);
                            used.insert(back, first);
                            ring.record(back, first);
                        }
                        None => prop_assert!(back <= forgotten || by >= PLACES as i64, "lost"),
                    }
                }
                Event::Forget { before } => {
                    ring.forget(timestamp - Span(before));
                    forgotten = forgotten.max(timestamp - Span(before));
                }
            }
        }
    }
}

#[test]
fn nothing_is_known_before_it_begins() {
    let mut ring = Ring::<PLACES>::new();
    ring.record(Timestamp(5), 1);
    assert_eq!(ring.unused(Timestamp(5), 0), None);
    ring.begin(Timestamp(4));
    assert_eq!(ring.unused(Timestamp(5), 0), Some(2));
    assert_eq!(ring.unused(Timestamp(6), 3), Some(3));
}

#[test]
fn a_step_is_noticed_once() {
    let mut ring = Ring::<PLACES>::new();
    assert!(ring.notice_step(Timestamp(5)));
    assert!(!ring.notice_step(Timestamp(5)));
    assert!(ring.notice_step(Timestamp(7)));
}
