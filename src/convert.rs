//! From serial, identity and plain integer columns to snowflake IDs, and back.
//!
//! The catalog is asked, in `sql/convert/`, for what stands in the way and for the statements to execute. They
//! are executed with the rights of the caller, in the caller's transaction. `search_path` is fixed meanwhile, so that every name
//! and operator is PostgreSQL's own, or is written with its schema.

use std::ffi::CStr;

use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::SpiClient;

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
/// executes them unless `dry_run`. 42501 unless owner; 42809, 42703, 42P16, 42804, 2BP01 or 55000 for what cannot be
/// converted safely; else as `snowflake_nextval()`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_convert(relation regclass, column_name name, dry_run boolean DEFAULT true) RETURNS SETOF text
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET row_security = off
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_convert(
    relation: pg_sys::Oid,
    column_name: &CStr,
    dry_run: bool,
    fcinfo: pg_sys::FunctionCallInfo,
) -> SetOfIterator<'static, String> {
    run(Column::new(relation, column_name, fcinfo), CONVERT, dry_run)
}

/// Makes a column of snowflake IDs an identity column that starts above its largest value; returns the statements, and
/// executes them unless `dry_run`. 42501 unless owner; 42809, 42703, 42P16, 0A000, 2BP01 or 55000 for what cannot be reverted.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true) RETURNS SETOF text
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET row_security = off
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_revert(
    relation: pg_sys::Oid,
    column_name: &CStr,
    dry_run: bool,
    fcinfo: pg_sys::FunctionCallInfo,
) -> SetOfIterator<'static, String> {
    run(Column::new(relation, column_name, fcinfo), REVERT, dry_run)
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
                "SELECT statement FROM statements, is_done WHERE NOT is_done ORDER BY rank, statement"
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

fn run(column: Column, direction: Direction, dry_run: bool) -> SetOfIterator<'static, String> {
    let statements = Spi::connect_mut(|client| {
        let planned = column.plan(client, direction);
        match planned.first() {
            Some(lock) if !dry_run => {
                execute(client, lock);
                // Before the lock, things may have changed.
                let statements = column.plan(client, direction);
                if statements.first() != Some(lock) {
                    Error::Column(Obstacle {
                        sqlstate: PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                        message: "the column was changed by somebody else at the same time".into(),
                        detail: None,
                        hint: Some("Try again.".into()),
                    })
                    .raise();
                }
                statements[1..].iter().for_each(|statement| execute(client, statement));
                statements
            }
            _ => planned,
        }
    });
    SetOfIterator::new(statements)
}

/// A column to convert.
struct Column {
    relation: pg_sys::Oid,
    name: String,
    /// The schema that this extension is in.
    schema: String,
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
    fn new(relation: pg_sys::Oid, name: &CStr, fcinfo: pg_sys::FunctionCallInfo) -> Column {
        // SAFETY: PostgreSQL calls with a function, which is in a schema.
        let schema = unsafe {
            let namespace = pg_sys::get_func_namespace((*(*fcinfo).flinfo).fn_oid);
            CStr::from_ptr(pg_sys::get_namespace_name(namespace)).to_string_lossy().into_owned()
        };
        Column { relation, name: name.to_string_lossy().into_owned(), schema }
    }

    /// The statements that lead there. Raises an error for what stands in the way.
    fn plan(&self, client: &SpiClient, direction: Direction) -> Vec<String> {
        if let Some(obstacle) = self.ask(client, direction.obstacles, None, obstacle).into_iter().next() {
            Error::Column(obstacle).raise();
        }
        let start = (direction.judge)(&self.values(client))
            .unwrap_or_else(|obstacle| Error::Column(obstacle).raise());
        self.ask(client, direction.statements, Some(start), |row| text(row, 1).expect("a statement"))
    }

    /// The rows that a query of `sql/convert/` returns.
    fn ask<T>(&self, client: &SpiClient, query: &str, start: Option<i64>, row: impl Fn(&Row) -> T) -> Vec<T> {
        // SAFETY: the types are those of the values.
        let arguments = unsafe {
            [
                DatumWithOid::new(self.relation, pg_sys::REGCLASSOID),
                DatumWithOid::new(self.name.clone(), pg_sys::TEXTOID),
                DatumWithOid::new(self.schema.clone(), pg_sys::TEXTOID),
                DatumWithOid::new(start, pg_sys::INT8OID),
            ]
        };
        let rows = client.select(query, None, &arguments).expect("the catalog answers");
        rows.map(|found| row(&found)).collect()
    }

    fn values(&self, client: &SpiClient) -> Values {
        let (query, of) = self
            .ask(client, VALUES, None, |row| {
                (text(row, 1).expect("a query"), text(row, 2).expect("a column"))
            })
            .swap_remove(0);
        let found = client.select(query.as_str(), None, &[]).expect("the table answers").first();
        let (largest, has_null) = found.get_two().expect("two columns");
        Values { of, largest, has_null: has_null.unwrap_or(false) }
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

/// Writes the query for what is in the column.
const VALUES: &str = "SELECT format('SELECT max(%1$I)::bigint, count(*) > count(%1$I) FROM %2$I.%3$I', $2, nspname, relname), \
     format('column %I of table %I.%I', $2, nspname, relname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = $1";

type Row<'a> = pgrx::spi::SpiHeapTupleData<'a>;

fn text(row: &Row, column: usize) -> Option<String> {
    row[column].value().expect("a text")
}

fn obstacle(row: &Row) -> Obstacle {
    let sqlstate = text(row, 1).expect("a SQLSTATE");
    Obstacle {
        sqlstate: sqlstate_of(&sqlstate),
        message: text(row, 2).expect("a message"),
        detail: text(row, 3),
        hint: text(row, 4),
    }
}

/// PostgreSQL packs the five characters of a SQLSTATE into six bits each.
fn sqlstate_of(text: &str) -> PgSqlErrorCode {
    let packed =
        text.bytes().rev().fold(0, |packed, byte| packed << 6 | (i32::from(byte) - i32::from(b'0')) & 0x3f);
    PgSqlErrorCode::from(packed)
}

fn execute(client: &mut SpiClient, statement: &str) {
    client.update(statement, None, &[]).expect("an error ends the call");
}
