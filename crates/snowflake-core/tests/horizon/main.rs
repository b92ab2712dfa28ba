//! A model checker over sessions with open transactions and a reader: every interleaving of claims,
//! commits whose visibility comes after their record, rollbacks, parallel workers, and prepared
//! transactions, within small bounds. A row that the reader's snapshot does not see has no ID up to
//! the horizon that the reader finds, and what he finds later is not below it.
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
    let bounds = Bounds::new(Design::Sound);
    let checker = check(bounds, HasDiscoveries::All);
    println!("{} states", checker.unique_state_count());
    assert!(checker.unique_state_count() > 10_000);
    checker.assert_properties();
}

#[track_caller]
fn assert_found(design: Design) {
    let checker = check(Bounds::new(design), HasDiscoveries::AnyOf([PROMISES].into()));
    assert!(checker.discovery(PROMISES).is_some(), "nothing was found wrong with {design:?}");
}

#[test]
fn a_slot_that_is_cleared_before_the_row_is_visible_is_found() {
    assert_found(Design::ClearedBeforeVisible);
}

#[test]
fn a_slot_that_is_written_after_the_claim_is_found() {
    assert_found(Design::WrittenAfterTheClaim);
}

#[test]
fn a_last_id_that_is_read_after_the_slots_is_found() {
    assert_found(Design::LastReadAfterTheSlots);
}

#[test]
fn a_worker_that_forgets_its_leader_is_found() {
    assert_found(Design::LeaderForgotten);
}

#[test]
fn a_slot_that_is_cleared_before_the_prepared_slot_is_written_is_found() {
    assert_found(Design::ClearedBeforeHeld);
}

#[test]
fn a_reader_that_ignores_the_snapshot_is_found() {
    assert_found(Design::SnapshotIgnored);
}

#[test]
fn a_place_that_is_taken_without_a_trace_is_found() {
    assert_found(Design::TakenWithoutATrace);
}

#[test]
fn a_prepared_transaction_without_a_prepared_slot_is_found() {
    assert_found(Design::NotHeld);
}
