//! The rules hold in a fleet, and a rule that is left out shows.

use fastrand::Rng;
use snowflake_core::jump::{BootClock, Clocks};
use snowflake_core::register::{Issuer, Writer};
use snowflake_simulation::cluster::{Cluster, LARGEST_STEP, LAYOUT, MARGIN};
use snowflake_simulation::fleet;
use snowflake_simulation::history::History;
use snowflake_simulation::machine::{MILLISECOND, Machine, SECOND};
use snowflake_simulation::options::{NODES, Options, Steps, World};
use snowflake_simulation::report::Report;
use snowflake_simulation::{answers, inversions};

const SEED: u64 = 1;
const IDS: u64 = 10_000_000;

fn run(options: Options) -> Report {
    let report = fleet::run(&options, |_| {});
    println!("seed {}\n{report}", options.seed);
    report
}

/// Few identities, so that much happens to each.
fn few(ids: u64) -> Options {
    Options { nodes: 64, ..Options::new(ids, SEED) }
}

/// Whatever goes wrong in the fleet, no ID comes twice.
#[test]
fn no_id_comes_twice() {
    let report = run(Options::new(IDS, SEED));
    let counts = report.counts;
    assert_eq!(report.nodes, NODES);
    assert!(counts.ids >= IDS);
    assert!(counts.is_sound());
    for happened in [counts.crashes, counts.failovers, counts.restores, counts.hand_overs] {
        assert!(happened > 0);
    }
}

/// The same, for identities to which a hundred things happen each.
#[test]
fn no_id_comes_twice_over_a_long_time() {
    let counts = run(few(4 * IDS)).counts;
    assert!(counts.is_sound());
    assert!(counts.lossy > 0 && counts.refused_starts > 0 && counts.refused_takes > 0);
}

/// A start that looks at the clock alone issues IDs again.
#[test]
fn ignoring_the_record_is_found() {
    let report = run(Options { ignore_record: true, ..few(IDS) });
    assert!(report.counts.duplicates > 0);
}

/// A server that takes over an identity without its floor issues IDs again where its clock is
/// behind, or where the IDs were ahead of the clock.
#[test]
fn ignoring_the_floor_is_found() {
    let report = run(Options { ignore_floor: true, ..few(IDS) });
    assert!(report.counts.duplicates > 0);
}

/// What the formula of a failover excludes does return, although no standby lags by more than the
/// margin and a second, and all clocks are right within 50 ms.
#[test]
fn ignoring_the_formula_is_found() {
    let world = World { steps: Steps::None, ..World::WORST };
    let sound = run(Options { world, ..few(4 * IDS) });
    assert!(sound.counts.is_sound());
    let report = run(Options { world, ignore_formula: true, ..few(4 * IDS) });
    assert!(report.counts.duplicates > 0);
}

/// One way for that to happen: after an idle time, the floor of a standby is behind the IDs that
/// are lost by as much as its primary was idle. The margin does not reach them, however short the
/// lag, and a clock that is behind comes to them again.
#[test]
fn a_short_lag_after_an_idle_time_is_not_covered() {
    let rng = &mut Rng::with_seed(SEED);
    let mut at = 1_800_000_000 * SECOND;
    let [machine, mut standby] = [0; 2].map(|_| Machine::new(rng, at, 0, 0));
    standby.set(at, -SECOND);
    let mut cluster = Cluster::new(rng, at, machine, standby, false);
    cluster.ignores_formula = true;
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

/// After a promotion, and before the first ID, the register lacks the margin. The floor that the
/// server says of itself does not, so it can be handed on.
#[test]
fn a_floor_from_before_the_first_id_has_the_margin() {
    const NOW: i64 = 1_800_000_000_000;
    let clocks = |wall| Clocks { wall, boot: BootClock { boot: 1, elapsed: 0 } };
    let primary = Issuer {
        system_identifier: 1,
        timeline: 1,
        layout: LAYOUT,
        writer: Writer { datacenter_id: 0, worker_id: 0, machine: 1 },
        failover_margin: MARGIN,
        max_backward_step: LARGEST_STEP,
        max_forward_step: Some(LARGEST_STEP),
        start_after: None,
    };
    let received = primary.reservation(NOW, NOW, clocks(NOW), 0).record;
    let lost = received.floor + 1000;
    let promoted = Issuer { timeline: 2, ..primary };
    let behind = lost - 10_000;
    let start_of_next = |start_after| {
        let next = Issuer { system_identifier: 2, timeline: 1, start_after, ..primary };
        next.first_start(behind).expect("within the limits").after
    };
    assert!(start_of_next(promoted.floor(Some(&received))) >= lost);
    assert!(start_of_next(Some(received.floor)) < lost);
}

/// A seed gives the same run.
#[test]
fn a_seed_gives_the_same_run() {
    let options = Options { ignore_record: true, ..few(IDS / 10) };
    assert_eq!(fleet::run(&options, |_| {}), fleet::run(&options, |_| {}));
    let other = Options { seed: SEED + 1, ..options };
    assert_ne!(fleet::run(&options, |_| {}), fleet::run(&other, |_| {}));
}

/// Without steps and faults, IDs of different servers are in order within what their clocks differ
/// by, and a millisecond.
#[test]
fn order_between_servers_is_that_of_their_clocks() {
    let orders = inversions::measure(SEED);
    println!("{}", inversions::table(&orders));
    for (order, spread) in orders.iter().zip([1, 50]) {
        assert!(order.pairs > 100_000);
        assert!(order.beyond((spread * 2 - 1) * MILLISECOND) > 0.0);
        assert_eq!(order.beyond((spread * 2 + 1) * MILLISECOND), 0.0);
    }
}

/// Where servers observe what they are told of, no answer is older than its question.
#[test]
fn no_answer_is_older_than_its_question() {
    let all = answers::measure(SEED);
    println!("{}", answers::table(&all));
    for found in all.iter().filter(|found| found.wrong == 0) {
        assert!(found.older[0] > 0, "clocks that differ by {} ms show nothing", found.spread);
        assert_eq!((found.older[1], found.refused), (0, 0), "{} ms", found.spread);
        assert!(found.lead <= found.limit);
    }
}

/// One clock that is an hour ahead takes nobody along.
#[test]
fn a_clock_that_is_an_hour_ahead_takes_nobody_along() {
    let found = answers::of(SEED, 10, 1);
    assert!(found.refused > 0 && found.lead <= found.limit, "{} ms", found.lead);
    // Answers to its own questions are older than these, and no others are.
    assert_eq!(found.older[1], found.refused);
}
