//! What the next ID is tried with, before keys are converted: checks, bounds of partitions, and the
//! keys that are there.

use std::ffi::c_void;

use pgrx::prelude::*;
use snowflake_server::encoding::encode;
use snowflake_server::settings::Path;
use snowflake_server::spi::{query, query_of_users};
use snowflake_server::subtransaction::by_itself;
use snowflake_server::user;

use super::calls::Calls;
use super::obstacle::Obstacle;
use super::rows::fields;
use super::trust::Owner;

/// Whether code of users may run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Not at all: for reports and dry runs, of which nothing may stay.
    Plain,
    /// With the rights of the owner, restricted: for conversions and rehearsals.
    OfOwner,
}

/// What came of a trial.
pub enum Outcome {
    Passed,
    Failed(Obstacle),
    /// It was not tried, because it would have called code of users. This might be an obstacle.
    Untried(Obstacle),
}

/// A query that returns false, or raises an error, where the next ID would stand in the way.
pub struct Test {
    pub query: String,
    /// Whether the query returns the one to run.
    pub is_generated: bool,
    /// What it is enough to parse the query for.
    pub parsed: Option<Parsed>,
    pub obstacle: Obstacle,
    /// Whether its table belongs to the owner of the conversion.
    pub is_owners: bool,
    /// Whether it names what is not PostgreSQL's own.
    pub calls_others: bool,
    /// What it evaluates, as a tree of nodes, if it is an expression of a user.
    pub expression: Option<String>,
}

/// An expression that PostgreSQL parses again for columns of another type.
pub struct Parsed {
    /// What has the expression.
    pub of: String,
    /// A query with the columns as they are.
    pub former: String,
}

/// What tells the largest key of a column.
pub struct Values {
    /// The column, for a message.
    pub of: String,
    pub query: String,
    /// What it is at most, since the type of the column holds no more.
    pub limit: i64,
    /// Whether an index answers the query.
    pub has_index: bool,
    /// Whether PostgreSQL evaluates what is not its own when it plans the query.
    pub calls_others: bool,
}

impl Test {
    /// Tries it.
    pub fn outcome(self, owner: &Owner, reach: Reach) -> Outcome {
        let is_plain = !self.calls_others && self.expression.as_deref().is_none_or(is_immutable);
        let may_run = is_plain || reach == Reach::OfOwner && self.is_owners;
        if !may_run {
            return Outcome::Untried(self.obstacle);
        }
        let path = if is_plain { &Path::catalog() } else { &owner.path };
        let Test { query: text, is_generated, parsed, mut obstacle, .. } = self;
        let try_it = || {
            if let Some(Parsed { of, former }) = parsed {
                return match Calls::changed(&of, &former, &text, path) {
                    Some(changed) => Err(changed),
                    None => Ok(true),
                };
            }
            let mut text = text;
            if is_generated {
                let [generated] = fields(query(&text, &[]).swap_remove(0));
                text = generated.expect("a query");
            }
            let [passes] = fields(query_of_users(&text, path).swap_remove(0));
            Ok(passes.as_deref() != Some("f"))
        };
        match by_itself(|| Ok(user::as_owner(owner.role, try_it)), Err) {
            Ok(Ok(true)) => Outcome::Passed,
            Ok(Ok(false)) => Outcome::Failed(obstacle),
            Ok(Err(changed)) => Outcome::Failed(changed),
            Err(error) => {
                let detail = obstacle.detail.get_or_insert_default();
                *detail = format!("{}: {error}.", detail.trim_end_matches('.'));
                Outcome::Failed(obstacle)
            }
        }
    }
}

/// Whether the functions of an expression are immutable. The others of PostgreSQL's own include some
/// that execute what they are given as a text.
fn is_immutable(expression: &str) -> bool {
    let expression = encode(expression);
    // SAFETY: a tree of nodes as the catalog has it.
    unsafe {
        let tree: *mut c_void = pg_sys::stringToNode(expression.as_ptr());
        !pg_sys::contain_mutable_functions(tree.cast())
    }
}

impl Values {
    /// Why new keys cannot follow those that are there. In a dry run, a table is not scanned.
    pub fn outcome(&self, next: Option<i64>, owner: &Owner, reach: Reach) -> Outcome {
        if next.is_some_and(|next| self.limit < next) {
            return Outcome::Passed;
        }
        if reach == Reach::Plain && (self.calls_others || !self.has_index) {
            return Outcome::Untried(self.refusal(
                "might hold values that are not below the next snowflake ID",
                "The largest value was not read.".into(),
                None,
            ));
        }
        let row = user::as_owner(owner.role, || query(&self.query, &[]).swap_remove(0));
        let [largest, has_null] = fields(row);
        let largest: Option<i64> = largest.map(|largest| largest.parse().expect("a bigint"));
        match (next, largest) {
            (Some(next), Some(largest)) if largest >= next => Outcome::Failed(self.refusal(
                "holds values that are not below the next snowflake ID",
                format!("The largest value is {largest}, and the next ID {next}."),
                Some(
                    "New rows would get smaller keys, and eventually a key that already exists. \
                     Change those values, or choose an earlier snowflake.epoch.",
                ),
            )),
            (None, _) if has_null.as_deref() == Some("t") => Outcome::Failed(self.refusal(
                "contains NULL",
                "An identity column cannot hold NULL.".into(),
                None,
            )),
            (None, Some(i64::MAX)) => Outcome::Failed(self.refusal(
                "is used up",
                format!("The largest value is {}: no sequence goes beyond it.", i64::MAX),
                None,
            )),
            _ => Outcome::Passed,
        }
    }

    fn refusal(&self, what: &str, detail: String, hint: Option<&str>) -> Obstacle {
        Obstacle {
            sqlstate: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            object: self.of.clone(),
            message: format!("{} {what}", self.of),
            detail: Some(detail),
            hint: hint.map(Into::into),
        }
    }
}
