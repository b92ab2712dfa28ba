//! What is to be known before a key is widened.

use pgrx::prelude::*;
use snowflake_server::spi::PlannedQuery;

use super::step::of_constraints;
use super::unit::Unit;
use crate::finding::Finding;
use crate::obstacle::Obstacle;
use crate::usage::{self, Usage};
use crate::views;

/// The query that finds risks and changes.
const REPORT: &str = of_constraints!("../objects.sql", "report.sql");

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(REPORT) };
}

impl Unit {
    /// All findings: obstacles, then risks, then changes.
    pub fn report(&self) -> Vec<Finding> {
        let mut obstacles = self.obstacles();
        obstacles.extend(self.later_obstacles());
        let denied = PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE;
        let is_denied = |obstacle: &Obstacle| obstacle.sqlstate == denied;
        // The texts of views are parsed as their owner.
        let of_views = match self.owner() {
            Some(owner) if !obstacles.iter().any(is_denied) => {
                views::findings(&owner, &self.plan.arguments(None))
            }
            _ => Vec::new(),
        };
        let used = usage::of(Some(&[self.relation()]));
        let used = used.iter().filter_map(Usage::risk).map(|risk| Finding {
            remedy: risk.remedy.map(|_| "Widen it before that.".into()),
            ..risk
        });
        let rows = QUERY.with(|query| query.rows_of(&self.arguments_of_steps(0)));
        let (changes, risks): (Vec<Finding>, Vec<Finding>) =
            rows.into_iter().map(Finding::of_row).partition(|finding| finding.kind == "change");
        let obstacles = obstacles.into_iter().map(|obstacle| Finding::of("obstacle", obstacle));
        let mut found: Vec<Finding> = obstacles.chain(of_views).chain(used).chain(risks).collect();
        found.sort_by_key(|finding| finding.kind != "obstacle");
        found.extend(changes);
        found
    }
}
