//! What stands in the way of widening, before anything is touched.

use snowflake_server::spi::PlannedQuery;

use super::unit::Unit;
use crate::obstacle::Obstacle;
use crate::trust;

/// The query that finds what stands in the way.
const OBSTACLES: &str = concat!(
    include_str!("../keys.sql"),
    include_str!("../depending.sql"),
    include_str!("../objects.sql"),
    include_str!("../bound.sql"),
    include_str!("executed.sql"),
    include_str!("../trust.sql"),
    include_str!("../rebuilt.sql"),
    include_str!("../plan/obstacles.sql"),
    include_str!("../plan/type_obstacles.sql"),
    include_str!("shadows.sql"),
    include_str!("obstacles.sql")
);

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(OBSTACLES) };
}

impl Unit {
    /// What stands in the way at any time. The first is the one to report.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let rows = QUERY.with(|query| query.rows_of(&self.arguments()));
        rows.into_iter().map(trust::obstacle).collect()
    }
}
