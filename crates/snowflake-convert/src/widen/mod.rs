//! Widening: an integer key becomes bigint while the application writes.
//!
//! Nothing is executed here, but for a trigger. From the catalog alone, a function says which statement
//! comes next: each column gets a shadow of type bigint, a trigger copies every row that is written, the
//! others are copied range by range, and everything that the column has is made for the shadow, until one
//! transaction exchanges the two. The values stay the same, so there is no way back that anybody needs.
//!
//! All statements are those of the session, which has to be that of the tables' owner: nobody else's code
//! runs with its rights, as the rule in `trust` says.
//!
//! What the catalog says is the only state. A check, `snowflake_widen_same_...`, pairs a column with its
//! shadow, and says that they have the same value: it holds for all rows that are written, and once it is
//! validated, for all rows. Whatever takes the place of something else has a name that is made of the
//! definition of this, so that it is made anew if the other was changed meanwhile.
//!
//! - `copy`: the trigger.
//! - `unit`: the columns of a call, and who calls.
//! - `expressions`: expressions with shadows in place of columns.
//! - `step`: a statement.
//! - `swap`: the last of them.
//! - `obstacles`: what stands in the way.
//! - `next`: which comes next.
//! - `report`: all that is to be known before it.

mod copy;
mod expressions;
mod next;
mod obstacles;
mod report;
mod step;
mod swap;
mod unit;

use pgrx::prelude::*;
use snowflake_server::encoding::text_argument;
use snowflake_server::report::OrRaise;

use crate::finding::Finding;
use crate::rows::{Bytes, bytes};

use next::Goal;
use unit::Unit;

/// The next statement of widening a key, with what to know of its execution. 22023 for arguments that
/// make no sense; 42501 unless the session is one of the tables' owner; else the obstacles, as
/// `snowflake_convert()` raises them.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_widen_next(relation regclass, goal text DEFAULT 'prepare',
                                     "position" bigint DEFAULT 0, also text[] DEFAULT '{}',
                                     publications name[] DEFAULT '{}', harmless_triggers text[] DEFAULT '{}')
    RETURNS TABLE (phase text, object text, locks text, statement text, lock_timeout integer,
                   in_transaction boolean, next_position bigint, done bigint, total bigint, wait text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
#[allow(clippy::type_complexity)]
fn snowflake_widen_next(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(phase, Bytes),
        name!(object, Option<Bytes>),
        name!(locks, Option<Bytes>),
        name!(statement, Option<Bytes>),
        name!(lock_timeout, i32),
        name!(in_transaction, bool),
        name!(next_position, i64),
        name!(done, i64),
        name!(total, i64),
        name!(wait, Option<Bytes>),
    ),
> {
    // SAFETY: the function is strict, and has these arguments, of these types.
    let step = unsafe {
        let goal = Goal::of(&text_argument(fcinfo, 1));
        let position = pgrx::fcinfo::pg_getarg::<i64>(fcinfo, 2).unwrap_or_default();
        goal.and_then(|goal| Unit::of(fcinfo, [3, 4, 5])?.next(goal, position))
    };
    let step = step.or_raise();
    let optional = |text: &Option<String>| text.as_deref().map(bytes);
    TableIterator::once((
        bytes(&step.phase),
        optional(&step.object),
        optional(&step.locks),
        optional(&step.statement),
        step.lock_timeout,
        step.in_transaction,
        step.next_position,
        step.done,
        step.total,
        optional(&step.wait),
    ))
}

/// All that widening a key would run into, change and lock: obstacles, which it refuses, then risks, then
/// changes. Executes nothing. Errors for wrong arguments as those of `snowflake_widen_next()`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_widen_report(relation regclass, also text[] DEFAULT '{}',
                                       publications name[] DEFAULT '{}',
                                       harmless_triggers text[] DEFAULT '{}')
    RETURNS TABLE (kind text, object text, reason text, remedy text, bytes bigint, lock text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
#[allow(clippy::type_complexity)]
fn snowflake_widen_report(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(kind, Bytes),
        name!(object, Bytes),
        name!(reason, Bytes),
        name!(remedy, Option<Bytes>),
        name!(bytes, Option<i64>),
        name!(lock, Option<Bytes>),
    ),
> {
    // SAFETY: the function is strict, and has these arguments, of these types.
    let unit = unsafe { Unit::of(fcinfo, [1, 2, 3]) };
    let findings = unit.map(|unit| unit.report()).or_raise();
    TableIterator::new(findings.into_iter().map(Finding::into_row))
}

/// Lets a swap begin under its locks: 40001 unless the catalog is as it was when the statement was made,
/// and otherwise as `snowflake_widen_next()`. Its statement calls it.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_widen_guard(relation regclass, digest bigint, also text[], publications name[],
                                      harmless_triggers text[])
    RETURNS void
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_widen_guard(fcinfo: pg_sys::FunctionCallInfo) {
    // SAFETY: the function is strict, and has these arguments, of these types.
    let unit = unsafe { Unit::of(fcinfo, [2, 3, 4]) };
    // SAFETY: as above.
    let digest = unsafe { pgrx::fcinfo::pg_getarg::<i64>(fcinfo, 1) }.expect("a number");
    unit.and_then(|unit| unit.check_swap(digest)).or_raise();
}
