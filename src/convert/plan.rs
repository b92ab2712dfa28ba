//! What is asked for, and what it takes.

use std::collections::HashMap;

use pgrx::prelude::*;

use super::dependents::recreation;
use super::statement::{Statement, Step, as_owner};
use super::{Obstacle, wrong_argument};
use crate::generate;
use crate::server::catalog::{Argument, Row, query, query_of_users};
use crate::server::encoding::encode;

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
const PLAN: &str = concat!(include_str!("keys.sql"), include_str!("plan.sql"));

/// The query that finds the statements which give objects their owners, privileges and comments.
const PROPERTIES: &str = include_str!("properties.sql");

/// The ranks of statements that come from elsewhere, between those of `plan.sql`.
const DROPS: i32 = 20;
const CREATIONS: i32 = 90;
const REFRESHES: i32 = 100;

/// The keys of a call.
pub struct Keys {
    /// The relation, the column, the schema, and the schema of this extension.
    arguments: [Argument; 4],
}

impl Keys {
    /// 22023 unless they are one column, a relation or a schema.
    pub fn new(
        fcinfo: pg_sys::FunctionCallInfo,
        relation: Option<pg_sys::Datum>,
        column: Option<pg_sys::Datum>,
        schema: Option<pg_sys::Datum>,
    ) -> Result<Keys, Obstacle> {
        if relation.is_some() == schema.is_some() || column.is_some() && relation.is_none() {
            return Err(wrong_argument(
                "either a relation or a schema is to be named".into(),
                "Name a relation and one of its columns, or only a relation or schema, for all of \
                 its keys.",
            ));
        }
        // SAFETY: PostgreSQL calls with a function, which is in a schema. The text is a copy.
        let own_schema = unsafe {
            let namespace = pg_sys::get_func_namespace((*(*fcinfo).flinfo).fn_oid);
            pg_sys::cstring_to_text(pg_sys::get_namespace_name(namespace))
        };
        Ok(Keys {
            arguments: [
                (relation, pg_sys::REGCLASSOID),
                (column, pg_sys::NAMEOID),
                (schema, pg_sys::REGNAMESPACEOID),
                (Some(own_schema.into()), pg_sys::TEXTOID),
            ],
        })
    }

    /// The arguments of the queries that begin with `keys.sql`.
    pub fn arguments(&self, next: Option<i64>, flags: [bool; 3]) -> [Argument; 8] {
        let [relation, column, schema, own_schema] = self.arguments;
        let [is_reversion, recreate, validate] =
            flags.map(|flag| (Some(flag.into()), pg_sys::BOOLOID));
        let next = (next.map(Into::into), pg_sys::INT8OID);
        [relation, column, schema, own_schema, next, is_reversion, recreate, validate]
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
}

/// What the query in `plan.sql` finds.
#[derive(Default)]
pub struct Answer {
    /// The first is the one to report.
    pub obstacles: Vec<Obstacle>,
    /// What the next ID has to satisfy, and what it should.
    pub tests: Vec<Test>,
    pub risky_tests: Vec<Test>,
    values: Vec<Values>,
    statements: Vec<(i32, Statement)>,
    /// Statements after which objects get their properties, with the rank of these.
    described: Vec<(i32, Statement, String)>,
}

/// A query that returns false where the next ID would stand in the way.
pub struct Test {
    query: String,
    owner: pg_sys::Oid,
    obstacle: Obstacle,
}

/// What tells the largest key of a column.
struct Values {
    /// The column, for a message.
    of: String,
    query: String,
    owner: pg_sys::Oid,
    /// Whether an index answers the query.
    has_index: bool,
}

impl Plan {
    /// The statements to execute, and those for later; or the obstacle. A dry run scans no table.
    pub fn statements(&self, dry_run: bool) -> Result<Vec<Statement>, Obstacle> {
        let answer = self.ask(None);
        refuse(answer.obstacles)?;
        let next = match self.direction {
            Direction::Convert => Some(generate::next_id()),
            Direction::Revert => None,
        };
        refuse(
            answer
                .values
                .iter()
                .filter(|values| values.has_index || !dry_run)
                .filter_map(|values| values.obstacle(next)),
        )?;
        let answer = self.ask(next);
        refuse(answer.obstacles)?;
        refuse(answer.tests.into_iter().filter_map(Test::obstacle))?;
        let mut statements = answer.statements;
        let objects = answer.described.iter().map(|(_, _, objects)| objects.as_str());
        let properties = Properties::of(&objects.collect::<Vec<_>>().join(" "));
        for (rank, statement, objects) in &answer.described {
            let following = properties.like(statement, objects);
            statements.extend(following.map(|following| (*rank, following)));
        }
        if self.recreate {
            let recreation = recreation(&self.arguments(next));
            refuse(recreation.obstacles)?;
            let ranked = |rank, all: Vec<Statement>| all.into_iter().map(move |one| (rank, one));
            statements.extend(ranked(DROPS, recreation.drops));
            statements.extend(ranked(CREATIONS, recreation.creations));
            statements.extend(ranked(REFRESHES, recreation.refreshes));
        }
        statements.sort_by_key(|(rank, statement)| (statement.step, *rank));
        Ok(statements.into_iter().map(|(_, statement)| statement).collect())
    }

