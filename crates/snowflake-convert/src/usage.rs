//! How far keys that take values of a sequence are used up.

use pgrx::prelude::*;
use snowflake_server::in_recovery;
use snowflake_server::spi::{Argument, query};

use super::finding::Finding;
use super::rows::{fields, oid};
use super::sequence::{self, State};
use super::trust::oids;

/// The query that finds the columns.
const USAGE: &str = include_str!("usage.sql");

/// From which part on a report says it.
const NOTABLE: f64 = 0.5;

/// A column that takes values of a sequence. Where a sequence counts downwards, its limits are the
/// smallest values.
pub struct Usage {
    pub schema: String,
    pub table: String,
    pub column: String,
    pub column_type: String,
    pub sequence: String,
    /// The last value, unless none was taken; `None` if it could not be read.
    pub last_value: Option<Option<i64>>,
    /// The first value that the sequence can have.
    first: i64,
    pub sequence_limit: i64,
    /// What the type of the column holds, where that is one of integers.
    pub column_limit: Option<i64>,
    /// The narrowest column that refers to this one, and what it holds.
    pub reference: Option<String>,
    pub reference_limit: Option<i64>,
}

/// Of all columns of the database, or of these relations.
pub fn of(relations: Option<&[pg_sys::Oid]>) -> Vec<Usage> {
    let relations: Argument =
        relations.map_or((None, pg_sys::TEXTOID), |relations| oids(relations.iter().copied()));
    let in_recovery = in_recovery();
    let usage = query(USAGE, &[relations]).into_iter().map(|row| {
        let [
            schema,
            table,
            column,
            column_type,
            sequence,
            name,
            first,
            limit,
            of_type,
            reference,
            of_reference,
        ] = fields(row);
        let number = |text: String| text.parse::<i64>().expect("a bigint");
        Usage {
            schema: schema.expect("a name"),
            table: table.expect("a name"),
            column: column.expect("a name"),
            column_type: column_type.expect("a name"),
            sequence: name.expect("a name"),
            last_value: match sequence::state(oid(sequence.expect("an OID")), in_recovery) {
                State::Unreadable => None,
                State::NotCalled => Some(None),
                State::Last(value) => Some(Some(value)),
            },
            first: number(first.expect("a limit")),
            sequence_limit: number(limit.expect("a limit")),
            column_limit: of_type.map(number),
            reference,
            reference_limit: of_reference.map(number),
        }
    });
    usage.collect()
}

impl Usage {
    /// The limit that is reached first.
    pub fn limit(&self) -> i64 {
        let limits = [Some(self.sequence_limit), self.column_limit, self.reference_limit];
        let limits = limits.into_iter().flatten();
        let nearest = limits.min_by_key(|limit| i128::from(*limit).abs_diff(self.first.into()));
        nearest.expect("the sequence has one")
    }

    /// The part of all values up to the limit that is used; `None` if that could not be read.
    pub fn part(&self) -> Option<f64> {
        let span = |to: i64| i128::from(to).abs_diff(self.first.into()) as f64 + 1.0;
        Some(self.last_value?.map_or(0.0, |last| span(last) / span(self.limit())))
    }

    /// A risk, if it is used to a large part or cannot be read.
    pub fn risk(&self) -> Option<Finding> {
        let Usage { schema, table, column, sequence, .. } = self;
        let reason = match self.part() {
            Some(part) if part < NOTABLE => return None,
            Some(part) => format!(
                "{:.1} % of its keys are used: the last one is {}, and the limit of {} is {}.",
                part * 100.0,
                self.last_value.flatten().expect("a part is used"),
                if self.column_limit == Some(self.limit()) {
                    format!("type {}", self.column_type)
                } else if self.sequence_limit == self.limit() {
                    format!("sequence {sequence}")
                } else {
                    self.reference.clone().expect("a column")
                },
                self.limit(),
            ),
            None => {
                format!("How many of its keys are used cannot be said: {sequence} was not read.")
            }
        };
        Some(Finding {
            kind: "risk".into(),
            object: format!("{schema}.{table}.{column}"),
            reason,
            remedy: self.part().map(|_| "Convert it before that.".into()),
            rewritten: None,
            lock: None,
        })
    }
}
