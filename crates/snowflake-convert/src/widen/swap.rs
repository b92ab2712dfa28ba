//! The transaction in which shadows take the places of columns.

use pgrx::prelude::*;
use snowflake_server::spi::{PlannedQuery, query, text};

use super::step::{Step, of_constraints};
use super::unit::Unit;
use crate::dependents::recreation;
use crate::obstacle::Obstacle;
use crate::properties::Properties;
use crate::rows::{fields, words};
use crate::statement::{self, Moment, Statement};
use crate::trust::Names;

/// The query that finds the statements.
const SWAP: &str = of_constraints!("backfill.sql", "steps.sql", "swap.sql");

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(SWAP) };
}

words! {
    /// What a row of the query is.
    Section {
        Statement = "statement",
        Lock = "lock",
        Guard = "guard",
        Lacking = "lacking",
    }
}

/// What holds while the statements are executed, as for those of a conversion: names that are not
/// qualified are those of the catalog.
const SETTINGS: &str = "SET LOCAL search_path = pg_catalog, pg_temp; \
                        SET LOCAL check_function_bodies = off; SET LOCAL default_tablespace = '';";

/// The transaction.
pub struct Swap {
    pub step: Step,
    /// A number that stands for its statements.
    pub digest: i64,
    /// What has to be done before: a phase, and what it is done to.
    pub lacking: Option<(String, String)>,
}

impl Unit {
    /// The statement, with all its locks. It begins with a guard, which fails unless it would still be the
    /// same under the locks. Or all that stands in its way.
    pub fn swap(&self) -> Result<Swap, Vec<Obstacle>> {
        let (mut locks, mut ordered, mut guard) = (Vec::new(), Vec::new(), None);
        let (mut described, mut lacking) = (Vec::new(), None);
        for row in QUERY.with(|query| query.rows_of(&self.arguments_of_steps(0))) {
            let [section, moment, statement, more] = fields(row);
            let statement = statement.expect("a statement");
            match Section::of(&section.expect("a section")) {
                Section::Lock => locks.push(statement),
                Section::Lacking if lacking.is_none() => {
                    lacking = Some((statement, more.expect("an object")))
                }
                Section::Lacking => {}
                Section::Guard => guard = Some((statement, more.expect("arguments"))),
                Section::Statement => {
                    described.extend(more);
                    ordered.push((Moment::of(&moment.expect("a moment")), statement));
                }
            }
        }
        let described = described.join(" ");
        let mut properties = Properties::of(&described);
        let recreation = recreation(&self.plan.arguments(None));
        let mut obstacles = std::mem::take(&mut properties.obstacles);
        obstacles.extend(recreation.obstacles);
        if !obstacles.is_empty() {
            return Err(obstacles);
        }
        let like = Statement {
            step: statement::Step::Convert,
            text: String::new(),
            is_temporary: false,
            is_qualified: true,
        };
        let mut add = |moment, all: &mut dyn Iterator<Item = Statement>| {
            ordered.extend(all.map(|statement| (moment, statement.text)));
        };
        add(Moment::SetProperties, &mut properties.like(&like, &described));
        add(Moment::DropDependents, &mut recreation.drops.into_iter());
        add(Moment::CreateDependents, &mut recreation.creations.into_iter());
        add(Moment::FinishDependents, &mut recreation.finishes.into_iter());
        ordered.sort_by_key(|(moment, _)| *moment);

        // A view before what it reads, as a query locks them. LOCK TABLE would lock what it reads, too.
        let names = Names::of(&recreation.views);
        let name =
            |view: &pg_sys::Oid| names.iter().find(|(other, _)| other == view).expect("a view").1;
        let of_views = recreation
            .views
            .iter()
            .map(|view| format!("ALTER TABLE {} OWNER TO CURRENT_USER;", name(view)));
        let locks = of_views.chain(locks).collect::<Vec<_>>().join(" ");
        let statements = ordered.into_iter().map(|(_, statement)| statement);
        let statements = statements.collect::<Vec<_>>().join(" ");
        let (call, rest) = guard.expect("a guard");
        let digest = digest_of(&format!("{locks} {statements}"));
        let step = Step {
            phase: "swap".into(),
            object: Some(self.name()),
            locks: Some(locks),
            statement: Some(format!("{call}{digest}{rest} {SETTINGS} {statements}")),
            lock_timeout: 100,
            in_transaction: true,
            total: 1,
            ..Step::default()
        };
        Ok(Swap { step, digest, lacking })
    }
}

/// A number that texts which differ have in common with next to no other.
fn digest_of(statements: &str) -> i64 {
    let row = query("SELECT hashtextextended($1, 0)", &[text(statements)]).swap_remove(0);
    let [digest] = fields(row);
    digest.expect("a number").parse().expect("a bigint")
}
