//! Tests of places, and of a reader that finds transactions in them.

use proptest::prelude::*;
use snowflake_core::horizon::{
    Anonymous, Before, Found, Horizon, Memory, NO_ID, Place, Reader, Sizes, Snapshot, TooOld,
};

/// Memory without slots, in which nothing changes while a reader looks at it.
struct Still {
    next_xid: u64,
    anonymous: Anonymous,
    prepared_slots: Vec<(u64, i64)>,
    places: Vec<Place>,
    /// The number of looks at places.
    looked: usize,
}

impl Memory for Still {
    fn last(&mut self) -> i64 {
        5000
    }

    fn slot(&mut self, number: usize) -> i64 {
        panic!("there is no slot {number}")
    }

    fn next_xid(&mut self) -> u64 {
        self.next_xid
    }

    fn anonymous(&mut self) -> Anonymous {
        self.anonymous
    }

    fn prepared_slot(&mut self, number: usize) -> (u64, i64) {
        self.prepared_slots[number]
    }

    fn place(&mut self, number: usize) -> Place {
        self.looked += 1;
        self.places[number]
    }

    fn has_ended(&mut self, half: u32) -> bool {
        !self.prepared_slots.iter().any(|(xid, _)| *xid as u32 == half)
    }
}

fn read(
    snapshot: Snapshot<&[u32]>,
    before: Before,
    sizes: Sizes,
    memory: &mut Still,
) -> Result<Horizon, TooOld> {
    let mut reader = Reader::new(snapshot, before, sizes);
    (0..200).find_map(|_| reader.look(memory)).expect("it looks at each thing once")
}

/// An anonymous transaction holds the horizon back if it has ended since the reader's process
/// looked, and the snapshot might be from before that.
#[test]
fn only_an_anonymous_transaction_that_the_snapshot_might_not_see_limits_the_horizon() {
    let before = Before { count: 1, horizon: 7 };
    let sizes = Sizes { slots: 0, prepared_slots: 0, places: 1 };
    for (count, next, horizon) in [(1, 100, 5000), (2, 99, 5000), (2, 100, 7)] {
        let anonymous = Anonymous { count, next };
        let places = vec![Place::EMPTY];
        let mut memory =
            Still { next_xid: 100, anonymous, prepared_slots: Vec::new(), places, looked: 0 };
        let snapshot = Snapshot { running: &[][..], later: 100 };
        let found = read(snapshot, before, sizes, &mut memory).expect("it is not too old");
        assert_eq!((found.of_snapshot, found.of_later), (horizon, 5000), "{anonymous:?}");
    }
}

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
        let running = (0..seen.len()).filter(|n| !seen[*n]);
        let running: Vec<u32> = running.map(|n| xid(n) as u32).collect();
        let snapshot = Snapshot { running: &running[..], later: xid(seen.len()) as u32 };
        let (prepared, others): (Vec<_>, Vec<_>) = (0..all).partition(|n| prepared[*n]);
        let mut prepared_slots: Vec<_> = prepared.iter().map(|n| (xid(*n), first(*n))).collect();
        prepared_slots.push((0, 1));
        let sizes = Sizes { slots: 0, prepared_slots: prepared_slots.len(), places };
        let places = vec![Place::EMPTY; places];
        let anonymous = Anonymous::default();
        let mut memory =
            Still { next_xid: xid(all), anonymous, prepared_slots, places, looked: 0 };
        for number in others {
            let place = (xid(number) % sizes.places as u64) as usize;
            memory.places[place].put(xid(number), first(number));
        }
        let result = read(snapshot, Before::default(), sizes, &mut memory);
        prop_assert!(memory.looked <= running.len() + sizes.places.min(later));
        let unseen = (0..all).filter(|n| *n >= seen.len() || !seen[*n]);
        let least = unseen.map(first).min();
        match result {
            Ok(horizon) => {
                prop_assert_eq!(horizon.of_snapshot, least.map_or(5000, |least| least - 1));
            }
            Err(TooOld) => prop_assert!(all > sizes.places, "nothing was taken from any place"),
        }
    }
}
