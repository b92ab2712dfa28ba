//! COPY with a default of `snowflake_nextval()`, at the price of a key that is in the file.
//!
//! COPY inserts many rows at a time only if no default that it evaluates is volatile, and excepts
//! `nextval()` by its OID. So while it plans its defaults, `snowflake_nextval()` is replaced by its
//! stand-in, `snowflake_internal.snowflake_nextval_in_copy()`: the same code, declared STABLE. COPY
//! evaluates a default for each row, whatever it is declared as.
//!
//! `snowflake_nextval()` itself stays volatile, because ALTER TABLE ... ADD COLUMN evaluates a
//! default that is not volatile once, for all rows. An expression with the stand-in might outlive
//! the COPY that it was planned in, since a session plans the checks of a domain only once. So
//! outside of COPY the stand-in takes an ID for each call, too, and within ALTER TABLE it is an
//! error.
//!
//! Whoever calls the stand-in needs the right to execute both functions, so that it gives nobody an
//! ID who may not execute `snowflake_nextval()`.

use std::ptr;

use crate::pg::called_directly;
use crate::pg::library_function::LibraryFunction;
use crate::pg::report;
use pgrx::fcinfo::pg_getarg_datum_raw;
use pgrx::prelude::*;

use crate::generate::nextval;
use crate::keys::utility::{self, Statement};

const ORIGINAL: &str = "snowflake_nextval";
const STAND_IN: &str = "snowflake_nextval_in_copy";

called_directly!(pg_finfo_snowflake_nextval_support);
called_directly!(pg_finfo_snowflake_nextval_in_copy);
extension_sql!(
    "
CREATE FUNCTION snowflake_internal.snowflake_nextval_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'snowflake_nextval_support';
CREATE FUNCTION snowflake_internal.snowflake_nextval_in_copy() RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'snowflake_nextval_in_copy';
ALTER FUNCTION snowflake_nextval() SUPPORT snowflake_internal.snowflake_nextval_support;
",
    name = "copy",
    requires = ["nextval"]
);

/// Answers the planner about a call of `snowflake_nextval()`. A call of the stand-in is the answer
/// where COPY plans a default, which it does outside of any query.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn snowflake_nextval_support(
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Datum {
    // SAFETY: SQL cannot call a function with an argument of type `internal`. The planner passes a
    // request, whose tag says what it is.
    let answer = unsafe {
        let request = pg_getarg_datum_raw(fcinfo, 0).cast_mut_ptr::<pg_sys::Node>();
        match (*request).type_ {
            pg_sys::NodeTag::T_SupportRequestSimplify => simplify(request.cast()),
            _ => None,
        }
    };
    pg_sys::Datum::from(answer.unwrap_or(ptr::null_mut()))
}

/// # Safety
///
/// The request is the planner's.
unsafe fn simplify(request: *mut pg_sys::SupportRequestSimplify) -> Option<*mut pg_sys::FuncExpr> {
    // SAFETY: the call is a node of the planner's, and stays as it is.
    unsafe {
        let pg_sys::SupportRequestSimplify { root, fcall, .. } = *request;
        if !root.is_null() || utility::innermost() != Some(Statement::CopyFrom) {
            return None;
        }
        let original = LibraryFunction::of(ORIGINAL)?;
        let stand_in = LibraryFunction::of(STAND_IN)?;
        if original.oid != (*fcall).funcid || !original.is_allowed() || !stand_in.is_allowed() {
            return None;
        }
        let call = pg_sys::copyObjectImpl(fcall.cast()).cast::<pg_sys::FuncExpr>();
        (*call).funcid = stand_in.oid;
        Some(call)
    }
}

/// The next ID, as [`nextval`]. 42501 without the right to execute that function; 55000
/// within ALTER TABLE.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn snowflake_nextval_in_copy(
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Datum {
    // SAFETY: PostgreSQL calls with a function, whose memory is this function's own to use.
    let function = unsafe { &mut *(*fcinfo).flinfo };
    if function.fn_extra.is_null() || utility::innermost() == Some(Statement::AlterTable) {
        check_call(function);
    }
    nextval()
}

/// Checks once for each call in an expression, as PostgreSQL checks the right to execute.
#[cold]
#[inline(never)]
#[pg_guard]
extern "C-unwind" fn check_call(function: &mut pg_sys::FmgrInfo) {
    if utility::innermost() == Some(Statement::AlterTable) {
        report::not_ready("snowflake_nextval_in_copy() cannot be called in ALTER TABLE")
        .set_detail(
            "It is not volatile, so ALTER TABLE might give all rows one ID. Expressions that were \
             planned during a COPY, such as the check of a domain, keep it until the session ends.",
        )
        .set_hint(
            "Name snowflake_nextval() in the default, or execute the statement in a new session.",
        )
        .raise();
    }
    if !LibraryFunction::of(ORIGINAL).is_some_and(|original| original.is_allowed()) {
        report::new(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            "permission denied for function snowflake_nextval",
        )
        .set_detail(
            "The function snowflake_nextval_in_copy takes the place of snowflake_nextval in COPY, \
             and needs the right to execute both.",
        )
        .set_hint("Call snowflake_nextval() where its execution is granted.")
        .raise();
    }
    function.fn_extra = ptr::from_mut(function).cast();
}
