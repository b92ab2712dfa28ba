//! Members that keep their numbers: no ID comes again under the condition that `docs/operations.md`
//! gives for a failover, and designs that are wrong by little are found.

use snowflake_core::generator::RESERVATION;
use snowflake_core::time::Span;
use snowflake_simulation::members::{Design, Happening, MEMBERS, Members, Rules, live};
use snowflake_simulation::seed;
use stateright::{Checker, HasDiscoveries, Model, Property};

/// The most events of each kind.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    rules: Rules,
    ids: u8,
    promotions: u8,
    rewinds: u8,
    sends: u8,
    clock_moves: u8,
    moves: &'static [Span],
    passes: u8,
    /// Restarts, observed IDs, and floors that are set.
    administrations: u8,
}

const MARGIN: Span = Span(2);

/// After this, the floor of an idle primary is behind the clock.
const LONG: Span = Span(RESERVATION.0 + 1000);

const RULES: Rules = Rules {
    design: Design::Sound,
    margin: MARGIN,
    max_observed_lead: Span::ZERO,
    last_sequence: 0,
};

/// A clock that is set back exactly as far as a reservation and the margin reach, less one, and
/// further.
const MOVES: &[Span] = &[Span(-RESERVATION.0 - MARGIN.0 - 1), Span(-2 * LONG.0)];

/// Two promotions, to and fro or in a round.
const BOUNDS: Bounds = Bounds {
    rules: RULES,
    ids: 3,
    promotions: 2,
    rewinds: 1,
    sends: 1,
    clock_moves: 1,
    moves: MOVES,
    passes: 1,
    administrations: 0,
};

/// Three promotions, to and fro or in a round.
const ROUND: Bounds = Bounds {
    ids: 3,
    promotions: 3,
    rewinds: 2,
    sends: 1,
    moves: &[Span(-2 * LONG.0)],
    passes: 0,
    ..BOUNDS
};

/// A restart, an observed ID or a floor that is set.
const AHEAD: Bounds = Bounds {
    rules: Rules { max_observed_lead: LONG, ..RULES },
    ids: 2,
    administrations: 1,
    moves: &[Span(-2 * LONG.0)],
    passes: 0,
    ..BOUNDS
};

type State = (Members, [u8; 7]);

impl Model for Bounds {
    type State = State;
    type Action = Happening;

    fn init_states(&self) -> Vec<State> {
        let left = [
            self.ids,
            self.promotions,
            self.rewinds,
            self.sends,
            self.administrations,
            self.clock_moves,
            self.passes,
        ];
        vec![(Members::new(self.rules), left)]
    }

    fn actions(&self, (members, left): &State, actions: &mut Vec<Happening>) {
        use Happening::*;
        let mut all = vec![Pass(LONG)];
        for member in 0..MEMBERS {
            all.extend([Take(member), Send(member), Promote(member), Work(member)]);
            all.push(Rewind(member));
            all.extend(self.moves.iter().map(|by| Move(member, *by)));
            if self.administrations > 0 {
                all.extend([Restart(member), Observe(member, LONG), SetFloor(member, LONG)]);
            }
        }
        let is_left = |happening: &Happening| counted(happening).is_none_or(|of| left[of] > 0);
        let is_possible = |happening: &Happening| members.is_possible(*happening);
        if members.again.is_none() {
            actions.extend(all.into_iter().filter(|it| is_left(it) && is_possible(it)));
        }
    }

    fn next_state(&self, (members, left): &State, happening: Happening) -> Option<State> {
        let (mut members, mut left) = (members.clone(), *left);
        members.happen(happening);
        if let Some(of) = counted(&happening) {
            left[of] -= 1;
        }
        Some((members, left))
    }

    fn properties(&self) -> Vec<Property<Bounds>> {
        let holds = |_: &Bounds, (members, _): &State| members.again.is_none();
        vec![Property::always(AGAIN, holds)]
    }
}

const AGAIN: &str = "each ID of a member is greater than all that it issued before";

/// Which of the bounds counts it.
fn counted(happening: &Happening) -> Option<usize> {
    use Happening::*;
    Some(match happening {
        Take(_) => 0,
        Promote(_) => 1,
        Rewind(_) => 2,
        Send(_) => 3,
        Restart(_) | Observe(..) | SetFloor(..) => 4,
        Move(..) => 5,
        Pass(_) => 6,
        Work(_) => return None,
    })
}

fn check(bounds: Bounds) -> impl Checker<Bounds> {
    bounds.checker().threads(2).finish_when(HasDiscoveries::Any).spawn_bfs().join()
}

#[test]
fn members_keep_their_numbers() {
    for bounds in [BOUNDS, ROUND, AHEAD] {
        let checker = check(bounds);
        println!("{} states of {bounds:?}", checker.unique_state_count());
        checker.assert_properties();
    }
}

#[test]
fn designs_that_are_wrong_by_little_are_found() {
    use Design::*;
    for design in [NoReservation, ClockOfTheLastId, ReachOneLess, NoCondition] {
        let rules = Rules { design, ..RULES };
        let found = check(Bounds { rules, ..BOUNDS }).discovery(AGAIN);
        let path = found.unwrap_or_else(|| panic!("nothing was found wrong with {design:?}"));
        println!("{design:?}: {:?}", path.into_actions());
    }
}

/// The same in a long life, with the default margin.
#[test]
fn members_keep_their_numbers_over_a_long_time() {
    let rules =
        Rules { margin: Span(5000), max_observed_lead: Span(10_000), last_sequence: 3, ..RULES };
    let mut waits = 0;
    let seed = seed();
    for life in 0..8 {
        let lived = live(rules, seed ^ life, 1_000_000);
        println!("{lived:?}");
        assert_eq!(lived.again, 0);
        assert!(lived.promotions > 1000 && lived.lost > 1000, "{lived:?}");
        waits += lived.waits;
    }
    assert!(waits > 0);
    for design in [Design::NoReservation, Design::ClockOfTheLastId, Design::NoCondition] {
        let lived = live(Rules { design, ..rules }, seed, 4_000_000);
        println!("{design:?}: {lived:?}");
        assert!(lived.again > 0, "{design:?}");
    }
}
