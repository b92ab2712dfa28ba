//! What is asked for, and what it takes.

use std::ffi::CStr;

use pgrx::prelude::*;

use super::dependents::recreation;
use super::functions::functions;
use super::obstacle::{Obstacle, wrong_argument};
use super::properties::Properties;
use super::rows::{fields, oid, sqlstate_of, words};
use super::statement::{Role, Statement, Step, session_check};
use super::trial::{Outcome, Reach, Test, Values};
use super::trust::{self, Names, Owner, schemas_of_session};
use crate::generate;
use crate::server::catalog::{Argument, Path, PlannedQuery, Row};
use crate::server::encoding::decode;
use crate::server::own_table::text;

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

/// The query that finds what stands in the way, and the statements.
const PLAN: &str = concat!(
    include_str!("keys.sql"),
    include_str!("depending.sql"),
    include_str!("objects.sql"),
    include_str!("bound.sql"),
    include_str!("trust.sql"),
    include_str!("rebuilt.sql"),
    include_str!("plan/obstacles.sql"),
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
        Table = "table",
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

/// The ranks of statements that come from elsewhere, between those of `plan/conversion.sql`.
const DROPS: i32 = 20;
const CREATIONS: i32 = 90;
/// From this rank on, what was created again is evaluated.
const FINISHES: i32 = 95;
const REFRESHES: i32 = 100;

/// The keys of a call.
pub struct Keys {
    /// The relation, the column, the schema, and the schema of this extension.
    arguments: [Argument; 4],
    /// Whether the column is no key, but refers to one that is converted already.
    only_refers: bool,
    /// The function that was called.
    function: pg_sys::Oid,
}

impl Keys {
    /// 22023 unless they are one column, a relation or a schema.
    pub fn new(
        fcinfo: pg_sys::FunctionCallInfo,
        relation: Option<pg_sys::Datum>,
        column: Option<pg_sys::Datum>,
        schema: Option<pg_sys::Datum>,
    ) -> Result<Keys, Obstacle> {
        let hint = "Give a relation and one of its columns, or only a relation or a schema, for \
                    all of its keys.";
        if relation.is_some() == schema.is_some() {
            let message = "exactly one of relation and schema must be given";
            return Err(wrong_argument(message.into(), hint));
        } else if column.is_some() && relation.is_none() {
            return Err(wrong_argument("column_name needs a relation".into(), hint));
        }
        // SAFETY: PostgreSQL calls with a function, which is in a schema. The text is a copy.
        let (function, own_schema) = unsafe {
            let function = (*(*fcinfo).flinfo).fn_oid;
            let namespace = pg_sys::get_func_namespace(function);
            (function, pg_sys::cstring_to_text(pg_sys::get_namespace_name(namespace)))
        };
        Ok(Keys {
            arguments: [
                (relation, pg_sys::REGCLASSOID),
                column.map_or((None, pg_sys::TEXTOID), |column| text(&name(column))),
                (schema, pg_sys::REGNAMESPACEOID),
                (Some(own_schema.into()), pg_sys::TEXTOID),
            ],
            only_refers: false,
            function,
        })
    }

    /// A column of a table, for a function of another extension that needs this one, which is in
    /// `own_schema`.
    pub fn of_column(
        function: pg_sys::Oid,
        own_schema: &str,
        relation: pg_sys::Oid,
        column: &str,
        only_refers: bool,
    ) -> Keys {
        Keys {
            arguments: [
                (Some(relation.into()), pg_sys::REGCLASSOID),
                text(column),
                (None, pg_sys::REGNAMESPACEOID),
                text(own_schema),
            ],
            only_refers,
            function,
        }
    }

    /// The relation and the column.
    pub fn column(&self) -> [Argument; 2] {
        [self.arguments[0], self.arguments[1]]
    }
}

/// The text of a value of type name, which is a text to PostgreSQL where it is compared.
fn name(value: pg_sys::Datum) -> String {
    // SAFETY: the value is of this type.
    decode(unsafe { CStr::from_ptr((*value.cast_mut_ptr::<pg_sys::NameData>()).data.as_ptr()) })
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
}

/// What the query in `plan.sql` finds.
#[derive(Default)]
pub struct Answer {
    /// The first is the one to report.
    pub obstacles: Vec<Obstacle>,
    /// Whose rights everything has; `None` where there are no keys.
    owner: Option<pg_sys::Oid>,
    /// The schemas of the session's `search_path` that this owner may rely on.
    schemas: Vec<String>,
    names: Names,
    tables: Vec<String>,
    /// What the next ID has to satisfy. Those in `risky_tests` only make a risk in a report.
    pub tests: Vec<Test>,
    pub risky_tests: Vec<Test>,
    pub values: Vec<Values>,
    statements: Vec<(i32, Statement)>,
    /// Statements after which objects get their properties, with the rank of these.
    described: Vec<(i32, Statement, String)>,
}

/// The statements of a plan.
pub struct Statements {
    pub owner: Owner,
    pub names: Names,
    /// Those of the keys, and of columns that become bigint; without those that inherit them.
    pub tables: Vec<String>,
    /// In the order in which they are executed, by step, with their ranks.
    ranked: Vec<(i32, Statement)>,
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
            Direction::Convert => Some(generate::next_id()),
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
        refuse(answer.obstacles)?;
        settle(&mut answer.tests.into_iter().map(|test| test.outcome(&owner, reach)))?;
        let mut ranked = answer.statements;
        let objects = answer.described.iter().map(|(_, _, objects)| objects.as_str());
        let properties = Properties::of(&objects.collect::<Vec<_>>().join(" "));
        for (rank, statement, objects) in &answer.described {
            let following = properties.like(statement, objects);
            ranked.extend(following.map(|following| (*rank, following)));
        }
        let mut created = Vec::new();
        if self.recreate {
            let recreation = recreation(&self.arguments(next));
            refuse(recreation.obstacles)?;
            let ranks = |rank, all: Vec<Statement>| all.into_iter().map(move |one| (rank, one));
            ranked.extend(ranks(DROPS, recreation.drops));
            ranked.extend(ranks(CREATIONS, recreation.creations));
            ranked.extend(ranks(FINISHES, recreation.finishes));
            ranked.extend(ranks(REFRESHES, recreation.refreshes));
            created = recreation.addresses;
        }
        if self.with_functions && !ranked.is_empty() {
            let statements = functions(&self.arguments(next), None).statements;
            ranked.extend(statements.into_iter().map(|statement| (0, statement)));
        }
        ranked.sort_by_key(|(rank, statement)| (statement.step, *rank));
        let Answer { names, tables, .. } = answer;
        Ok(Statements { owner, names, tables, ranked, created, untried })
    }

    /// Executes what is planned, after its lock.
    pub fn execute(&self, statements: &Statements) -> Result<(), Obstacle> {
        statements.execute(self.direction.step())?;
        match self.direction {
            Direction::Convert => trust::check_defaults(self.keys.function, &statements.owner),
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
    pub fn views(&self) -> Vec<pg_sys::Oid> {
        if self.recreate { recreation(&self.arguments(None)).views } else { Vec::new() }
    }

    /// The arguments of the queries that begin with `keys.sql`.
    pub fn arguments(&self, next: Option<i64>) -> [Argument; 11] {
        let [relation, column, schema, own_schema] = self.keys.arguments;
        let is_reversion = self.direction == Direction::Revert;
        let [is_reversion, recreate, validate, is_report, only_refers] =
            [is_reversion, self.recreate, self.validate, self.is_report, self.keys.only_refers]
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
            only_refers,
        ]
    }

    pub fn ask(&self, next: Option<i64>) -> Answer {
        let mut answer = Answer::default();
        for row in QUERY.with(|query| query.rows_of(&self.arguments(next))) {
            answer.add(row, next.is_some());
        }
        answer
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

impl Answer {
    /// As whom everything runs; `None` where there are no keys.
    pub fn owner(&self) -> Option<Owner> {
        self.owner.map(|role| Owner { role, path: Path::through(&self.schemas) })
    }

    /// A row of the plan. Tests need the next ID.
    fn add(&mut self, row: Row, has_next: bool) {
        let [section, text, other, object, detail, hint, flags, is_temporary, rank, more] =
            fields(row);
        let section = Section::of(&section.expect("a section"));
        let text = match text {
            Some(text) => text,
            None => {
                assert!(!has_next, "only tests need the next ID");
                return;
            }
        };
        let flags = flags.unwrap_or_default();
        let calls_others = flags.contains("calls others");
        let rank = rank.expect("a rank").parse().expect("a number");
        match section {
            Section::Owner => self.owner = Some(oid(text)),
            Section::Path => self.schemas.push(text),
            Section::Name => self.names.add(oid(object.expect("a relation")), text),
            Section::Table => self.tables.push(text),
            Section::Obstacle => self.obstacles.push(Obstacle {
                sqlstate: sqlstate_of(&other.expect("a SQLSTATE")),
                object: object.expect("an object"),
                message: text,
                detail,
                hint,
            }),
            Section::Test | Section::RiskyTest => {
                let is_parsed = flags.contains("is parsed");
                let obstacle = Obstacle {
                    sqlstate: if is_parsed {
                        PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST
                    } else {
                        PgSqlErrorCode::ERRCODE_CHECK_VIOLATION
                    },
                    object: object.expect("an object"),
                    message: other.expect("a message"),
                    detail,
                    hint,
                };
                let is_owners = flags.contains("is the owner's");
                let tests = match section {
                    Section::Test => &mut self.tests,
                    _ => &mut self.risky_tests,
                };
                tests.push(Test {
                    query: text,
                    is_generated: flags.contains("is generated"),
                    is_parsed,
                    obstacle,
                    is_owners,
                    calls_others,
                    expression: more,
                });
            }
            Section::Values | Section::ValuesWithoutIndex => self.values.push(Values {
                of: object.expect("a column"),
                query: text,
                limit: other.expect("a limit").parse().expect("a bigint"),
                has_index: section == Section::Values,
                calls_others,
            }),
            Section::Convert => {
                self.add_statement(Step::Convert, text, is_temporary, rank, more);
            }
            Section::Validate => {
                self.add_statement(Step::Validate, text, is_temporary, rank, more);
            }
            Section::Revert => {
                self.add_statement(Step::Revert, text, is_temporary, rank, more);
            }
        }
    }

    fn add_statement(
        &mut self,
        step: Step,
        text: String,
        is_temporary: Option<String>,
        rank: i32,
        described: Option<String>,
    ) {
        let is_temporary = is_temporary.as_deref() == Some("t");
        let statement =
            Statement { step, text, role: Role::Owner, is_temporary, is_qualified: false };
        if let Some(objects) = described {
            self.described.push((rank + 1, statement.clone(), objects));
        }
        self.statements.push((rank, statement));
    }
}

impl Statements {
    /// The statement that locks the tables, which comes first; `None` where there is nothing to do.
    pub fn lock(&self) -> Option<&Statement> {
        self.ranked.first().map(|(_, statement)| statement)
    }

    /// Executes those of a step after the lock, and checks between them that names still mean the
    /// same, because each might run code of the owner that renames something.
    fn execute(&self, step: Step) -> Result<(), Obstacle> {
        let mut is_checked = false;
        let of_step = self.ranked.iter().skip(1).filter(|(_, statement)| statement.step == step);
        for (rank, statement) in of_step {
            self.names.check()?;
            if *rank >= FINISHES && !is_checked {
                trust::check_created(&self.owner, &self.created)?;
                is_checked = true;
            }
            if (CREATIONS..=FINISHES).contains(rank) {
                statement.create_again(&self.owner)?;
            } else {
                statement.execute(&self.owner)?;
            }
        }
        if !is_checked {
            trust::check_created(&self.owner, &self.created)?;
        }
        self.names.check()
    }

    /// All of them with the name of the step. Each step begins with a statement that refuses other
    /// sessions than the owner's.
    pub fn into_rows(self) -> Vec<(Step, String)> {
        let check = session_check(self.owner.role);
        let mut rows = Vec::new();
        for (_, Statement { step, text, .. }) in self.ranked {
            if rows.last().is_none_or(|(last, _)| *last != step) {
                rows.push((step, check.clone()));
            }
            rows.push((step, text));
        }
        rows
    }
}
