//! From serial, identity and plain integer columns to snowflake IDs, and back.
//!
//! The queries beside this file ask the catalog for what stands in the way, and for the statements
//! to execute. A conversion has one owner: the role that owns the tables, and everything else that
//! is changed. The caller has to have the rights of this role, and all of it runs as this role, in
//! a restricted operation: indexes, checks and generated columns of a table might call code, and a
//! superuser who converts the table must not run that code as superuser. All names in the
//! statements are qualified with their schema. `search_path` is still the caller's where a
//! statement might run the owner's code, because that might depend on it, but for schemas in which
//! others create objects.
//!
//! - `plan`: what is asked for, and what it takes.
//! - `keys`: which keys a call is for.
//! - `answer`: what the query of a plan finds.
//! - `trust`: the rule of one owner.
//! - `trial`: what the next ID is tried with.
//! - `execution`: how a plan is carried out.
//! - `probe`: statements of the application, which a rehearsal tries.
//! - `calls`: what expressions call before a conversion, and after it.
//! - `dependents`: views and other objects that are dropped and created again.
//! - `functions`: functions that might not take the new keys.
//! - `properties`: privileges, comments and the like.
//! - `generator`: what is called of the extension `snowflake`.
//! - `statement`: a statement, and as whom it runs.
//! - `report`: everything that a conversion might run into, and what it locks.
//! - `views`: whether views can be created again.
//! - `finding`: a row of the report.
//! - `obstacle`: why a column cannot be converted.
//! - `rows`: what queries return.
//! - `usage`: how far keys that take values of a sequence are used up.
//! - `sequence`: reads a sequence, and keeps nothing of it.
//! - `widen`: what makes an integer key bigint while the application writes.

mod answer;
mod calls;
mod dependents;
mod execution;
mod finding;
mod functions;
mod generator;
mod keys;
mod obstacle;
mod plan;
mod probe;
mod properties;
mod report;
mod rows;
mod sequence;
mod statement;
mod trial;
mod trust;
mod usage;
mod views;
mod widen;

use pgrx::fcinfo::pg_getarg;
use pgrx::prelude::*;
use snowflake_server::encoding::{text_argument, text_array_argument};
use snowflake_server::report::OrRaise;
use snowflake_server::subtransaction;

use execution::change;
use finding::Finding;
use generator::Generator;
use keys::Keys;
use obstacle::{Obstacle, wrong_argument};
use plan::{Direction, Plan};
use probe::Probe;
use rows::{Bytes, bytes};
use statement::{Step, execute_all};
use trust::Owner;

pg_module_magic!(name, version);

extension_sql_file!("../sql/requirements.sql", name = "requirements", bootstrap);
extension_sql_file!("../sql/usage.sql", name = "usage", requires = [snowflake_key_usage]);
extension_sql_file!("../sql/comments.sql", name = "comments", finalize);

/// What the functions return: the step that a statement belongs to, and the statement.
type Rows = TableIterator<'static, (Bytes, Bytes)>;

/// Makes keys `bigint DEFAULT snowflake_nextval()`, and columns that refer to them bigint: one
/// column, or all columns of a relation or a schema that take values of a sequence. Returns the
/// statements, those that create functions again, those that validate foreign keys afterwards, and
/// those that revert it; executes the first unless `dry_run`. 22023 for arguments that make no sense;
/// 42501 unless owner; 42809, 42703, 42704, 42P16, 42804, 2BP01, 23514, 53400 or 55000 for what cannot
/// be converted safely, and 55000 for functions that are not acknowledged; 25001 in a REPEATABLE READ
/// transaction; what the statements of `probe` raise; else as `snowflake_nextval()`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_convert(relation regclass DEFAULT NULL, column_name name DEFAULT NULL,
                                  dry_run boolean DEFAULT true, dependents text DEFAULT 'refuse',
                                  validate boolean DEFAULT false, rehearse boolean DEFAULT false,
                                  schema regnamespace DEFAULT NULL, acknowledged regprocedure[] DEFAULT '{}',
                                  probe text[] DEFAULT '{}')
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_convert(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<'static, (name!(step, Bytes), name!(statement, Bytes))> {
    convert(fcinfo).or_raise()
}

