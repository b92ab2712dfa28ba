//! From serial, identity and plain integer columns to snowflake IDs, and back.
//!
//! The query in `plan.sql` asks the catalog for obstacles, and for the statements to execute. The
//! caller has to own the tables, and locks them. Each statement runs as the owner of the table that
//! it changes, in a restricted operation: indexes, checks and generated columns of a table may call
//! code of its owner, and a superuser who converts the table must not run that code as superuser.
//! All names in the statements are qualified with their schema. `search_path` is still the
//! caller's, since the owner's code may depend on it, as it may in a statement that the owner
//! executes.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::generate;
use crate::server::catalog::{self, Argument, Row};
use crate::server::encoding::encode;
use crate::server::report::{self, OrRaise, Report};

/// Why a column cannot be converted or reverted.
#[derive(Debug)]
struct Obstacle {
    sqlstate: PgSqlErrorCode,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl Report for Obstacle {
    fn report(self) -> ErrorReport {
        let mut report = report::new(self.sqlstate, self.message);
        if let Some(detail) = self.detail {
            report = report.set_detail(detail);
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(hint);
        }
        report
    }
}

/// Makes the column `bigint DEFAULT snowflake_nextval()`, and columns that refer to it bigint;
/// returns the statements, and executes them unless `dry_run`. 42501 unless owner, and where one
/// statement would reach tables of several owners; 42809, 42703, 42P16, 42804, 2BP01 or 55000 for
/// what cannot be converted safely; 25001 in a REPEATABLE READ transaction; else as
/// `snowflake_nextval()`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_convert(relation regclass, column_name name, dry_run boolean DEFAULT true)
    RETURNS SETOF text LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_convert(fcinfo: pg_sys::FunctionCallInfo) -> SetOfIterator<'static, Vec<u8>> {
    change(fcinfo, Direction::Convert).or_raise()
}

/// Makes a column of snowflake IDs an identity column that starts above its largest value; returns
/// the statements, and executes them unless `dry_run`. Errors as those of `snowflake_convert()`,
/// and 0A000.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true)
    RETURNS SETOF text LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_revert(fcinfo: pg_sys::FunctionCallInfo) -> SetOfIterator<'static, Vec<u8>> {
    change(fcinfo, Direction::Revert).or_raise()
}

/// The query that finds what stands in the way, and the statements.
const PLAN: &str = include_str!("plan.sql");

/// One of the two ways.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Convert,
    Revert,
}

/// A statement to execute.
#[derive(PartialEq, Eq)]
struct Statement {
    text: String,
    /// The owner of the table that it changes; `None` for a statement that the caller executes.
    owner: Option<pg_sys::Oid>,
    /// Whether the table is temporary. PostgreSQL allows no new temporary relation in a restricted
    /// operation.
    is_temporary: bool,
}

fn change(
    fcinfo: pg_sys::FunctionCallInfo,
    direction: Direction,
) -> Result<SetOfIterator<'static, Vec<u8>>, Obstacle> {
    // SAFETY: the functions are strict and have these three arguments.
    let (column, dry_run) = unsafe {
        let argument = |number| pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, number);
        (Column::new(argument(0), argument(1), fcinfo), argument(2).value() != 0)
    };
    refuse_old_snapshot()?;
    let mut statements = column.plan(direction)?;
    if let (Some(lock), false) = (statements.first(), dry_run) {
        lock.execute();
        // Before the lock, things may have changed.
        let locked = column.plan(direction)?;
        if locked.first() != Some(lock) {
            return Err(Obstacle {
                sqlstate: PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                message: "the column was changed by somebody else at the same time".into(),
                detail: None,
                hint: Some("Try again.".into()),
            });
        }
        locked[1..].iter().for_each(Statement::execute);
        statements = locked;
    }
    Ok(SetOfIterator::new(
        statements.into_iter().map(|statement| encode(&statement.text).into_bytes()),
    ))
}

/// New keys start above those that are there, so all of them have to be seen.
fn refuse_old_snapshot() -> Result<(), Obstacle> {
    if !catalog::keeps_snapshot() {
        return Ok(());
    }
    Err(Obstacle {
        sqlstate: PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
        message: "columns cannot be converted in a REPEATABLE READ or SERIALIZABLE \
            transaction"
            .into(),
        detail: Some(
            "Such a transaction does not see rows that were committed after it began, and the \
             start of new keys depends on them."
                .into(),
        ),
        hint: Some("Use a READ COMMITTED transaction.".into()),
    })
}

