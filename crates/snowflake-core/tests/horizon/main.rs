//! A model checker over sessions with open transactions and a reader: every interleaving of claims,
//! commits whose visibility comes after their record, rollbacks, parallel workers, and prepared
//! transactions, within small bounds. A row that the reader's snapshot does not see has no ID up to
//! the horizon that the reader finds, and what he finds later is not below it.
//!
//! [`Design`] switches to designs that are wrong, each in one way, which the checker has to find.

mod places;
mod world;

use stateright::{Checker, HasDiscoveries, Model};

use world::{Design, PROMISES};

fn check(design: Design, finish: HasDiscoveries) -> impl Checker<Design> {
    design.checker().threads(2).finish_when(finish).spawn_bfs().join()
}

#[test]
fn the_design_holds() {
    let checker = check(Design::Sound, HasDiscoveries::All);
    println!("{} states", checker.unique_state_count());
    assert!(checker.unique_state_count() > 10_000);
    checker.assert_properties();
}

#[test]
fn every_wrong_design_is_found() {
    use Design::*;
    for design in [
        ClearedBeforeVisible,
        WrittenAfterTheClaim,
        LastReadAfterTheSlots,
        LeaderForgotten,
        ClearedBeforeHeld,
        SnapshotIgnored,
        TakenWithoutATrace,
        NotHeld,
    ] {
        let checker = check(design, HasDiscoveries::AnyOf([PROMISES].into()));
        assert!(checker.discovery(PROMISES).is_some(), "nothing was found wrong with {design:?}");
    }
}
