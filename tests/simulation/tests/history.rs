//! How IDs are kept, against a set of them.

use std::collections::HashSet;

use snowflake_core::generator::Run;
use snowflake_simulation::history::History;

/// Random runs, most of them ahead and some far back, counted as a set of IDs counts them.
#[test]
fn counts_as_a_set_does() {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..200 {
        let (mut history, mut set) = (History::default(), HashSet::new());
        let mut timestamp = History::BASE + 1000;
        for _ in 0..500 {
            timestamp += rng.i64(0..3) - if rng.u8(..) < 5 { rng.i64(0..100) } else { 0 };
            let first = rng.u32(0..20);
            let run = Run { timestamp, first, count: rng.u32(1..6) };
            let ids = (first..first + run.count).map(|sequence| (timestamp, sequence));
            let again = ids.filter(|id| !set.insert(*id)).count() as u64;
            assert_eq!(history.add(run), again);
        }
    }
}
