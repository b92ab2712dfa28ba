//! Everything that a conversion might run into, and what it locks.

use pgrx::prelude::*;
use snowflake_server::spi::PlannedQuery;

use super::dependents::recreation;
use super::finding::Finding;
use super::functions::of_functions;
use super::keys::Keys;
use super::obstacle::Obstacle;
use super::plan::{Direction, Plan};
use super::trial::{Outcome, Reach};
use super::usage::{self, Usage};
use super::views;

/// The query that finds risks for applications, and tables that are changed.
const REPORT: &str = of_functions!("takers.sql", "narrow_casts.sql", "key_risks.sql", "report.sql");

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(REPORT) };
}

/// All findings on keys: obstacles first, and among these what belongs to others; then risks, then
/// changes. Where there are no such keys, there is no report.
pub fn of(keys: Keys) -> Result<Vec<Finding>, Obstacle> {
    let plan = Plan {
        keys,
        direction: Direction::Convert,
        recreate: false,
        validate: false,
        is_report: true,
        with_functions: false,
        acknowledged: None,
    };
    let next = plan.keys.generator.id_of_now();
    let mut answer = plan.ask(Some(next));
    let Some(owner) = answer.owner() else { return Err(answer.obstacles.swap_remove(0)) };
    let arguments = plan.arguments(Some(next));
    let times = [1, 1 << 53].map(|id| plan.keys.generator.time_of(id));
    let properties = answer.properties();
    answer.obstacles.extend(properties.obstacles);
    let denied = PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE;
    let is_denied = |obstacle: &Obstacle| obstacle.sqlstate == denied;
    let (mut risks, mut untried, mut of_views) = (Vec::new(), Vec::new(), Vec::new());
    // What the tables hold is read as their owner.
    if !answer.obstacles.iter().any(is_denied) {
        let mut sort = |outcome, failed: &mut Vec<Obstacle>| match outcome {
            Outcome::Passed => {}
            Outcome::Failed(obstacle) => failed.push(obstacle),
            Outcome::Untried(obstacle) => untried.push(obstacle),
        };
        for values in answer.values.iter().filter(|values| values.has_index) {
            sort(values.outcome(Some(next), &owner, Reach::Plain), &mut answer.obstacles);
        }
        for test in answer.tests {
            sort(test.outcome(&owner, Reach::Plain), &mut answer.obstacles);
        }
        for test in answer.risky_tests {
            sort(test.outcome(&owner, Reach::Plain), &mut risks);
        }
        of_views = views::findings(&owner, &arguments);
    }
    answer.obstacles.extend(recreation(&arguments).obstacles);
    answer.obstacles.sort_by_key(|obstacle| !is_denied(obstacle));
    let obstacles = answer.obstacles.into_iter().map(|obstacle| Finding::of("obstacle", obstacle));
    let risks = risks.into_iter().map(|risk| Finding::of("risk", risk));
    let untried = untried.into_iter().map(|obstacle| Finding {
        reason: format!(
            "The following could not be ruled out, because a test could run code of users: {}. {}",
            obstacle.message,
            obstacle.detail.as_deref().unwrap_or_default()
        ),
        remedy: Some("Call snowflake_convert() with rehearse => true to test it.".into()),
        ..Finding::of("risk", obstacle)
    });
    let rows = QUERY.with(|query| query.rows_of(&[&arguments[..], &times].concat()));
    let mut others: Vec<Finding> = rows.into_iter().map(Finding::of_row).collect();
    // What PostgreSQL says of a view is more than which functions it calls.
    others.retain(|finding| of_views.iter().all(|view| view.object != finding.object));
    let relations: Vec<pg_sys::Oid> = answer.names.iter().map(|(relation, _)| relation).collect();
    let used = usage::of(Some(&relations));
    let used = used.iter().filter_map(Usage::risk);
    let found = used.chain(risks).chain(untried).chain(others).chain(of_views);
    let mut found: Vec<Finding> = obstacles.chain(found).collect();
    found.sort_by_key(|finding| match finding.kind.as_str() {
        "obstacle" => 0,
        "risk" => 1,
        _ => 2,
    });
    Ok(found)
}