impl Statement {
    /// A row of the plan.
    fn new(row: Row) -> Result<Statement, Obstacle> {
        let [sqlstate, text, detail, hint, owner, is_temporary] = fields(row);
        let text = text.expect("a statement, or a message");
        if let Some(sqlstate) = sqlstate {
            return Err(Obstacle { sqlstate: sqlstate_of(&sqlstate), message: text, detail, hint });
        }
        Ok(Statement {
            text,
            owner: owner.map(oid),
            is_temporary: is_temporary.as_deref() == Some("t"),
        })
    }

    fn execute(&self) {
        match self.owner {
            Some(owner) => as_owner(owner, self.is_temporary, || catalog::execute(&self.text)),
            None => catalog::execute(&self.text),
        }
    }
}

/// Runs `act` as the owner of a table, in a restricted operation. It is not restricted for a
/// temporary table of the current user, which no other session can use.
fn as_owner<T>(owner: pg_sys::Oid, is_temporary: bool, act: impl FnOnce() -> T) -> T {
    // SAFETY: reads a variable of this process.
    let is_own = is_temporary && owner == unsafe { pg_sys::GetUserId() };
    catalog::as_user(owner, !is_own, act)
}

/// A column to convert.
struct Column {
    /// The relation, the column's name and the schema of this extension.
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
    unsafe fn new(
        relation: pg_sys::Datum,
        name: pg_sys::Datum,
        fcinfo: pg_sys::FunctionCallInfo,
    ) -> Column {
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

    /// The statements to execute, or the obstacle.
    fn plan(&self, direction: Direction) -> Result<Vec<Statement>, Obstacle> {
        self.ask(direction, None)?;
        let values = self.values();
        let start = match direction {
            Direction::Convert => judge_conversion(&values),
            Direction::Revert => judge_reversion(&values),
        };
        self.ask(direction, Some(start?))
    }

    /// The statements, where new rows start with this value.
    fn ask(&self, direction: Direction, start: Option<i64>) -> Result<Vec<Statement>, Obstacle> {
        let [relation, name, schema] = self.arguments;
        let start = (start.map(Into::into), pg_sys::INT8OID);
        let is_reversion = (Some((direction == Direction::Revert).into()), pg_sys::BOOLOID);
        let rows = catalog::query(PLAN, &[relation, name, schema, start, is_reversion]);
        rows.into_iter().map(Statement::new).collect()
    }

    fn values(&self) -> Values {
        let [relation, name, _] = self.arguments;
        let [query, of, owner] = fields(catalog::query(VALUES, &[relation, name]).swap_remove(0));
        let query = query.expect("a query");
        let found = as_owner(oid(owner.expect("an owner")), false, || {
            catalog::query(&query, &[]).swap_remove(0)
        });
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
            hint: Some(
                "New rows would get smaller keys, and eventually a key that already exists. \
                 Change those values, or choose an earlier snowflake.epoch."
                    .into(),
            ),
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

/// Returns the text of the query that examines the values of the column. $1 is the relation, $2 the
/// column.
const VALUES: &str = "SELECT format('SELECT max(%1$I)::bigint, count(*) > count(%1$I) FROM \
    %2$I.%3$I', $2, nspname, relname), \
     format('column %I of table %I.%I', $2, nspname, relname), relowner \
     FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = $1";

fn fields<const COUNT: usize>(row: Row) -> [Option<String>; COUNT] {
    row.try_into().expect("as many columns as the query has")
}

fn oid(text: String) -> pg_sys::Oid {
    pg_sys::Oid::from(text.parse::<u32>().expect("an OID"))
}

/// PostgreSQL packs the five characters of a SQLSTATE into six bits each.
fn sqlstate_of(text: &str) -> PgSqlErrorCode {
    let packed = text
        .bytes()
        .rev()
        .fold(0, |packed, byte| packed << 6 | (i32::from(byte) - i32::from(b'0')) & 0x3f);
    PgSqlErrorCode::from(packed)
}
