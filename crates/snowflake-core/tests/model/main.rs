//! A model checker over the promise and the generator, which are those of the extension: every
//! interleaving of two backends, an administrator, standbys, synchronous or not, reservations,
//! clock steps, checkpoints, crashes, restarts, promotions, IDs of other servers that are observed,
//! effects that fail and sessions that end between two effects, within small bounds.
//!
//! [`Design`] switches to designs that are wrong, each in one way: most are sessions that do the
//! effects of the promise in a wrong way. The checker has to find what each of them breaks. What is
//! broken in the promise itself, `tests/mutants` breaks.

mod bounds;
mod checker;
mod driver;
#[path = "../fixtures/effects.rs"]
mod effects;
mod relative;
mod session;
mod turn;
mod world;

use stateright::{Checker, HasDiscoveries, Model};

use bounds::{
    Bounds, Design, RESERVATION, changes, clock_only, confirmed, everything, failovers,
    interrupted, jumps, lags, observed, observed_in_the_lag, observed_with_reuse, promotions,
    queue, queue_and_crash, queue_beside_all, refused, restored, reuse, synchronous,
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
fn whoever_waits_is_next() {
    assert_sound(&[queue, queue_beside_all, queue_and_crash]);
}

#[test]
fn whoever_has_seen_an_id_issues_greater_ones() {
    assert_sound(&[observed, observed_with_reuse]);
}

#[test]
fn the_margin_covers_what_is_observed_in_the_lag() {
    assert_sound(&[observed_in_the_lag]);
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

#[test]
fn a_copy_does_not_forget_its_original() {
    assert_sound(&[restored]);
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

#[test]
fn every_wrong_design_is_found() {
    use Design::*;
    const AGAIN: &str = "an ID came again, or did not increase";
    const TWICE: &str = "an ID was issued twice";
    const JUMPED: &str = "a record follows a clock that jumped, unconfirmed";
    let takes_back = "a record took back what an earlier one had promised (I2)";
    let no_step = "a clock that nobody set back was taken to have stepped";
    let no_burst = "a burst was not allowed as far as max_burst";
    let is_confirmed = "a clock that was confirmed is refused";
    let out_of_date = "a record follows a reading that is out of date";
    let not_greater = "an ID is not greater than one that was observed";
    let too_far = "an ID was followed that was too far ahead of the clock";
    // The clock reaches the last millisecond that is reserved.
    let at_the_record =
        Bounds { moves: &[RESERVATION, -2 * RESERVATION], ..everything(StartAtTheRecord) };
    let with_room = Bounds { last_sequence: 1, ..queue(TakeAStepForTheQueue) };
    let without_a_step = Bounds { moves: &[], ..queue(QueueWithoutABound) };
    for (bounds, broken) in [
        (everything(PublishBeforeFlush), AGAIN),
        (at_the_record, AGAIN),
        (everything(StandbyWithoutRegister), AGAIN),
        (everything(TakeBackWhatIsReserved), takes_back),
        (clock_only(JudgeStaleReadings), no_step),
        (clock_only(HoldReplacesBurst), no_burst),
        (jumps(ForgetTheClocks), JUMPED),
        (jumps(ConfirmInMemory), is_confirmed),
        (jumps(ReserveForOldReadings), out_of_date),
        (failovers(OneMargin), AGAIN),
        (observed_in_the_lag(ForgetTheObservation), AGAIN),
        (synchronous(ForgetTheSynchronousStandby), AGAIN),
        (synchronous(KeepAcknowledgements), AGAIN),
        (lags(ReachLittle), AGAIN),
        (promotions(ForgetTheUpstream), JUMPED),
        (reuse(ForgetWhatWasUsed), TWICE),
        (reuse(NothingWasUsedBefore), TWICE),
        (reuse(ReuseAgain), TWICE),
        (observed_with_reuse(KeepTheRing), not_greater),
        (observed(JudgeBeforeTheLock), too_far),
        (queue(ReturnEarly), "an ID was returned ahead of the clock"),
        (with_room, "a step of the clock was taken for the queue"),
        (without_a_step, "the queue has no bound"),
        (queue(SleepByTheClock), "a session sleeps for longer than the queue is"),
    ] {
        let design = bounds.design;
        let path = check(bounds, HasDiscoveries::AnyOf([PROMISES].into())).discovery(PROMISES);
        let path = path.unwrap_or_else(|| panic!("nothing was found wrong with {design:?}"));
        assert_eq!(path.last_state().broken, Some(broken), "{design:?}");
    }
}
