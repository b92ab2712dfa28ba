//! From serial, identity and plain integer columns to snowflake IDs, and back.
//!
//! The catalog is asked, in `sql/convert/`, for what stands in the way and for the statements to execute. The caller has to
//! own the tables, and locks them. Each statement runs as the owner of the table that it changes, in a restricted operation:
//! a table may carry code of its owner's, in indexes, checks and generated columns, and a superuser who converts it must not
//! run that as superuser. All names in the statements have their schema. `search_path` stays the caller's, since that code may
//! depend on it as it would in a statement of the owner's own.

use pgrx::prelude::*;

use crate::catalog::{self, Argument, Row};
use crate::encoding::encode;
use crate::error::Error;
use crate::generate;

/// Why a column cannot be converted or reverted.
#[derive(Debug)]
pub struct Obstacle {
    /// Its SQLSTATE.
    pub sqlstate: PgSqlErrorCode,
    /// The primary message.
    pub message: String,
    /// A sentence.
    pub detail: Option<String>,
    /// A sentence.
    pub hint: Option<String>,
}

/// Makes the column `bigint DEFAULT snowflake_nextval()`, and columns that refer to it bigint; returns the statements, and
/// executes them unless `dry_run`. 42501 unless owner, and where one statement would reach tables of several owners; 42809,
/// 42703, 42P16, 42804, 2BP01 or 55000 for what cannot be converted safely; 25001 in a REPEATABLE READ transaction; else as
/// `snowflake_nextval()`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_convert(relation regclass, column_name name, dry_run boolean DEFAULT true) RETURNS SETOF text
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_convert(fcinfo: pg_sys::FunctionCallInfo) -> SetOfIterator<'static, Vec<u8>> {
    change(fcinfo, CONVERT)
}

/// Makes a column of snowflake IDs an identity column that starts above its largest value; returns the statements, and
/// executes them unless `dry_run`. Errors as those of `snowflake_convert()`, and 0A000.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true) RETURNS SETOF text
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_revert(fcinfo: pg_sys::FunctionCallInfo) -> SetOfIterator<'static, Vec<u8>> {
    change(fcinfo, REVERT)
}

/// One of the two ways.
#[derive(Clone, Copy)]
struct Direction {
    obstacles: &'static str,
    statements: &'static str,
    /// Judges the values in the column, and gives the one that new rows start with.
    judge: fn(&Values) -> Result<i64, Obstacle>,
}

macro_rules! queries {
    ($direction:literal) => {
        (
            concat!(
                include_str!("../sql/convert/columns.sql"),
                include_str!(concat!("../sql/convert/", $direction, ".sql")),
                "SELECT sqlstate, message, detail, hint FROM obstacles ORDER BY rank, message LIMIT 1"
            ),
            concat!(
                include_str!("../sql/convert/columns.sql"),
                include_str!(concat!("../sql/convert/", $direction, ".sql")),
                "SELECT statement, owner, is_temporary FROM statements, is_done WHERE NOT is_done ORDER BY rank, statement"
            ),
        )
    };
}

const CONVERT: Direction = {
    let (obstacles, statements) = queries!("convert");
    Direction { obstacles, statements, judge: judge_conversion }
};

const REVERT: Direction = {
    let (obstacles, statements) = queries!("revert");
    Direction { obstacles, statements, judge: judge_reversion }
};

/// A statement to execute.
#[derive(PartialEq, Eq)]
struct Statement {
    text: String,
    /// The owner of the table that it changes; `None` for a statement that the caller executes.
    owner: Option<pg_sys::Oid>,
    /// Whether the table is temporary. PostgreSQL allows no new temporary relation in a restricted operation.
    is_temporary: bool,
}

fn change(fcinfo: pg_sys::FunctionCallInfo, direction: Direction) -> SetOfIterator<'static, Vec<u8>> {
    // SAFETY: the functions are strict and have these three arguments.
    let (column, dry_run) = unsafe {
        let argument = |number| pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, number);
        (Column::new(argument(0), argument(1), fcinfo), argument(2).value() != 0)
    };
    // SAFETY: reads a variable of this process.
    if unsafe { pg_sys::XactIsoLevel } >= pg_sys::XACT_REPEATABLE_READ as i32 {
        Error::OldSnapshot.raise();
    }
    let mut statements = column.plan(direction);
    if let (Some(lock), false) = (statements.first(), dry_run) {
        lock.execute();
        // Before the lock, things may have changed.
        let locked = column.plan(direction);
        if locked.first() != Some(lock) {
            Error::Column(Obstacle {
                sqlstate: PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                message: "the column was changed by somebody else at the same time".into(),
                detail: None,
                hint: Some("Try again.".into()),
            })
            .raise();
        }
        locked[1..].iter().for_each(Statement::execute);
        statements = locked;
    }
    SetOfIterator::new(statements.into_iter().map(|statement| encode(&statement.text).into_bytes()))
}

impl Statement {
    fn new(row: Row) -> Statement {
        let [text, owner, is_temporary] = fields(row);
        Statement {
            text: text.expect("a statement"),
            owner: owner.map(oid),
            is_temporary: is_temporary.as_deref() == Some("t"),
        }
    }

    fn execute(&self) {
        match self.owner {
            Some(owner) => as_owner(owner, self.is_temporary, || catalog::execute(&self.text)),
            None => catalog::execute(&self.text),
        }
    }
}

