//! Tests of places, and of a reader that finds transactions in them.

use proptest::prelude::*;
use snowflake_core::horizon::{Anonymous, Before, Found, Lookup, NO_ID, Place, Reader, Snapshot};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A place knows what was put there last, and never says that nothing was where something was.
    #[test]
    fn a_place_never_denies_what_was_put_there(xids in prop::collection::vec(1_u64..9, 1..9)) {
        let mut place = Place::EMPTY;
        for (number, xid) in xids.iter().enumerate() {
            place.put(*xid, number as i64);
        }
        let last = *xids.last().expect("one");
        prop_assert_eq!(place.find(last), Found::First(xids.len() as i64 - 1));
        for xid in xids.iter().filter(|xid| **xid != last) {
            prop_assert_eq!(place.find(*xid), Found::Unknown);
            prop_assert!(place.wants(*xid, NO_ID));
        }
        prop_assert_eq!(place.find(9), Found::Nothing);
        prop_assert!(!place.wants(9, NO_ID) && place.wants(9, 1) && !place.wants(0, 1));
    }

    /// The horizon is below the first ID of each transaction that the snapshot does not see,
    /// however many there are; otherwise, the snapshot is too old. It is not lowered by one that it
    /// sees. Some are prepared, and in prepared slots; the last prepared slot is free.
    #[test]
    fn a_reader_finds_what_the_snapshot_does_not_see(
        base in prop::sample::select(vec![100_u64, (1 << 32) - 6, (3 << 32) + 2]),
        seen in prop::collection::vec(any::<bool>(), 1..12),
        later in 0_usize..12,
        places in 1_usize..16,
        prepared in prop::collection::vec(any::<bool>(), 24),
    ) {
        let xid = |number: usize| base + number as u64;
        let first = |number: usize| 1000 - number as i64;
        let all = seen.len() + later;
        let running: Vec<u32> = (0..seen.len()).filter(|n| !seen[*n]).map(|n| xid(n) as u32).collect();
        let snapshot = Snapshot { running: &running[..], later: xid(seen.len()) as u32 };
        let mut memory = vec![Place::EMPTY; places];
        let (prepared, others): (Vec<_>, Vec<_>) = (0..all).partition(|n| prepared[*n]);
        let mut prepared_slots: Vec<_> = prepared.iter().map(|n| (xid(*n), first(*n))).collect();
        prepared_slots.push((0, 1));
        for number in others {
            memory[(xid(number) % places as u64) as usize].put(xid(number), first(number));
        }
        let mut reader = Reader::new(snapshot, Before::default(), 1, prepared_slots.len(), places);
        let mut looked = 0;
        let result = loop {
            match reader.lookup() {
                Lookup::Last => reader.last(5000),
                Lookup::Slot(_) => reader.slot(NO_ID),
                Lookup::Next => reader.next(xid(all)),
                Lookup::Anonymous => reader.anonymous(Anonymous::default()),
                Lookup::PreparedSlot(number) => reader.prepared_slot(prepared_slots[number].0, prepared_slots[number].1),
                Lookup::Place(number) => {
                    looked += 1;
                    reader.place(&memory[number]);
                }
                Lookup::Ended(half) => {
                    reader.ended(!prepared.iter().any(|n| xid(*n) as u32 == half));
                }
                Lookup::Done(horizon, _) => break Some(horizon),
                Lookup::TooOld => break None,
            }
        };
        prop_assert!(looked <= running.len() + places.min(later));
        let unseen: Vec<i64> = (0..all).filter(|n| *n >= seen.len() || !seen[*n]).map(first).collect();
        match result {
            Some(horizon) => {
                prop_assert_eq!(horizon, unseen.iter().min().map_or(5000, |least| least - 1));
            }
            None => prop_assert!(all > places, "nothing was taken from any place"),
        }
    }
}
