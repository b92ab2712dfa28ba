//! Property tests of the deleted IDs: they are compared with a set that forgets nothing.

use std::collections::BTreeSet;

use proptest::prelude::*;
use snowflake_core::fleet::deleted::{self, Deleted};

const KEPT: usize = 8;

/// A server keeps a minute of 800 deleted rows a second.
const _: () = assert!(deleted::KEPT / 4 * 3 >= 60 * 800);

/// Asserts the promises at the top of `src/deleted.rs`.
fn check(ids: impl IntoIterator<Item = i64>) -> Result<(), TestCaseError> {
    let (mut deleted, mut all) = (Deleted::<KEPT>::new(), BTreeSet::new());
    for id in ids {
        deleted.keep(id);
        all.insert(id);
        let forgotten = deleted.forgotten();
        for id in &all {
            prop_assert!(deleted.might_contain(*id), "{} was lost", id);
        }
        for id in (-60..60).filter(|id| *id > forgotten) {
            prop_assert_eq!(deleted.might_contain(id), all.contains(&id), "{}", id);
        }
        let kept = all.iter().filter(|id| **id > forgotten).count();
        prop_assert!(kept <= KEPT && kept >= all.len().min(KEPT * 3 / 4), "{} kept", kept);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_was_deleted_seems_new(ids in prop::collection::vec(-50..50i64, 0..100)) {
        check(ids)?;
    }

    /// Two workers, each of which deletes in ascending order.
    #[test]
    fn the_order_of_two_workers_does_not_matter(first in prop::collection::vec(any::<bool>(), 0..90)) {
        let mut next = [0, 1];
        check(first.into_iter().map(|first| {
            let id = &mut next[usize::from(first)];
            *id += 2;
            *id - 52
        }))?;
    }
}

#[test]
fn the_ends_of_the_range_are_ids() {
    let mut deleted = Deleted::<KEPT>::new();
    assert!(!deleted.might_contain(i64::MAX) && !deleted.might_contain(0));
    deleted.keep(i64::MAX);
    deleted.keep(0);
    assert!(deleted.might_contain(i64::MAX) && deleted.might_contain(0));
    assert!(!deleted.might_contain(1));
}
