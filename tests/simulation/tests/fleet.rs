//! The rules hold in a fleet, and a rule that is left out shows.

use std::collections::HashSet;

use fastrand::Rng;
use snowflake_core::generator::Run;
use snowflake_core::time::Span;
use snowflake_simulation::cluster::Cluster;
use snowflake_simulation::fleet;
use snowflake_simulation::history::History;
use snowflake_simulation::machine::{MILLISECOND, Machine, SECOND};
use snowflake_simulation::options::{Ignored, Options, Steps, World};
use snowflake_simulation::report::Counts;
use snowflake_simulation::{answers, inversions, seed};

const IDS: u64 = 10_000_000;

fn run(options: Options) -> Counts {
    let counts = fleet::run(&options, |_, _| {});
    println!("{options:?}\n{counts:?}");
    counts
}

/// Few identities, so that much happens to each.
fn few(ids: u64) -> Options {
    Options { nodes: 64, ..Options::new(ids, seed()) }
}

/// Whatever goes wrong in the fleet, no ID comes twice.
#[test]
fn no_id_comes_twice() {
    let counts = run(Options::new(IDS, seed()));
    assert!(counts.ids >= IDS);
    assert!(counts.is_sound());
    for happened in [counts.crashes, counts.failovers, counts.restores, counts.hand_overs] {
        assert!(happened > 0);
    }
}

/// The same, for identities to which a hundred things happen each.
#[test]
fn no_id_comes_twice_over_a_long_time() {
    let counts = run(few(4 * IDS));
    assert!(counts.is_sound());
    assert!(counts.lossy > 0 && counts.refused_starts > 0 && counts.refused_takes > 0);
}

/// A start that looks at the clock alone issues IDs again.
#[test]
fn ignoring_the_record_is_found() {
    assert!(run(Options { ignored: Ignored::Record, ..few(IDS) }).duplicates > 0);
}

/// A server that takes over an identity without its floor issues IDs again where its clock is
/// behind, or where the IDs were ahead of the clock.
#[test]
fn ignoring_the_floor_is_found() {
    assert!(run(Options { ignored: Ignored::Floor, ..few(IDS) }).duplicates > 0);
}

/// IDs that the formula of a failover excludes do return, although no standby lags by more than the
/// margin and a second, and all clocks are right within 50 ms.
#[test]
fn ignoring_the_formula_is_found() {
    let world = World { steps: Steps::None, ..World::WORST };
    let options = Options { world, ..few(4 * IDS) };
    assert!(run(options).is_sound());
    assert!(run(Options { ignored: Ignored::Formula, ..options }).duplicates > 0);
}

/// One way for that to happen: after an idle time, the floor of a standby is behind the IDs that
/// are lost by as much as its primary was idle. The margin does not reach them, however short the
/// lag, and a clock that is behind comes to them again.
#[test]
fn a_short_lag_after_an_idle_time_is_not_covered() {
    let rng = &mut Rng::with_seed(seed());
    let mut at = 1_800_000_000 * SECOND;
    let [machine, mut standby] = [0; 2].map(|_| Machine::new(rng, at, 0, 0));
    standby.set(at, -SECOND);
    let mut cluster = Cluster::new(rng, at, machine, standby, false);
    cluster.ignored = Ignored::Formula;
    let mut history = History::default();
    history.add(cluster.take(rng, &mut at, None, 1).expect("an ID"));
    at += 3600 * SECOND;
    let lost = cluster.take(rng, &mut at, None, 1).expect("an ID");
    history.add(lost);
    assert!(cluster.fail_over(rng, at, 10 * MILLISECOND, history.highest()));
    let mut duplicates = history.add(cluster.take(rng, &mut at, None, 1).expect("an ID"));
    assert_eq!(duplicates, 0);
    at = cluster.machine.when(lost.timestamp, at);
    duplicates += history.add(cluster.take(rng, &mut at, None, 1).expect("an ID"));
    assert_eq!(duplicates, 1);
}

/// A seed gives the same run.
#[test]
fn a_seed_gives_the_same_run() {
    let options = Options { ignored: Ignored::Record, ..few(IDS / 10) };
    assert_eq!(run(options), run(options));
    assert_ne!(run(options), run(Options { seed: !options.seed, ..options }));
}

/// Without steps and faults, IDs of different servers are in order within what their clocks differ
/// by, and a millisecond.
#[test]
fn order_between_servers_is_that_of_their_clocks() {
    for (order, spread) in inversions::measure(seed()).iter().zip([1, 50]) {
        assert!(order.pairs > 100_000);
        assert!(order.beyond((spread * 2 - 1) * MILLISECOND) > 0.0);
        assert_eq!(order.beyond((spread * 2 + 1) * MILLISECOND), 0.0);
    }
}

/// Where servers observe what they are told of, no answer is older than its question.
#[test]
fn no_answer_is_older_than_its_question() {
    for spread in answers::SPREADS {
        let [without, with] =
            [false, true].map(|observe| answers::measure(seed(), spread, 0, observe));
        assert!(without.older > 0, "{without:?}");
        assert_eq!((with.older, with.refused), (0, 0), "{with:?}");
        assert!(Some(with.lead) <= with.limit, "{with:?}");
    }
}

/// One clock that is an hour ahead takes nobody along.
#[test]
fn a_clock_that_is_an_hour_ahead_takes_nobody_along() {
    let found = answers::measure(seed(), 10, 1, true);
    assert!(found.refused > 0 && Some(found.lead) <= found.limit, "{found:?}");
    // Answers to its own questions are older than these, and no others are.
    assert_eq!(found.older, found.refused);
}

/// The history of IDs, against a set of them: random runs, most of them ahead and some far back.
#[test]
fn a_history_counts_as_a_set_does() {
    let mut rng = Rng::with_seed(seed());
    for _ in 0..200 {
        let (mut history, mut set) = (History::default(), HashSet::new());
        let mut timestamp = History::BASE + Span(1000);
        for _ in 0..500 {
            timestamp += Span(rng.i64(0..3) - if rng.u8(..) < 5 { rng.i64(0..100) } else { 0 });
            let first = rng.u32(0..20);
            let run = Run { timestamp, first, count: rng.u32(1..6) };
            let ids = (first..first + run.count).map(|sequence| (timestamp, sequence));
            let again = ids.filter(|id| !set.insert(*id)).count() as u64;
            assert_eq!(history.add(run), again);
        }
    }
}