/// Acts as the owner of a table, restricted. Only a session itself has its temporary tables.
fn as_owner<T>(owner: pg_sys::Oid, is_temporary: bool, act: impl FnOnce() -> T) -> T {
    // SAFETY: reads a variable of this process.
    let is_own = is_temporary && owner == unsafe { pg_sys::GetUserId() };
    catalog::as_user(owner, !is_own, act)
}

/// A column to convert.
struct Column {
    /// What every query of `sql/convert/` is given: the relation, the column's name and the schema of this extension.
    arguments: [Argument; 3],
}

/// What is in the column.
struct Values {
    /// The column, for a message.
    of: String,
    largest: Option<i64>,
    has_null: bool,
}

impl Values {
    fn obstacle(&self, what: &str) -> Obstacle {
        Obstacle {
            sqlstate: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            message: format!("{} {what}", self.of),
            detail: None,
            hint: None,
        }
    }
}

impl Column {
    /// # Safety
    ///
    /// `relation` is an OID, `name` a name, and `fcinfo` that of the call.
    unsafe fn new(relation: pg_sys::Datum, name: pg_sys::Datum, fcinfo: pg_sys::FunctionCallInfo) -> Column {
        // SAFETY: PostgreSQL calls with a function, which is in a schema. The text is a copy.
        let schema = unsafe {
            let namespace = pg_sys::get_func_namespace((*(*fcinfo).flinfo).fn_oid);
            pg_sys::cstring_to_text(pg_sys::get_namespace_name(namespace))
        };
        let arguments = [
            (Some(relation), pg_sys::REGCLASSOID),
            (Some(name), pg_sys::NAMEOID),
            (Some(schema.into()), pg_sys::TEXTOID),
        ];
        Column { arguments }
    }

    /// The statements that lead there. Raises an error for what stands in the way.
    fn plan(&self, direction: Direction) -> Vec<Statement> {
        if let Some(obstacle) = self.ask(direction.obstacles, None).into_iter().next() {
            Error::Column(Obstacle::new(obstacle)).raise();
        }
        let start =
            (direction.judge)(&self.values()).unwrap_or_else(|obstacle| Error::Column(obstacle).raise());
        self.ask(direction.statements, Some(start)).into_iter().map(Statement::new).collect()
    }

    /// The rows that a query of `sql/convert/` returns.
    fn ask(&self, query: &str, start: Option<i64>) -> Vec<Row> {
        let [relation, name, schema] = self.arguments;
        catalog::query(query, &[relation, name, schema, (start.map(Into::into), pg_sys::INT8OID)])
    }

    fn values(&self) -> Values {
        let [query, of, owner] = fields(self.ask(VALUES, None).swap_remove(0));
        let query = query.expect("a query");
        let found =
            as_owner(oid(owner.expect("an owner")), false, || catalog::query(&query, &[]).swap_remove(0));
        let [largest, has_null] = fields(found);
        Values {
            of: of.expect("a column"),
            largest: largest.map(|largest| largest.parse().expect("a bigint")),
            has_null: has_null.as_deref() == Some("t"),
        }
    }
}

fn judge_conversion(values: &Values) -> Result<i64, Obstacle> {
    let next = generate::next_id();
    match values.largest {
        Some(largest) if largest >= next => Err(Obstacle {
            detail: Some(format!("The largest value is {largest}, and the next ID {next}.")),
            hint: Some("New rows would get smaller keys, and one day one that exists. Change those values, or choose an earlier snowflake.epoch.".into()),
            ..values.obstacle("holds values that are not below the next snowflake ID")
        }),
        _ => Ok(next),
    }
}

fn judge_reversion(values: &Values) -> Result<i64, Obstacle> {
    if values.has_null {
        return Err(Obstacle {
            detail: Some("An identity column cannot hold NULL.".into()),
            ..values.obstacle("contains NULL")
        });
    }
    values.largest.unwrap_or(0).max(0).checked_add(1).ok_or_else(|| Obstacle {
        detail: Some(format!("The largest value is {}: no sequence goes beyond it.", i64::MAX)),
        ..values.obstacle("is used up")
    })
}

/// Writes the query for what is in the column. The parameters are those of `sql/convert/`.
const VALUES: &str = "SELECT format('SELECT max(%1$I)::bigint, count(*) > count(%1$I) FROM %2$I.%3$I', $2, nspname, relname), \
     format('column %I of table %I.%I', $2, nspname, relname), relowner \
     FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = $1 AND $3 IS NOT NULL AND $4 IS NULL";

impl Obstacle {
    fn new(row: Row) -> Obstacle {
        let [sqlstate, message, detail, hint] = fields(row);
        Obstacle {
            sqlstate: sqlstate_of(&sqlstate.expect("a SQLSTATE")),
            message: message.expect("a message"),
            detail,
            hint,
        }
    }
}

fn fields<const COUNT: usize>(row: Row) -> [Option<String>; COUNT] {
    row.try_into().expect("as many columns as the query has")
}

fn oid(text: String) -> pg_sys::Oid {
    pg_sys::Oid::from(text.parse::<u32>().expect("an OID"))
}

/// PostgreSQL packs the five characters of a SQLSTATE into six bits each.
fn sqlstate_of(text: &str) -> PgSqlErrorCode {
    let packed =
        text.bytes().rev().fold(0, |packed, byte| packed << 6 | (i32::from(byte) - i32::from(b'0')) & 0x3f);
    PgSqlErrorCode::from(packed)
}
