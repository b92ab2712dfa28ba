//! What stands in the way of widening, before anything is touched.

use snowflake_server::spi::PlannedQuery;

use super::unit::Unit;
use crate::obstacle::Obstacle;
use crate::trial::{Outcome, Reach};
use crate::trust;

/// The query that finds what stands in the way.
const OBSTACLES: &str = concat!(
    include_str!("../keys.sql"),
    include_str!("../depending.sql"),
    include_str!("../objects.sql"),
    include_str!("../bound.sql"),
    include_str!("executed.sql"),
    include_str!("../trust.sql"),
    include_str!("../stand_ins.sql"),
    include_str!("../rebuilt.sql"),
    include_str!("../plan/obstacles.sql"),
    include_str!("../plan/type_obstacles.sql"),
    include_str!("key_indexes.sql"),
    include_str!("shadows.sql"),
    include_str!("obstacles.sql")
);

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(OBSTACLES) };
}

/// A key that the tests of a conversion are made for. Only those count in which it has no part.
const SOME_KEY: i64 = 1 << 40;

impl Unit {
    /// What stands in the way at any time. The first is the one to report.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let rows = QUERY.with(|query| query.rows_of(&self.arguments()));
        rows.into_iter().map(trust::obstacle).collect()
    }

    /// What would hold back a later statement: that of the swap, or one with an expression that means
    /// nothing, or something else, for columns of type bigint.
    pub fn later_obstacles(&self) -> Vec<Obstacle> {
        let mut obstacles = self.swap().err().unwrap_or_default();
        let Some(owner) = self.owner() else { return obstacles };
        let answer = self.plan.ask(Some(SOME_KEY));
        let tests = answer.tests.into_iter().chain(answer.risky_tests);
        for test in tests.filter(|test| test.parsed.is_some()) {
            if let Outcome::Failed(obstacle) = test.outcome(&owner, Reach::Plain) {
                obstacles.push(obstacle);
            }
        }
        obstacles
    }
}
