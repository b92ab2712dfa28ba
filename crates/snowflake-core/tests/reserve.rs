//! Property tests of the reserve of memory: it is compared with a list of the pieces that are in
//! use.

use std::ops::Range;

use proptest::prelude::*;
use snowflake_core::reserve::Reserve;

const UNITS: usize = 32;

#[derive(Clone, Debug)]
enum Act {
    /// A count of units, and the logarithm of the alignment.
    Take(usize, u32),
    /// The piece that is given back, of those that are in use.
    GiveBack(prop::sample::Index),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (1..UNITS / 2, 0..4_u32).prop_map(|(count, alignment)| Act::Take(count, alignment)),
        2 => any::<prop::sample::Index>().prop_map(Act::GiveBack),
    ]
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Asserts the promises at the top of `src/reserve.rs`.
    #[test]
    fn pieces_are_apart_and_none_is_refused_that_fits(acts in prop::collection::vec(act(), 0..60)) {
        let (mut reserve, mut pieces) = (Reserve::<UNITS>::new(), Vec::<Range<usize>>::new());
        for act in acts {
            match act {
                Act::Take(count, alignment) => {
                    let fits = |first: &usize| {
                        let piece = *first..first + count;
                        piece.end <= UNITS && !pieces.iter().any(|other| overlap(other, &piece))
                    };
                    let first = (0..UNITS).step_by(1 << alignment).find(fits);
                    prop_assert_eq!(reserve.take(count, 1 << alignment), first);
                    pieces.extend(first.map(|first| first..first + count));
                }
                Act::GiveBack(_) if pieces.is_empty() => {}
                Act::GiveBack(piece) => {
                    let piece = pieces.swap_remove(piece.index(pieces.len()));
                    reserve.give_back(piece.start, piece.len());
                }
            }
        }
        for piece in pieces {
            reserve.give_back(piece.start, piece.len());
        }
        prop_assert_eq!(reserve.take(UNITS, 1), Some(0));
    }
}

#[test]
fn more_than_there_is_is_refused() {
    let mut reserve = Reserve::<UNITS>::new();
    for count in [UNITS + 1, usize::MAX] {
        assert_eq!(reserve.take(count, 1), None);
    }
    assert_eq!(reserve.take(1, 1), Some(0));
    assert_eq!(reserve.take(1, usize::MAX / 2 + 1), None);
    assert_eq!(reserve.take(UNITS - 1, 1), Some(1));
}
