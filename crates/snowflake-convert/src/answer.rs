//! What the query of a plan finds: what stands in the way, what has to be tried, and the
//! statements.

use pgrx::prelude::*;
use snowflake_server::settings::Path;
use snowflake_server::spi::{Argument, PlannedQuery, Row};

use super::obstacle::Obstacle;
use super::properties::Properties;
use super::rows::{fields, oid, sqlstate_of, words};
use super::statement::{Moment, Statement, Step};
use super::trial::{Parsed, Test, Values};
use super::trust::{Names, Owner};

/// The query that finds what stands in the way, and the statements.
const PLAN: &str = concat!(
    include_str!("keys.sql"),
    include_str!("depending.sql"),
    include_str!("takers.sql"),
    include_str!("objects.sql"),
    include_str!("bound.sql"),
    include_str!("executed.sql"),
    include_str!("trust.sql"),
    include_str!("stand_ins.sql"),
    include_str!("rebuilt.sql"),
    include_str!("plan/obstacles.sql"),
    include_str!("plan/inheritance.sql"),
    include_str!("plan/type_obstacles.sql"),
    include_str!("plan/conversion_obstacles.sql"),
    include_str!("plan/tests.sql"),
    include_str!("plan/conversion.sql"),
    include_str!("plan/way_back.sql"),
    include_str!("plan/reversion.sql"),
    include_str!("plan.sql")
);

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(PLAN) };
}

words! {
    /// What a row of the query is.
    Section {
        Owner = "owner",
        Path = "path",
        Name = "name",
        Obstacle = "obstacle",
        Test = "test",
        RiskyTest = "risky test",
        Values = "values",
        ValuesWithoutIndex = "values without index",
        Convert = "convert",
        Validate = "validate",
        Revert = "revert",
    }
}

/// What the query of a plan finds.
#[derive(Default)]
pub struct Answer {
    /// The first is the one to report.
    pub obstacles: Vec<Obstacle>,
    /// Whose rights everything has; `None` where there are no keys.
    owner: Option<pg_sys::Oid>,
    /// The schemas of the session's `search_path` that this owner may rely on.
    schemas: Vec<String>,
    pub names: Names,
    /// What the next ID has to satisfy. Those in `risky_tests` only make a risk in a report.
    pub tests: Vec<Test>,
    pub risky_tests: Vec<Test>,
    pub values: Vec<Values>,
    pub statements: Vec<(Moment, Statement)>,
    /// Statements after which objects get their properties.
    pub described: Vec<(Moment, Statement, String)>,
}

impl Answer {
    /// To the arguments of a plan.
    pub fn to(arguments: &[Argument; 11]) -> Answer {
        let (next, _) = arguments[4];
        let has_next = next.is_some();
        let mut answer = Answer::default();
        for row in QUERY.with(|query| query.rows_of(arguments)) {
            answer.add(row, has_next);
        }
        answer
    }

    /// The properties of what is described, and what stands in the way of these.
    pub fn properties(&self) -> Properties {
        let objects = self.described.iter().map(|(_, _, objects)| objects.as_str());
        Properties::of(&objects.collect::<Vec<_>>().join(" "))
    }

    /// As whom everything runs; `None` where there are no keys.
    pub fn owner(&self) -> Option<Owner> {
        self.owner.map(|role| Owner { role, path: Path::through(&self.schemas) })
    }

    /// A row of the plan. Tests need the next ID.
    fn add(&mut self, row: Row, has_next: bool) {
        let [
            section,
            text,
            other,
            object,
            detail,
            hint,
            is_temporary,
            more,
            calls_others,
            is_owners,
            is_generated,
            is_parsed,
        ] = fields(row);
        let section = Section::of(&section.expect("a section"));
        let text = match text {
            Some(text) => text,
            None => {
                assert!(!has_next, "only tests need the next ID");
                return;
            }
        };
        let [is_temporary, calls_others, is_owners, is_generated, is_parsed] =
            [is_temporary, calls_others, is_owners, is_generated, is_parsed]
                .map(|flag| flag.as_deref() == Some("t"));
        match section {
            Section::Owner => self.owner = Some(oid(text)),
            Section::Path => self.schemas.push(text),
            Section::Name => self.names.add(oid(object.expect("a relation")), text),
            Section::Obstacle => self.obstacles.push(Obstacle {
                sqlstate: sqlstate_of(&other.expect("a SQLSTATE")),
                object: object.expect("an object"),
                message: text,
                detail,
                hint,
            }),
            Section::Test | Section::RiskyTest => {
                let message = other.expect("a message");
                let (parsed, expression) = match is_parsed {
                    true => (more.map(|former| Parsed { of: message.clone(), former }), None),
                    false => (None, more),
                };
                let (sqlstate, message) = match &parsed {
                    Some(Parsed { of, .. }) => (
                        PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
                        format!("cannot create {of} for columns of type bigint"),
                    ),
                    None => (PgSqlErrorCode::ERRCODE_CHECK_VIOLATION, message),
                };
                let object = object.expect("an object");
                let obstacle = Obstacle { sqlstate, object, message, detail, hint };
                let tests = match section {
                    Section::Test => &mut self.tests,
                    _ => &mut self.risky_tests,
                };
                tests.push(Test {
                    query: text,
                    is_generated,
                    parsed,
                    obstacle,
                    is_owners,
                    calls_others,
                    expression,
                });
            }
            Section::Values | Section::ValuesWithoutIndex => self.values.push(Values {
                of: object.expect("a column"),
                query: text,
                limit: other.expect("a limit").parse().expect("a bigint"),
                has_index: section == Section::Values,
                calls_others,
            }),
            Section::Convert | Section::Validate | Section::Revert => {
                let step = match section {
                    Section::Convert => Step::Convert,
                    Section::Validate => Step::Validate,
                    _ => Step::Revert,
                };
                let moment = Moment::of(&other.expect("a moment"));
                let statement = Statement { step, text, is_temporary, is_qualified: false };
                if let Some(objects) = more {
                    self.described.push((moment, statement.clone(), objects));
                }
                self.statements.push((moment, statement));
            }
        }
    }
}
