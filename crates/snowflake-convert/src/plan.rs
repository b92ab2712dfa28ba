//! What is asked for, and what it takes.

use pgrx::prelude::*;
use snowflake_server::spi::Argument;

use super::answer::Answer;
use super::calls::Changed;
use super::dependents::recreation;
use super::functions::{Functions, functions};
use super::keys::Keys;
use super::obstacle::Obstacle;
use super::statement::{Moment, Statement, Step, session_check};
use super::trial::{Outcome, Reach, Values};
use super::trust::{self, Names, Owner, schemas_of_session};

/// One of the two ways.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Convert,
    Revert,
}

impl Direction {
    /// The step of the statements that are executed.
    pub fn step(self) -> Step {
        match self {
            Direction::Convert => Step::Convert,
            Direction::Revert => Step::Revert,
        }
    }
}

/// What is to be done.
pub struct Plan {
    pub keys: Keys,
    pub direction: Direction,
    /// Whether dependents are dropped and created again.
    pub recreate: bool,
    /// Whether foreign keys are validated in the same transaction.
    pub validate: bool,
    /// Whether this is for a report, which says everything.
    pub is_report: bool,
    /// Whether the statements include those for functions. To find these, a query looks at all
    /// functions of the database.
    pub with_functions: bool,
    /// An array of the functions that the caller has acknowledged.
    pub acknowledged: Option<pg_sys::Datum>,
}

/// The statements of a plan.
pub struct Statements {
    pub owner: Owner,
    pub names: Names,
    /// In the order in which they are executed, by step.
    ordered: Vec<(Moment, Statement)>,
    /// What finds the objects that are created again.
    created: Vec<String>,
    /// What was not tried in a dry run, because it would have run code of users.
    pub untried: Vec<Obstacle>,
}

impl Plan {
    /// The statements to execute, and those for later; or the obstacle.
    pub fn statements(&self, reach: Reach) -> Result<Statements, Obstacle> {
        let first = self.ask(None);
        let owner = first.owner();
        refuse(first.obstacles)?;
        let owner = owner.expect("there are keys");
        let next = match self.direction {
            Direction::Convert => Some(self.keys.generator.next_id()),
            Direction::Revert => None,
        };
        let mut untried = Vec::new();
        let mut settle = |outcomes: &mut dyn Iterator<Item = Outcome>| {
            refuse(outcomes.filter_map(|outcome| match outcome {
                Outcome::Passed => None,
                Outcome::Failed(obstacle) => Some(obstacle),
                Outcome::Untried(obstacle) => {
                    untried.push(obstacle);
                    None
                }
            }))
        };
        let is_tried = |values: &&Values| values.has_index || reach == Reach::OfOwner;
        let values = first.values.iter().filter(is_tried);
        settle(&mut values.map(|values| values.outcome(next, &owner, reach)))?;
        let answer = self.ask(next);
        let properties = answer.properties();
        refuse(answer.obstacles)?;
        settle(&mut answer.tests.into_iter().map(|test| test.outcome(&owner, reach)))?;
        let mut ordered = answer.statements;
        for (moment, statement, objects) in &answer.described {
            let following = properties.like(statement, objects);
            ordered.extend(following.map(|following| (*moment, following)));
        }
        refuse(properties.obstacles)?;
        let mut created = Vec::new();
        if self.recreate {
            let recreation = recreation(&self.arguments(next));
            refuse(recreation.obstacles)?;
            for (moment, statements) in [
                (Moment::DropDependents, recreation.drops),
                (Moment::CreateDependents, recreation.creations),
                (Moment::FinishDependents, recreation.finishes),
                (Moment::RefreshViews, recreation.refreshes),
            ] {
                ordered.extend(statements.into_iter().map(|statement| (moment, statement)));
            }
            created = recreation.addresses;
        }
        ordered.sort_by_key(|(moment, statement)| (statement.step, *moment));
        Ok(Statements { owner, names: answer.names, ordered, created, untried })
    }

    /// What is to be said of functions.
    pub fn functions(&self, statements: &Statements) -> Functions {
        match self.with_functions && !statements.ordered.is_empty() {
            true => functions(&self.arguments(None), self.acknowledged),
            false => Functions::default(),
        }
    }

