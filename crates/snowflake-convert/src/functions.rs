//! Functions that might not take, return or keep the new keys: which of them the caller has to
//! know, and the statements that create them again with bigint.

use std::collections::BTreeMap;

use pgrx::prelude::*;
use snowflake_server::spi::{Argument, PlannedQuery};

use super::obstacle::Obstacle;
use super::properties::Properties;
use super::rows::{fields, words};
use super::statement::{Statement, Step};

/// A query that goes on from the parts that functions and the report have in common.
macro_rules! of_functions {
    ($($rest:literal),*) => {
        concat!(
            include_str!("keys.sql"),
            include_str!("depending.sql"),
            include_str!("integers.sql"),
            include_str!("guesses.sql"),
            include_str!("guess_risks.sql"),
            include_str!("sources.sql"),
            include_str!("functions.sql"),
            include_str!("signatures.sql"),
            include_str!("fired.sql"),
            $(include_str!($rest)),*
        )
    };
}
pub(crate) use of_functions;

/// The query that finds them.
const FUNCTIONS: &str = of_functions!("function_rows.sql");

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(FUNCTIONS) };
}

words! {
    /// What a row of the query is.
    Section {
        Unacknowledged = "unacknowledged",
        Statement = "statement",
        Properties = "properties",
        Call = "call",
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
    let mut recreated = BTreeMap::<String, Recreated>::new();
    let acknowledged = (acknowledged, pg_sys::REGPROCEDUREARRAYOID);
    let statement =
        |text| Statement { step: Step::Functions, text, is_temporary: false, is_qualified: true };
    for row in QUERY.with(|query| query.rows_of(&[arguments, &[acknowledged]].concat())) {
        let [section, text, old_identity, identity, key, name] = fields(row);
        let text = text.expect("a text");
        let of_name = recreated.entry(name.unwrap_or_default()).or_default();
        match Section::of(&section.expect("a section")) {
            Section::Unacknowledged => functions.unacknowledged.push(text),
            Section::Statement => of_name.statements.push(statement(text)),
            Section::Call => of_name.calls.push(text),
            Section::Properties => {
                let key = key.expect("an object");
                let (old, new) = (old_identity.expect("a name"), identity.expect("a name"));
                let (properties, like) = (Properties::of(&key), statement(String::new()));
                let of_old = properties.like(&like, &key);
                // The name comes before anything that a user has written.
                let renamed = of_old.map(|one| statement(one.text.replacen(&old, &new, 1)));
                of_name.statements.extend(renamed);
            }
        }
    }
    functions.statements = in_order(recreated);
    functions
}

/// The functions of one name.
#[derive(Default)]
struct Recreated {
    statements: Vec<Statement>,
    /// The names of those that they call, as far as these are created again too.
    calls: Vec<String>,
}

/// The statements for functions after those for what they call: when a function in SQL is created,
/// PostgreSQL looks for what its body calls. Functions that call each other come in any order.
fn in_order(mut recreated: BTreeMap<String, Recreated>) -> Vec<Statement> {
    let mut statements = Vec::new();
    while let Some((_, first)) = recreated.pop_first() {
        // Each is called by the one before it. Calls might go deeper than recursion could.
        let mut callers = vec![first];
        while let Some(caller) = callers.last_mut() {
            match caller.calls.pop() {
                Some(called) => callers.extend(recreated.remove(&called)),
                None => statements.extend(callers.pop().expect("the last").statements),
            }
        }
    }
    statements
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
                "They have integer parameters, results or variables, hand keys to functions that \
                 take no bigint, make SQL out of text, or were not read, so that statements which \
                 fire these triggers might fail: {}.",
                self.unacknowledged.join(", ")
            )),
            hint: Some(
                "Read them, and what snowflake_convert_report() says of them, and rehearse the \
                 conversion with a probe. Then pass them in the argument acknowledged."
                    .into(),
            ),
        })
    }
}
