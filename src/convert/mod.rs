//! Keys that take values of a sequence become keys that take snowflake IDs, and back, by the
//! statements that their owner would write.
//!
//! Nothing is foreseen: what depends on a column, PostgreSQL refuses by itself. Each statement runs as
//! the owner of its table, in a restricted operation, so that code of this owner runs with no other
//! rights, whoever converts.
//!
//! - `plan`: the statements.
//! - `family`: the keys that are asked for, and what refers to them.
//! - `names`: what keeps names those of the same objects.

#![expect(clippy::result_large_err, reason = "an error ends the statement")]

mod family;
mod names;
mod plan;

use PgSqlErrorCode::*;
use pgrx::fcinfo::{pg_arg_is_null, pg_getarg, pg_getarg_datum_raw};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::generate;
use crate::key::Source;
use crate::server::context::with_context;
use crate::server::encoding::{encode, text_of_name};
use crate::server::ours::Function;
use crate::server::report::{self, OrRaise};
use crate::server::spi::{execute_here, query};
use crate::server::subtransaction::rolled_back;
use crate::server::transaction;
use crate::server::user::as_owner;
use crate::table::{Table, relation_name};
use family::{Asked, column, owner_of};
use names::lock_schemas;
use plan::{Plan, Statement, conversion, reversion};

/// A text in the encoding of the database.
type Bytes = Vec<u8>;

/// Lets keys take snowflake IDs: one column, or the keys of a relation or of all tables of a schema, and
/// makes them and columns that refer to them bigint. Returns the statements, and those that revert it;
/// executes the former unless `dry_run`. 22023 for arguments that make no sense; 42501 unless the caller
/// has the privileges of the tables' owner; 42703, 42804, 42809, 42P01, 42P16 or 55000 for what is
/// refused; 25001 in a REPEATABLE READ transaction; 40001 if a table changes meanwhile; what the
/// statements raise; else as `snowflake_nextval()`.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_convert(relation regclass DEFAULT NULL, column_name name DEFAULT NULL,
                                  schema regnamespace DEFAULT NULL, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_convert(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<'static, (name!(step, Bytes), name!(statement, Bytes))> {
    // SAFETY: the function has these arguments, of these types.
    let (asked, dry_run) = unsafe {
        let relation = pg_getarg::<pg_sys::Oid>(fcinfo, 0);
        let schema = pg_getarg::<pg_sys::Oid>(fcinfo, 2);
        (asked(relation, name(fcinfo), schema), pg_getarg::<bool>(fcinfo, 3).unwrap_or(true))
    };
    let asked = asked.or_raise();
    // 55000 without preloading or identity, and 25006 on a standby.
    let next_id = generate::next_id();
    let function = ours().or_raise();
    let make = || conversion(&asked, &function, next_id);
    let plan = changed(make, |plan| &plan.convert, Some(&function), dry_run).or_raise();
    if !plan.left.is_empty() {
        let left = plan.left.iter().map(|left| report::sentences(left.message(), left.detail()));
        let left: Vec<_> = left.collect();
        let notice = report::message("not all keys are converted to snowflake IDs");
        report::send(notice.set_detail(left.join("\n")), PgLogLevel::NOTICE);
    }
    let steps = [("convert", plan.convert), ("revert", plan.revert)];
    TableIterator::new(steps.into_iter().flat_map(|(step, statements)| rows(step, statements)))
}

/// Lets a column of snowflake IDs take values of the sequence that it owns, above the largest key.
/// Returns the statements, and executes them unless `dry_run`. Errors as those of `snowflake_convert()`.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_revert(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<'static, (name!(step, Bytes), name!(statement, Bytes))> {
    // SAFETY: the function is strict and has these arguments, of these types.
    let (relation, name, dry_run) = unsafe {
        (pg_getarg::<pg_sys::Oid>(fcinfo, 0), name(fcinfo), pg_getarg::<bool>(fcinfo, 2))
    };
    let (relation, name) = relation.zip(name).expect("the function is strict");
    let function = Function::of("snowflake_nextval");
    let plan = || reversion(column(relation, &name)?, function.as_ref());
    let plan = changed(plan, |plan| &plan.revert, function.as_ref(), dry_run == Some(true));
    let plan = plan.or_raise();
    for (column, source) in plan.keys {
        if let Source::Sequence(sequence) = source {
            warn_of_roles(column.table(), sequence);
        }
    }
    TableIterator::new(rows("revert", plan.revert))
}

/// Warns of roles that may insert into a table, but take no values of the sequence: they needed no right
/// to it before, because an identity needs none, or because the sequence is new.
fn warn_of_roles(table: pg_sys::Oid, sequence: pg_sys::Oid) {
    const ROLES: &str = "
        SELECT string_agg(DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, ', ')
        FROM (
            SELECT relacl FROM pg_class WHERE oid = $1
            UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = $1
        ) AS privileges (acl), aclexplode(acl)
        WHERE privilege_type = 'INSERT'
          AND NOT CASE grantee WHEN 0 THEN has_sequence_privilege('public', $2, 'USAGE, UPDATE')
                               ELSE has_sequence_privilege(grantee, $2, 'USAGE, UPDATE') END";
    let arguments = [table, sequence].map(|oid| (Some(oid.into()), pg_sys::OIDOID));
    let Some(roles) = query(ROLES, &arguments).swap_remove(0).swap_remove(0) else { return };
    let [table, sequence] = [table, sequence].map(relation_name);
    let message = format!("roles that may insert into table {table} may not use its sequence");
    let warning = report::warning(message)
        .set_detail(format!("An INSERT by {roles} fails if it takes the default."))
        .set_hint(format!("Run GRANT USAGE ON SEQUENCE {sequence} TO {roles}."));
    report::send(warning, PgLogLevel::WARNING);
}