    /// Locks the views that are dropped, as a query does: a view before what it reads. Otherwise, a
    /// query that has locked a view and waits for a locked table would deadlock with DROP VIEW.
    pub fn lock_views(&self) {
        if self.recreate {
            for view in recreation(&self.arguments(None)).views {
                // SAFETY: the relation may be gone, and then the lock does no harm.
                unsafe { pg_sys::LockRelationOid(view, pg_sys::AccessExclusiveLock as i32) };
            }
        }
    }

    pub fn arguments(&self, next: Option<i64>) -> [Argument; 8] {
        let is_reversion = self.direction == Direction::Revert;
        self.keys.arguments(next, [is_reversion, self.recreate, self.validate])
    }

    pub fn ask(&self, next: Option<i64>) -> Answer {
        let mut answer = Answer::default();
        for row in query(PLAN, &self.arguments(next)) {
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
    /// A row of the plan. Tests need the next ID.
    fn add(&mut self, row: Row, has_next: bool) {
        let [section, text, other, object, detail, hint, owner, is_temporary, rank, described] =
            fields(row);
        let text = match text {
            Some(text) => text,
            None => {
                assert!(!has_next, "only tests need the next ID");
                return;
            }
        };
        let owner = owner.map(oid);
        let rank = rank.expect("a rank").parse().expect("a number");
        let step = match section.as_deref() {
            Some("obstacle") => {
                self.obstacles.push(Obstacle {
                    sqlstate: sqlstate_of(&other.expect("a SQLSTATE")),
                    object: object.expect("an object"),
                    message: text,
                    detail,
                    hint,
                });
                return;
            }
            Some(section @ ("test" | "risky test")) => {
                let obstacle = Obstacle {
                    sqlstate: PgSqlErrorCode::ERRCODE_CHECK_VIOLATION,
                    object: object.expect("an object"),
                    message: other.expect("a message"),
                    detail,
                    hint,
                };
                let tests = if section == "test" { &mut self.tests } else { &mut self.risky_tests };
                tests.push(Test { query: text, owner: owner.expect("an owner"), obstacle });
                return;
            }
            Some(section @ ("values" | "values without index")) => {
                self.values.push(Values {
                    of: object.expect("a column"),
                    query: text,
                    owner: owner.expect("an owner"),
                    has_index: section == "values",
                });
                return;
            }
            Some("convert") => Step::Convert,
            Some("validate") => Step::Validate,
            _ => Step::Revert,
        };
        let is_temporary = is_temporary.as_deref() == Some("t");
        let statement = Statement { step, text, owner, is_temporary, is_qualified: false };
        if let Some(objects) = described {
            self.described.push((rank + 1, statement.clone(), objects));
        }
        self.statements.push((rank, statement));
    }

    pub fn has_keys(&self) -> bool {
        !self.values.is_empty()
    }

    /// Obstacles that an index tells of.
    pub fn judge_values(&self, next: i64) -> impl Iterator<Item = Obstacle> {
        let indexed = self.values.iter().filter(|values| values.has_index);
        indexed.filter_map(move |values| values.obstacle(Some(next)))
    }
}

/// The statements that give objects what CREATE does not, by object. The objects are separated by
/// spaces.
pub struct Properties(HashMap<String, Vec<(String, Option<pg_sys::Oid>)>>);

impl Properties {
    pub fn of(objects: &str) -> Properties {
        let objects = encode(objects);
        // SAFETY: a string that ends with zero. The text is a copy.
        let text = unsafe { pg_sys::cstring_to_text(objects.as_ptr()) };
        let mut properties = HashMap::<_, Vec<_>>::new();
        for row in query(PROPERTIES, &[(Some(text.into()), pg_sys::TEXTOID)]) {
            let [object, statement, grantor] = fields(row);
            let statement = (statement.expect("a statement"), grantor.map(oid));
            properties.entry(object.expect("an object")).or_default().push(statement);
        }
        Properties(properties)
    }

    /// Those of some of the objects. The owner of what another statement changes executes them,
    /// unless somebody else has granted a privilege.
    pub fn like(&self, like: &Statement, objects: &str) -> impl Iterator<Item = Statement> {
        let found = objects.split(' ').filter_map(|object| self.0.get(object)).flatten();
        found.map(|(text, grantor)| Statement {
            text: text.clone(),
            owner: grantor.or(like.owner),
            is_qualified: true,
            ..like.clone()
        })
    }
}

impl Test {
    /// What is in the way, where the test fails.
    pub fn obstacle(self) -> Option<Obstacle> {
        let row = as_owner(self.owner, false, || query_of_users(&self.query).swap_remove(0));
        let [passes] = fields(row);
        (passes.as_deref() == Some("f")).then_some(self.obstacle)
    }
}

impl Values {
    /// Why keys cannot go on from what is there.
    fn obstacle(&self, next: Option<i64>) -> Option<Obstacle> {
        let row = as_owner(self.owner, false, || query(&self.query, &[]).swap_remove(0));
        let [largest, has_null] = fields(row);
        let largest: Option<i64> = largest.map(|largest| largest.parse().expect("a bigint"));
        match (next, largest) {
            (Some(next), Some(largest)) if largest >= next => Some(self.refusal(
                "holds values that are not below the next snowflake ID",
                format!("The largest value is {largest}, and the next ID {next}."),
                Some(
                    "New rows would get smaller keys, and eventually a key that already exists. \
                     Change those values, or choose an earlier snowflake.epoch.",
                ),
            )),
            (None, _) if has_null.as_deref() == Some("t") => Some(self.refusal(
                "contains NULL",
                "An identity column cannot hold NULL.".into(),
                None,
            )),
            (None, Some(i64::MAX)) => Some(self.refusal(
                "is used up",
                format!("The largest value is {}: no sequence goes beyond it.", i64::MAX),
                None,
            )),
            _ => None,
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

pub fn fields<const COUNT: usize>(row: Row) -> [Option<String>; COUNT] {
    row.try_into().expect("as many columns as the query has")
}

pub fn oid(text: String) -> pg_sys::Oid {
    pg_sys::Oid::from(text.parse::<u32>().expect("an OID"))
}

/// PostgreSQL packs the five characters of a SQLSTATE into six bits each.
pub fn sqlstate_of(text: &str) -> PgSqlErrorCode {
    let packed = text
        .bytes()
        .rev()
        .fold(0, |packed, byte| packed << 6 | (i32::from(byte) - i32::from(b'0')) & 0x3f);
    PgSqlErrorCode::from(packed)
}
