//! A model checker over the machine of the promise and the generator, which are those of the
//! extension: every interleaving of two backends, an administrator, standbys, synchronous or not,
//! reservations, clock steps, checkpoints, crashes, restarts, promotions, effects that fail and
//! sessions that end between two effects, within small bounds.
//!
//! [`Design`] switches to designs that are wrong, each in one way: most are sessions that do what the
//! machine asks for in a wrong way. The checker has to find what each of them breaks. What is broken
//! in the machine itself, `tests/mutants` breaks.

mod bounds;
mod checker;
mod driver;
#[path = "../relative/mod.rs"]
mod relative;
mod session;
mod world;

use snowflake_core::generator::RESERVATION;
use stateright::{Checker, HasDiscoveries, Model};

use bounds::{
    Bounds, Design, changes, clock_only, confirmed, everything, failovers, interrupted, jumps,
    lags, promotions, refused, reuse, synchronous,
};
use checker::PROMISES;

fn check(bounds: Bounds, finish: HasDiscoveries) -> impl Checker<Bounds> {
    bounds.checker().threads(2).finish_when(finish).spawn_bfs().join()
}

#[test]
fn the_design_holds() {
    assert_sound(&[everything, clock_only, jumps, failovers, synchronous, lags, promotions, reuse]);
}

#[test]
fn whatever_fails_between_two_effects_the_design_holds() {
    assert_sound(&[interrupted, confirmed]);
}

#[test]
fn a_floor_that_is_set_is_no_confirmation_of_the_clock() {
    assert_sound(&[refused]);
}

#[test]
fn a_confirmed_layout_or_system_brings_no_id_back() {
    assert_sound(&[changes]);
}

#[track_caller]
fn assert_sound(worlds: &[fn(Design) -> Bounds]) {
    for world in worlds {
        let bounds = world(Design::Sound);
        let checker = check(bounds, HasDiscoveries::All);
        println!("{} states of {bounds:?}", checker.unique_state_count());
        checker.assert_properties();
    }
}

#[track_caller]
fn assert_found(bounds: Bounds, broken: Option<&'static str>) {
    let checker = check(bounds, HasDiscoveries::AnyOf([PROMISES].into()));
    let path = checker
        .discovery(PROMISES)
        .unwrap_or_else(|| panic!("nothing was found wrong with {:?}", bounds.design));
    assert_eq!(path.last_state().broken, broken);
}

const AGAIN: Option<&str> = Some("an ID came again, or did not increase");

#[test]
fn publishing_before_the_flush_is_found() {
    assert_found(everything(Design::PublishBeforeFlush), AGAIN);
}

#[test]
fn starting_at_the_record_is_found() {
    // The clock reaches the last millisecond that is reserved.
    let bounds =
        Bounds { moves: &[RESERVATION, -2 * RESERVATION], ..everything(Design::StartAtTheRecord) };
    assert_found(bounds, AGAIN);
}

#[test]
fn a_standby_without_the_register_is_found() {
    assert_found(everything(Design::StandbyWithoutRegister), AGAIN);
}

#[test]
fn a_record_that_takes_back_is_found() {
    assert_found(
        everything(Design::TakeBackWhatIsReserved),
        Some("a record took back what an earlier one had promised (I2)"),
    );
}

#[test]
fn judging_by_stale_readings_is_found() {
    assert_found(
        clock_only(Design::JudgeStaleReadings),
        Some("a clock that nobody set back was taken to have stepped"),
    );
}

#[test]
fn a_hold_that_switches_max_burst_off_is_found() {
    assert_found(
        clock_only(Design::HoldReplacesBurst),
        Some("a burst was not allowed as far as max_burst"),
    );
}

#[test]
fn a_start_that_forgets_the_clocks_is_found() {
    assert_found(
        jumps(Design::ForgetTheClocks),
        Some("a record follows a clock that jumped, unconfirmed"),
    );
}

#[test]
fn a_confirmation_that_is_forgotten_is_found() {
    assert_found(jumps(Design::ConfirmInMemory), Some("a clock that was confirmed is refused"));
}

#[test]
fn reserving_for_old_readings_is_found() {
    assert_found(
        jumps(Design::ReserveForOldReadings),
        Some("a record follows a reading that is out of date"),
    );
}

#[test]
fn a_margin_that_is_lost_over_two_failovers_is_found() {
    assert_found(failovers(Design::OneMargin), AGAIN);
}

#[test]
fn an_id_that_no_standby_knows_of_is_found() {
    assert_found(synchronous(Design::ForgetTheSynchronousStandby), AGAIN);
}

#[test]
fn an_acknowledgement_that_outlives_the_set_of_standbys_is_found() {
    assert_found(synchronous(Design::KeepAcknowledgements), AGAIN);
}

#[test]
fn a_reservation_that_reaches_little_is_found() {
    assert_found(lags(Design::ReachLittle), AGAIN);
}

#[test]
fn a_promotion_that_forgets_its_upstream_is_found() {
    assert_found(
        promotions(Design::ForgetTheUpstream),
        Some("a record follows a clock that jumped, unconfirmed"),
    );
}

const TWICE: Option<&str> = Some("an ID was issued twice");

#[test]
fn reuse_of_what_nobody_recorded_is_found() {
    assert_found(reuse(Design::ForgetWhatWasUsed), TWICE);
}

#[test]
fn reuse_from_before_it_was_switched_on_is_found() {
    assert_found(reuse(Design::NothingWasUsedBefore), TWICE);
}

#[test]
fn issuing_what_was_reused_again_is_found() {
    assert_found(reuse(Design::ReuseAgain), TWICE);
}
