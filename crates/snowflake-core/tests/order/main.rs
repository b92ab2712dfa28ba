//! A model checker over two servers whose clocks differ, and which tell each other of their IDs:
//! every interleaving of sessions that take IDs and that observe them, steps of the clocks, crashes
//! and failovers, within small bounds. Whoever has seen an ID issues only greater ones, and follows
//! none that its limit forbids. What tells a server of an ID is a message, which stands for a row that
//! is replicated and for a call of the application.
//!
//! [`Design`] switches to designs that are wrong, each in one way, which the checker has to find.

mod bounds;
#[path = "../relative/mod.rs"]
mod relative;
mod server;
mod world;

use snowflake_core::generator::RESERVATION;
use stateright::{Checker, HasDiscoveries, Model};

use bounds::{Bounds, Design, beside_each_other, far_apart};
use server::{NOT_GREATER, TOO_FAR_AHEAD};
use world::PROMISES;

fn check(bounds: Bounds, finish: HasDiscoveries) -> impl Checker<Bounds> {
    bounds.checker().threads(2).finish_when(finish).spawn_bfs().join()
}

#[test]
fn the_design_holds() {
    for world in [far_apart, beside_each_other] {
        let bounds = world(Design::Sound);
        let checker = check(bounds, HasDiscoveries::All);
        println!("{} states of {bounds:?}", checker.unique_state_count());
        checker.assert_properties();
    }
}

#[track_caller]
fn assert_found(bounds: Bounds, broken: &'static str) {
    let checker = check(bounds, HasDiscoveries::AnyOf([PROMISES].into()));
    let path = checker
        .discovery(PROMISES)
        .unwrap_or_else(|| panic!("nothing was found wrong with {:?}", bounds.design));
    assert_eq!(path.last_state().broken, Some(broken));
}

#[test]
fn a_floor_that_is_not_durable_is_found() {
    assert_found(far_apart(Design::RaiseBeforeTheFlush), NOT_GREATER);
}

#[test]
fn a_limit_that_is_judged_before_the_lock_is_found() {
    let bounds = Bounds { crashes: 0, failovers: 0, ..far_apart(Design::JudgeBeforeTheLock) };
    let bounds = Bounds { moves: &[-2 * RESERVATION], clock_moves: 1, ..bounds };
    assert_found(bounds, TOO_FAR_AHEAD);
}

#[test]
fn an_observation_that_a_stale_reading_undoes_is_found() {
    assert_found(beside_each_other(Design::StaleReadingsUndo), NOT_GREATER);
}

#[test]
fn a_ring_that_remembers_is_found() {
    assert_found(beside_each_other(Design::KeepTheRing), NOT_GREATER);
}