    /// Executes what is planned, after its lock. What calls something else afterwards is an obstacle.
    pub fn execute(&self, statements: &Statements) -> Result<(), Obstacle> {
        let tables = statements.names.iter().map(|(relation, _)| relation);
        let changed = Changed::new(tables, &statements.created);
        let before = changed.calls();
        statements.execute(self.direction.step())?;
        refuse(changed.calls().obstacles(&before))?;
        match self.direction {
            Direction::Convert => {
                trust::check_defaults(self.keys.generator.nextval(), &statements.owner)
            }
            Direction::Revert => Ok(()),
        }
    }

    /// Locks the views that are dropped, as a query does: a view before what it reads. Otherwise, a
    /// query that has locked a view and waits for a locked table would deadlock with DROP VIEW.
    pub fn lock_views(&self) {
        for view in self.views() {
            // SAFETY: the relation might be gone, and then the lock does no harm.
            unsafe { pg_sys::LockRelationOid(view, pg_sys::AccessExclusiveLock as i32) };
        }
    }

    /// The views that are dropped and created again: each before what it reads.
    fn views(&self) -> Vec<pg_sys::Oid> {
        if self.recreate { recreation(&self.arguments(None)).views } else { Vec::new() }
    }

    /// The arguments of the queries that begin with `keys.sql`.
    pub fn arguments(&self, next: Option<i64>) -> [Argument; 11] {
        let [relation, column, schema, own_schema, beside] = self.keys.arguments;
        let is_reversion = self.direction == Direction::Revert;
        let [is_reversion, recreate, validate, is_report] =
            [is_reversion, self.recreate, self.validate, self.is_report]
                .map(|flag| (Some(flag.into()), pg_sys::BOOLOID));
        let next = (next.map(Into::into), pg_sys::INT8OID);
        let path = schemas_of_session();
        [
            relation,
            column,
            schema,
            own_schema,
            next,
            is_reversion,
            recreate,
            validate,
            path,
            is_report,
            beside,
        ]
    }

    pub fn ask(&self, next: Option<i64>) -> Answer {
        Answer::to(&self.arguments(next))
    }
}

/// Fails with the first obstacle. If it is objects that depend on a column, all others of that kind
/// are named too.
fn refuse(obstacles: impl IntoIterator<Item = Obstacle>) -> Result<(), Obstacle> {
    let mut obstacles = obstacles.into_iter();
    let Some(mut first) = obstacles.next() else { return Ok(()) };
    let dependent = PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST;
    let is_dependent = |obstacle: &Obstacle| obstacle.sqlstate == dependent;
    if is_dependent(&first) {
        let all = first.detail.get_or_insert_default();
        for Obstacle { message, detail, .. } in obstacles.filter(is_dependent) {
            *all += &format!("\nAlso {message}. {}", detail.unwrap_or_default());
        }
    }
    Err(first)
}

impl Statements {
    /// The statement that locks the tables, which comes first; `None` where there is nothing to do.
    pub fn lock(&self) -> Option<&Statement> {
        self.ordered.first().map(|(_, statement)| statement)
    }

    /// Executes those of a step after the lock, and checks between them that names still mean the
    /// same, because each might run code of the owner that renames something.
    fn execute(&self, step: Step) -> Result<(), Obstacle> {
        let mut is_checked = false;
        let of_step = self.ordered.iter().skip(1).filter(|(_, statement)| statement.step == step);
        for (moment, statement) in of_step {
            self.names.check()?;
            if *moment >= Moment::FinishDependents && !is_checked {
                trust::check_created(&self.owner, &self.created)?;
                is_checked = true;
            }
            if matches!(moment, Moment::CreateDependents | Moment::FinishDependents) {
                statement.create_again(&self.owner)?;
            } else {
                statement.execute(&self.owner);
            }
        }
        if !is_checked {
            trust::check_created(&self.owner, &self.created)?;
        }
        self.names.check()
    }

    /// All of them, and those for functions, with the name of the step. Each step begins with a
    /// statement that refuses other sessions than the owner's.
    pub fn into_rows(self, functions: Functions) -> Vec<(Step, String)> {
        let check = session_check(self.owner.role);
        let mut statements: Vec<Statement> =
            self.ordered.into_iter().map(|(_, statement)| statement).collect();
        statements.extend(functions.statements);
        statements.sort_by_key(|statement| statement.step);
        let mut rows = Vec::new();
        for Statement { step, text, .. } in statements {
            if rows.last().is_none_or(|(last, _)| *last != step) {
                rows.push((step, check.clone()));
            }
            rows.push((step, text));
        }
        rows
    }
}