/// Makes a column of snowflake IDs take values of the sequence that it owns, or makes it an
/// identity column; new values continue above the largest one. Returns the statements, and executes
/// them unless `dry_run`. Errors as those of `snowflake_convert()`, and 0A000.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_revert(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<'static, (name!(step, Bytes), name!(statement, Bytes))> {
    revert(fcinfo).or_raise()
}

/// Executes statements that a conversion or a reversion returned as the role that owns what they
/// change, restricted, with names looked up as in the conversion. 42501 unless the caller may become
/// this role; 42704 if there is no such role; 22004 for a NULL; else what the statements raise.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_convert_execute(statements text[], owner regrole) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_convert_execute(fcinfo: pg_sys::FunctionCallInfo) {
    execute(fcinfo).or_raise();
}

/// All that a conversion would run into: obstacles, which it refuses, and risks for applications;
/// and what it would rewrite and lock. Without a column, also what cannot hold the values of keys that
/// take snowflake IDs already, or that come from elsewhere. Executes nothing, and takes no ID. Errors
/// for wrong arguments as those of `snowflake_convert()`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_convert_report(relation regclass DEFAULT NULL, column_name name DEFAULT NULL,
                                         schema regnamespace DEFAULT NULL)
    RETURNS TABLE (kind text, object text, reason text, remedy text, rewritten bigint, lock text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
#[allow(clippy::type_complexity)]
fn snowflake_convert_report(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(kind, Bytes),
        name!(object, Bytes),
        name!(reason, Bytes),
        name!(remedy, Option<Bytes>),
        name!(rewritten, Option<i64>),
        name!(lock, Option<Bytes>),
    ),
> {
    // SAFETY: the function has these arguments, of these types.
    let [relation, column, schema] = unsafe { [0, 1, 2].map(|number| argument(fcinfo, number)) };
    let findings = Keys::new(relation, column, schema).and_then(report::of);
    TableIterator::new(findings.or_raise().into_iter().map(Finding::into_row))
}

/// The columns of the database that take values of a sequence, with the last value, what it can be at
/// most, and the part that is used. A member of `pg_monitor` may read all sequences.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_key_usage()
    RETURNS TABLE (schema_name text, table_name text, column_name text, column_type text, sequence text,
                   last_value bigint, sequence_limit bigint, column_limit bigint,
                   reference text, reference_limit bigint, key_limit bigint, part_used double precision,
                   readable boolean)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
#[allow(clippy::type_complexity)]
fn snowflake_key_usage() -> TableIterator<
    'static,
    (
        name!(schema_name, Bytes),
        name!(table_name, Bytes),
        name!(column_name, Bytes),
        name!(column_type, Bytes),
        name!(sequence, Bytes),
        name!(last_value, Option<i64>),
        name!(sequence_limit, i64),
        name!(column_limit, Option<i64>),
        name!(reference, Option<Bytes>),
        name!(reference_limit, Option<i64>),
        name!(key_limit, i64),
        name!(part_used, Option<f64>),
        name!(readable, bool),
    ),
> {
    TableIterator::new(usage::of(None).into_iter().map(|usage| {
        (
            bytes(&usage.schema),
            bytes(&usage.table),
            bytes(&usage.column),
            bytes(&usage.column_type),
            bytes(&usage.sequence),
            usage.last_value.flatten(),
            usage.sequence_limit,
            usage.column_limit,
            usage.reference.as_deref().map(bytes),
            usage.reference_limit,
            usage.limit(),
            usage.part(),
            usage.last_value.is_some(),
        )
    }))
}

fn execute(fcinfo: pg_sys::FunctionCallInfo) -> Result<(), Obstacle> {
    // SAFETY: the function has these two arguments.
    let (statements, owner) = unsafe {
        (
            argument(fcinfo, 0).map(|_| text_array_argument(fcinfo, 0)),
            pg_getarg::<pg_sys::Oid>(fcinfo, 1),
        )
    };
    let (Some(statements), Some(owner)) = (statements, owner) else {
        return Err(Obstacle {
            hint: Some(
                "array_agg() returns NULL if no row matches: the conversion has another name, or no \
                 statements of this step."
                    .into(),
            ),
            ..null("statements and owner must not be NULL")
        });
    };
    let statements = without_null(statements)?;
    let owner = Owner::of_caller(owner)?;
    let generator = Generator::of_database()?;
    execute_all(&owner, statements);
    trust::check_defaults(generator.nextval(), &owner)
}

/// 22004 if one of the statements is NULL.
fn without_null(statements: Vec<Option<String>>) -> Result<Vec<String>, Obstacle> {
    let statements: Option<Vec<String>> = statements.into_iter().collect();
    statements.ok_or_else(|| null("a statement must not be NULL"))
}

fn null(message: &str) -> Obstacle {
    Obstacle {
        sqlstate: PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        object: String::new(),
        message: message.into(),
        detail: None,
        hint: None,
    }
}

fn convert(fcinfo: pg_sys::FunctionCallInfo) -> Result<Rows, Obstacle> {
    // SAFETY: the function has these arguments. All types are those of the declaration.
    let (keys, dry_run, dependents, validate, rehearse, acknowledged, probe) = unsafe {
        (
            Keys::new(argument(fcinfo, 0), argument(fcinfo, 1), argument(fcinfo, 6))?,
            pg_getarg::<bool>(fcinfo, 2).unwrap_or(true),
            argument(fcinfo, 3).map(|_| text_argument(fcinfo, 3)),
            pg_getarg::<bool>(fcinfo, 4).unwrap_or_default(),
            pg_getarg::<bool>(fcinfo, 5).unwrap_or_default(),
            argument(fcinfo, 7),
            argument(fcinfo, 8).map(|_| text_array_argument(fcinfo, 8)),
        )
    };
    let recreate = match dependents.as_deref() {
        None | Some("refuse") => false,
        Some("recreate") => true,
        Some(other) => {
            return Err(wrong_argument(
                format!("invalid value for argument \"dependents\": \"{other}\""),
                "Valid values are \"refuse\" and \"recreate\".",
            ));
        }
    };
    if rehearse && !dry_run {
        return Err(wrong_argument(
            "rehearse => true and dry_run => false cannot be used together".into(),
            "Leave out one of them: what a rehearsal executes is rolled back.",
        ));
    }
    let probe = Probe(without_null(probe.unwrap_or_default())?);
    if !rehearse && !probe.0.is_empty() {
        return Err(wrong_argument(
            "probe needs rehearse => true".into(),
            "Its statements are executed after those of the conversion, and rolled back with them.",
        ));
    }
    let plan = Plan {
        keys,
        direction: Direction::Convert,
        recreate,
        validate,
        is_report: false,
        with_functions: true,
        acknowledged,
    };
    let statements = if rehearse {
        let rehearsal = || change(&plan, false, Some(&probe));
        subtransaction::rolled_back(rehearsal, |error| error.rethrow())?
    } else {
        change(&plan, dry_run, None)?
    };
    Ok(table(statements))
}

fn revert(fcinfo: pg_sys::FunctionCallInfo) -> Result<Rows, Obstacle> {
    // SAFETY: the function is strict and has these three arguments.
    let (keys, dry_run) = unsafe {
        (
            Keys::new(argument(fcinfo, 0), argument(fcinfo, 1), None)?,
            pg_getarg::<bool>(fcinfo, 2).unwrap_or(true),
        )
    };
    let plan = Plan {
        keys,
        direction: Direction::Revert,
        recreate: false,
        validate: false,
        is_report: false,
        with_functions: false,
        acknowledged: None,
    };
    Ok(table(change(&plan, dry_run, None)?))
}

/// An argument of the call, unless it is NULL.
///
/// # Safety
///
/// The function has the argument.
unsafe fn argument(fcinfo: pg_sys::FunctionCallInfo, number: usize) -> Option<pg_sys::Datum> {
    // SAFETY: the caller's promise.
    unsafe {
        (!pgrx::fcinfo::pg_arg_is_null(fcinfo, number))
            .then(|| pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, number))
    }
}

fn table(statements: Vec<(Step, String)>) -> Rows {
    let row = |(step, text): (Step, String)| (bytes(step.name()), bytes(&text));
    TableIterator::new(statements.into_iter().map(row))
}
