//! A model checker over sessions with open transactions and a reader: every interleaving of claims,
//! commits whose visibility comes after their record, rollbacks, parallel workers, prepared
//! transactions, and rows that another transaction inserts, within small bounds. A row that the
//! reader's snapshot does not see has no ID up to the horizon that the reader finds, and what he
//! finds later is not below it.
//!
//! [`Design`] switches to designs that are wrong, each in one way, which the checker has to find.

mod places;
mod world;

use stateright::{Checker, HasDiscoveries, Model};

use world::{Bounds, Design, PROMISES};

fn check(bounds: Bounds, finish: HasDiscoveries) -> impl Checker<Bounds> {
    bounds.checker().threads(2).finish_when(finish).spawn_bfs().join()
}

#[test]
fn the_design_holds() {
    // Two sessions and two readings would be 4,500,145 states.
    for (sessions, readings, ids, elsewhere) in
        [(2, 1, 2, false), (1, 2, 2, false), (2, 1, 1, true), (1, 2, 2, true)]
    {
        let bounds = Bounds { design: Design::Sound, sessions, readings, ids, elsewhere };
        let checker = check(bounds, HasDiscoveries::All);
        println!("{} states of {bounds:?}", checker.unique_state_count());
        assert!(checker.unique_state_count() > 10_000);
        checker.assert_properties();
    }
}

#[test]
fn every_wrong_design_is_found() {
    use Design::*;
    let alone = [
        ClearedBeforeVisible,
        WrittenAfterTheClaim,
        LastReadAfterTheSlots,
        LeaderForgotten,
        ClearedBeforeHeld,
        SnapshotIgnored,
        TakenWithoutATrace,
        NotHeld,
    ];
    let with_others =
        [NotCounted, ClearedBeforeCounted, AnonymousReadBeforeTheSlots, RolledBackForgotten];
    let alone = alone.map(|design| (design, false));
    for (design, elsewhere) in alone.into_iter().chain(with_others.map(|design| (design, true))) {
        let ids = if elsewhere { 1 } else { 2 };
        let bounds = Bounds { design, sessions: 2, readings: 1, ids, elsewhere };
        let checker = check(bounds, HasDiscoveries::AnyOf([PROMISES].into()));
        assert!(checker.discovery(PROMISES).is_some(), "nothing was found wrong with {design:?}");
    }
}