/// The column that is named, unless it is NULL.
///
/// # Safety
///
/// The second argument of the function is of type name.
unsafe fn name(fcinfo: pg_sys::FunctionCallInfo) -> Option<String> {
    // SAFETY: the caller's promise.
    unsafe { (!pg_arg_is_null(fcinfo, 1)).then(|| text_of_name(pg_getarg_datum_raw(fcinfo, 1))) }
}

/// 22023 unless it is one column, a relation or a schema.
fn asked(
    relation: Option<pg_sys::Oid>,
    column: Option<String>,
    schema: Option<pg_sys::Oid>,
) -> Result<Asked, ErrorReport> {
    let message = match (relation, column, schema) {
        (Some(relation), Some(column), None) => return Ok(Asked::Column(relation, column)),
        (Some(relation), None, None) => return Ok(Asked::Relation(relation)),
        (None, None, Some(schema)) => return Ok(Asked::Schema(schema)),
        (None, Some(_), _) => "column_name needs a relation",
        _ => "exactly one of relation and schema must be given",
    };
    Err(report::new(ERRCODE_INVALID_PARAMETER_VALUE, message).set_hint(
        "Give a relation and a column, or only a relation or a schema, for all of its keys.",
    ))
}

fn ours() -> Result<Function, ErrorReport> {
    Function::of("snowflake_nextval").ok_or_else(|| {
        let message = "this database has no snowflake_nextval() of the library snowflake_pg";
        report::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .set_detail("The function has to belong to a superuser.")
    })
}

/// Makes a plan, and executes its statements unless `dry_run`.
fn changed(
    make: impl Fn() -> Result<Plan, ErrorReport>,
    statements: impl Fn(&Plan) -> &[Statement],
    function: Option<&Function>,
    dry_run: bool,
) -> Result<Plan, ErrorReport> {
    if !dry_run && transaction::keeps_snapshot() {
        let message =
            "columns cannot be converted in a REPEATABLE READ or SERIALIZABLE transaction";
        return Err(report::new(ERRCODE_ACTIVE_SQL_TRANSACTION, message)
            .set_detail(
                "Such a transaction does not see all keys, and new ones have to be above them.",
            )
            .set_hint("Use a READ COMMITTED transaction."));
    }
    // What the plan reads is locked until it has been read. The locks are given back, because two
    // conversions that have them would wait for each other.
    let first = rolled_back(&make, |error| error.rethrow())?;
    if dry_run {
        return Ok(first);
    }
    for table in &first.locks {
        // SAFETY: the relation exists, or the lock does no harm.
        unsafe { pg_sys::LockRelationOid((*table).into(), pg_sys::AccessExclusiveLock as _) };
    }
    for (_, source) in &first.keys {
        if let Source::Sequence(sequence) = source {
            // SAFETY: as above.
            unsafe { pg_sys::LockRelationOid(*sequence, pg_sys::AccessShareLock as _) };
        }
    }
    lock_schemas(first.locks.iter().map(|table| (*table).into()));
    let plan = make()?;
    if (&plan.locks, &plan.keys) != (&first.locks, &first.keys) {
        return Err(changed_meanwhile(
            "Other tables refer to the keys, or inherit from them, than before.",
        ));
    }
    for Statement { table, text } in statements(&plan) {
        with_context(&format!("while changing table {}", relation_name(*table)), || {
            as_owner(owner_of(*table), || execute_here(text));
        });
    }
    check(&plan, function)?;
    Ok(plan)
}

/// Looks by OID whether the tables of the plan were changed, and not others of their names: 40001. The
/// locks on tables and schemas ensure it; a wrong table would lose its default.
fn check(plan: &Plan, function: Option<&Function>) -> Result<(), ErrorReport> {
    // SAFETY: what the statements have done becomes visible.
    unsafe { pg_sys::CommandCounterIncrement() };
    let is_done = plan.keys.iter().all(|(key, source)| {
        Source::of(&Table::read(key.table()), key.number, function) == *source
    });
    let is_done = is_done && !plan.retyped.iter().any(|key| key.is_narrow());
    is_done
        .then_some(())
        .ok_or_else(|| changed_meanwhile("The statements have changed other tables than planned."))
}

fn changed_meanwhile(what: &str) -> ErrorReport {
    report::new(
        ERRCODE_T_R_SERIALIZATION_FAILURE,
        "tables of the conversion were changed meanwhile",
    )
    .set_detail(what)
    .set_hint("Try again.")
}

fn rows(step: &'static str, statements: Vec<Statement>) -> impl Iterator<Item = (Bytes, Bytes)> {
    let bytes = |text: &str| encode(text).into_bytes();
    statements.into_iter().map(move |statement| (bytes(step), bytes(&statement.text)))
}
