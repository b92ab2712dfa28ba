//! Functions that might not take, return or keep the new keys: which of them the caller has to
//! know, and the statements that create them again with bigint.

use pgrx::prelude::*;

use super::obstacle::Obstacle;
use super::properties::Properties;
use super::rows::{fields, words};
use super::statement::{Role, Statement, Step};
use crate::server::catalog::{Argument, query};

/// The query that finds them.
const FUNCTIONS: &str = concat!(
    include_str!("keys.sql"),
    include_str!("guesses.sql"),
    include_str!("functions.sql"),
    include_str!("function_rows.sql")
);

words! {
    /// What a row of the query is.
    Section {
        Unacknowledged = "unacknowledged",
        Statement = "statement",
        Properties = "properties",
    }
}

/// What is to be said of functions.
#[derive(Default)]
pub struct Functions {
    /// Those that triggers of converted tables call, and that the caller has not acknowledged.
    unacknowledged: Vec<String>,
    /// What creates functions again with bigint. These are for a person to read: no conversion
    /// executes them, because the bodies might need changes, too.
    pub statements: Vec<Statement>,
}

/// Asks for the functions that belong to keys. `acknowledged` is an array of them.
pub fn functions(arguments: &[Argument], acknowledged: Option<pg_sys::Datum>) -> Functions {
    let mut functions = Functions::default();
    let acknowledged = (acknowledged, pg_sys::REGPROCEDUREARRAYOID);
    let statement = |text| Statement {
        step: Step::Functions,
        text,
        role: Role::Owner,
        is_temporary: false,
        is_qualified: true,
    };
    for row in query(FUNCTIONS, &[arguments, &[acknowledged]].concat()) {
        let [section, text, old_identity, identity, key] = fields(row);
        let text = text.expect("a text");
        match Section::of(&section.expect("a section")) {
            Section::Unacknowledged => functions.unacknowledged.push(text),
            Section::Statement => functions.statements.push(statement(text)),
            Section::Properties => {
                let key = key.expect("an object");
                let (old, new) = (old_identity.expect("a name"), identity.expect("a name"));
                let (properties, like) = (Properties::of(&key), statement(String::new()));
                let of_old = properties.like(&like, &key);
                // The name comes before anything that a user has written.
                let renamed = of_old.map(|one| statement(one.text.replacen(&old, &new, 1)));
                functions.statements.extend(renamed);
            }
        }
    }
    functions
}

impl Functions {
    /// 55000 unless the caller has acknowledged all that triggers call.
    pub fn check_acknowledged(&self) -> Result<(), Obstacle> {
        if self.unacknowledged.is_empty() {
            return Ok(());
        }
        Err(Obstacle {
            sqlstate: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            object: String::new(),
            message: "functions that triggers of converted tables call were not acknowledged"
                .into(),
            detail: Some(format!(
                "They have integer parameters, results or variables, so that statements which \
                 fire these triggers might fail: {}.",
                self.unacknowledged.join(", ")
            )),
            hint: Some(
                "Read them, and what snowflake_convert_report() says of them. Then pass them in \
                 the argument acknowledged."
                    .into(),
            ),
        })
    }
}
