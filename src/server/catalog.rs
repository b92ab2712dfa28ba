//! Queries to the catalog, and statements, through SPI: with whose rights they run, and where their
//! names are looked up.
//!
//! Whatever the extension executes that could call code of a user (an operator, a function, a cast, a
//! trigger, a rule, a policy, a check, a default, an index expression) runs with no right that the
//! caller lacks, and with none that the writer of that code lacks. So:
//!
//! - Names in queries of ours are looked up in the catalog alone ([`query`]), where nobody but
//!   PostgreSQL has operators and functions.
//! - What might run code of a user runs as the owner of what is read or changed, in a restricted
//!   operation ([`as_owner`]), after the caller was found to have the rights of that owner.
//! - Backslashes in literals mean nothing: `standard_conforming_strings` is on wherever SQL is made
//!   or run.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char};
use std::panic::AssertUnwindSafe;
use std::ptr;

use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;
use pgrx::{PgList, PgTryBuilder};

use super::encoding::{decode, encode};
use super::report::{self, Report};

/// What a query is given: a value, and its type.
pub type Argument = (Option<pg_sys::Datum>, pg_sys::Oid);

/// A row that a query returned, as text.
pub type Row = Vec<Option<String>>;

/// Whether the transaction keeps its first snapshot, and does not see what is committed after it.
pub fn keeps_snapshot() -> bool {
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Where names are looked up, as `search_path` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(CString);

impl Path {
    /// The catalog alone.
    pub fn catalog() -> Path {
        Path::through(&[])
    }

    /// The catalog, and then these schemas. Temporary types and relations of the session come last,
    /// so that they hide no other.
    pub fn through(schemas: &[String]) -> Path {
        let quoted = schemas.iter().map(|name| format!("\"{}\", ", name.replace('"', "\"\"")));
        Path(encode(&format!("pg_catalog, {}pg_temp", quoted.collect::<String>())))
    }

    /// The schemas of the session's own `search_path` that exist, in this order.
    pub fn schemas_of_session() -> Vec<pg_sys::Oid> {
        // SAFETY: a copy of a list of OIDs.
        let schemas = unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::fetch_search_path(false)) };
        schemas.iter_oid().collect()
    }
}

/// How literals are written and read. With `standard_conforming_strings` off, a literal with a
/// backslash would end elsewhere. The other settings ensure that what is written now is read in the
/// same way later.
const LITERALS: [(&CStr, &CStr); 5] = [
    (c"standard_conforming_strings", c"on"),
    (c"DateStyle", c"ISO"),
    (c"IntervalStyle", c"postgres"),
    (c"array_nulls", c"on"),
    // With less than 1, digits of floating-point numbers are lost.
    (c"extra_float_digits", c"1"),
];

/// Runs a query of ours in the latest snapshot that the transaction may have, with names looked up
/// in the catalog alone.
pub fn query(query: &str, arguments: &[Argument]) -> Vec<Row> {
    query_in(query, arguments, false)
}

/// In the active snapshot, or in a newer one of the transaction's.
fn query_in(query: &str, arguments: &[Argument], active: bool) -> Vec<Row> {
    under_settings(|| out_of_context(query, || select(query, arguments, active)))
}

/// Acts under the settings of our queries.
fn under_settings<T>(act: impl FnOnce() -> T) -> T {
    let path = Path::catalog();
    let settings = [
        (c"search_path", &*path.0),
        (c"row_security", c"off"),
        // Expressions of users are recognized by how PostgreSQL writes them.
        (c"quote_all_identifiers", c"off"),
        // Otherwise, PostgreSQL would look at the checks of children and partitions, and compute
        // the constants in them.
        (c"constraint_exclusion", c"off"),
        // Compiling a long query takes longer than running it. And nested loops pay only for few
        // rows, but the planner cannot know how many rows a part of these queries returns.
        (c"jit", c"off"),
        (c"plan_cache_mode", c"auto"),
        (c"enable_nestloop", c"off"),
    ];
    with_settings(&[&LITERALS[..], &settings].concat(), act)
}

/// Acts, and leaves a query of ours out of the context of an error, such as a cancellation: the
/// query can have hundreds of lines, which mean nothing to a client that has sent another
/// statement.
#[allow(unreachable_code, reason = "some bindings let ReThrowError() return")]
fn out_of_context<T>(query: &str, act: impl FnOnce() -> T) -> T {
    let query = encode(query);
    PgTryBuilder::new(AssertUnwindSafe(act))
        .catch_others(|error| {
            let CaughtError::PostgresError(_) = error else { error.rethrow() };
            // SAFETY: PostgreSQL keeps the error until it is thrown again. The copy is in memory that
            // lasts as long, and its context is NULL or a string.
            unsafe {
                let copy = pg_sys::CopyErrorData();
                if !(*copy).context.is_null() {
                    let context = without_entry(CStr::from_ptr((*copy).context), &query);
                    (*copy).context = pg_sys::pstrdup(context.as_ptr());
                    if context.is_empty() {
                        (*copy).context = ptr::null_mut();
                    }
                }
                pg_sys::FlushErrorState();
                pg_sys::ReThrowError(copy);
                unreachable!("the error was thrown again")
            }
        })
        .execute()
}

/// The context of an error without the entry that quotes a query. Each entry begins on a line of its
/// own.
fn without_entry(context: &CStr, query: &CStr) -> CString {
    let (context, query) = (context.to_bytes(), query.to_bytes());
    let Some(at) = context.windows(query.len()).position(|part| part == query) else {
        return CString::new(context).expect("it was a string");
    };
    let is_end = |byte: &u8| *byte == b'\n';
    let begin = context[..at].iter().rposition(is_end).unwrap_or(0);
    let after = &context[at + query.len()..];
    let rest = after.iter().position(is_end).map_or(&b""[..], |end| &after[end..]);
    let kept = [&context[..begin], rest].concat();
    let kept = kept.strip_prefix(b"\n").unwrap_or(&kept);
    CString::new(kept).expect("it was a string")
}

/// A query of ours that a session plans once for arguments of the same types: planning a long one
/// takes longer than running it.
pub struct PlannedQuery {
    query: &'static str,
    plan: Cell<pg_sys::SPIPlanPtr>,
    /// The types of the arguments that it was planned for.
    types: RefCell<Vec<pg_sys::Oid>>,
}

impl PlannedQuery {
    pub const fn new(query: &'static str) -> PlannedQuery {
        PlannedQuery { query, plan: Cell::new(ptr::null_mut()), types: RefCell::new(Vec::new()) }
    }

    /// Runs it within [`by_index`].
    pub fn rows_by_index(&self, arguments: &[Argument]) -> Vec<Row> {
        out_of_context(self.query, || self.select(arguments, true))
    }

    /// Runs it, as [`query`] does.
    pub fn rows_of(&self, arguments: &[Argument]) -> Vec<Row> {
        under_settings(|| out_of_context(self.query, || self.select(arguments, false)))
    }

    fn select(&self, arguments: &[Argument], active: bool) -> Vec<Row> {
        let (mut types, mut values, nulls) = parameters(arguments);
        Spi::connect(|_| {
            // SAFETY: SPI is connected, and the arrays are of one length. A plan that is kept stays
            // until one for other types takes its place, and PostgreSQL plans it again where it has
            // to. No function that these queries call leads back here, so it does not run while it
            // is replaced.
            unsafe {
                if self.plan.get().is_null() || *self.types.borrow() != types {
                    let plan = pg_sys::SPI_prepare_cursor(
                        encode(self.query).as_ptr(),
                        types.len() as i32,
                        types.as_mut_ptr(),
                        pg_sys::CURSOR_OPT_GENERIC_PLAN as i32,
                    );
                    assert!(!plan.is_null(), "{}", self.query);
                    pg_sys::SPI_keepplan(plan);
                    let former = self.plan.replace(plan);
                    self.types.replace(types);
                    if !former.is_null() {
                        pg_sys::SPI_freeplan(former);
                    }
                }
                let status = pg_sys::SPI_execute_plan(
                    self.plan.get(),
                    values.as_mut_ptr(),
                    nulls.as_ptr().cast(),
                    active,
                    0,
                );
                assert_eq!(status, pg_sys::SPI_OK_SELECT as i32, "{}", self.query);
            }
            rows()
        })
    }
}

/// The types of arguments, their values, and which of them are NULL.
fn parameters(arguments: &[Argument]) -> (Vec<pg_sys::Oid>, Vec<pg_sys::Datum>, Vec<u8>) {
    let types = arguments.iter().map(|(_, of)| *of).collect();
    let null = pg_sys::Datum::null();
    let values = arguments.iter().map(|(value, _)| value.unwrap_or(null)).collect();
    let flag = |is_null| if is_null { b'n' } else { b' ' };
    (types, values, arguments.iter().map(|(value, _)| flag(value.is_none())).collect())
}

/// As [`query`], but in a snapshot of now, even if the transaction keeps its first one. So the
/// query sees the catalog as PostgreSQL does when it executes a statement.
pub fn query_now(query: &str, arguments: &[Argument]) -> Vec<Row> {
    now(|| query_in(query, arguments, true))
}

/// Acts with what planned queries need that read few rows of the catalog, by index, and in a snapshot of
/// now, as [`query_now`] does.
pub fn by_index<T>(act: impl FnOnce() -> T) -> T {
    let path = Path::catalog();
    let settings = [
        (c"search_path", &*path.0),
        (c"quote_all_identifiers", c"off"),
        // The plan is kept, also when tables that were small have grown.
        (c"enable_seqscan", c"off"),
        (c"enable_hashjoin", c"off"),
        (c"enable_mergejoin", c"off"),
    ];
    now(|| with_settings(&settings, act))
}

/// Acts with a snapshot of now as the active one.
fn now<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: what is pushed is popped, by the end of the transaction after an error.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
        let done = act();
        pg_sys::PopActiveSnapshot();
        done
    }
}

/// Runs a query that evaluates an expression of a user. The caller has become its owner.
pub fn query_of_users(query: &str, path: &Path) -> Vec<Row> {
    let settings = [(c"search_path", &*path.0)];
    with_settings(&[&LITERALS[..], &settings].concat(), || select(query, &[], false))
}

/// Lets PostgreSQL find what the names and operators in a query are, or raise an error. Of the code of
/// users, only what reads the literals of their types is called.
pub fn parse(query: &str, path: &Path) {
    let settings = [(c"search_path", &*path.0)];
    let query = encode(query);
    with_settings(&[&LITERALS[..], &settings].concat(), || {
        Spi::connect(|_| {
            // SAFETY: SPI is connected, and the query has no parameters. It is not planned.
            unsafe { pg_sys::SPI_prepare(query.as_ptr(), 0, ptr::null_mut()) };
        });
    });
}

fn select(query: &str, arguments: &[Argument], active: bool) -> Vec<Row> {
    let (mut types, mut values, nulls) = parameters(arguments);
    let query = encode(query);
    Spi::connect(|_| {
        // SAFETY: SPI is connected, and the arrays are of one length.
        let status = unsafe {
            pg_sys::SPI_execute_with_args(
                query.as_ptr(),
                types.len() as i32,
                types.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_ptr().cast(),
                active,
                0,
            )
        };
        assert_eq!(status, pg_sys::SPI_OK_SELECT as i32, "{query:?}");
        rows()
    })
}

/// Executes a statement as the current user, with names looked up in this path. The bodies of
/// functions are not checked, as in the restoration of a dump.
pub fn execute(statement: &str, path: &Path) {
    let settings = [
        (c"search_path", &*path.0),
        (c"check_function_bodies", c"off"),
        // What is created again without a tablespace was in the default one.
        (c"default_tablespace", c""),
    ];
    with_settings(&[&LITERALS[..], &settings].concat(), || execute_here(statement));
}

/// Executes a statement under the settings of the session. Its names are qualified, and it has no
/// literals.
pub fn execute_here(statement: &str) {
    let statement = encode(statement);
    Spi::connect(|_| {
        // SAFETY: SPI is connected.
        let status = unsafe { pg_sys::SPI_execute(statement.as_ptr(), false, 0) };
        if status < 0 {
            Refused(decode(&statement)).raise();
        }
    });
}

/// A statement that PostgreSQL does not execute within a function: one that begins or ends a
/// transaction, or copies to the client.
#[derive(Debug)]
struct Refused(String);

impl Report for Refused {
    fn report(self) -> ErrorReport {
        report::new(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "cannot execute this statement within a function",
        )
        .set_detail(format!("Statement: {}", self.0))
    }
}

/// Runs `act` as the owner of what it reads or changes, and puts settings back afterwards. The
/// operation is restricted in the way that REINDEX and VACUUM are, so that code of that user cannot
/// become another user, and can leave nothing behind in the session.
///
/// After an error, the end of the transaction or subtransaction puts everything back.
pub fn as_owner<T>(owner: pg_sys::Oid, act: impl FnOnce() -> T) -> T {
    as_user(owner, pg_sys::SECURITY_RESTRICTED_OPERATION as i32, act)
}

/// As [`as_owner`], but for temporary objects of the current user, which PostgreSQL does not let a
/// restricted operation create. No other session can use them.
pub fn as_owner_of_temporary<T>(owner: pg_sys::Oid, act: impl FnOnce() -> T) -> T {
    // SAFETY: reads a variable of this process.
    if owner == unsafe { pg_sys::GetUserId() } {
        as_user(owner, 0, act)
    } else {
        as_owner(owner, act)
    }
}

fn as_user<T>(user: pg_sys::Oid, restriction: i32, act: impl FnOnce() -> T) -> T {
    let (mut before, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: the user exists; what was in force is put back.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut before, &raw mut context);
        pg_sys::SetUserIdAndSecContext(user, context | restriction);
    }
    let done = with_settings(&[], act);
    // SAFETY: as above.
    unsafe { pg_sys::SetUserIdAndSecContext(before, context) };
    done
}

/// Lets the commit of this transaction, or PREPARE TRANSACTION, wait until it is durable, here and
/// on synchronous standbys, even where `synchronous_commit` says that it need not.
pub fn let_commit_be_synchronous() {
    use pgrx::PgXactCallbackEvent::{PreCommit, PrePrepare};
    for event in [PreCommit, PrePrepare] {
        pgrx::register_xact_callback(event, || {
            // SAFETY: a variable of this process, and one of the server's settings.
            unsafe {
                if pg_sys::synchronous_commit
                    < pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_REMOTE_FLUSH as i32
                {
                    // SET LOCAL: it holds until the transaction is over.
                    set(c"synchronous_commit", c"on", pg_sys::GucAction::GUC_ACTION_LOCAL);
                }
            }
        });
    }
}

/// Sets a setting for as long as the action says.
///
/// # Safety
///
/// The name and the value are those of one of the server's settings.
unsafe fn set(name: &CStr, value: &CStr, action: pg_sys::GucAction::Type) {
    // SAFETY: as the caller promises.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            action,
            true,
            0,
            false,
        );
    }
}

/// Acts under settings of its own, and puts back what it or others changed meanwhile.
fn with_settings<T>(settings: &[(&CStr, &CStr)], act: impl FnOnce() -> T) -> T {
    // SAFETY: names and values are those of the server's own settings. What is set is put back, by
    // the end of the transaction after an error.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in settings {
            set(name, value, pg_sys::GucAction::GUC_ACTION_SAVE);
        }
        let done = act();
        pg_sys::AtEOXact_GUC(false, level);
        done
    }
}

/// The rows of the query that was executed last.
fn rows() -> Vec<Row> {
    // SAFETY: a SELECT leaves a table, which stays until SPI is left.
    unsafe {
        let table = &*pg_sys::SPI_tuptable;
        let columns = (*table.tupdesc).natts;
        (0..table.numvals as usize)
            .map(|row| {
                let tuple = *table.vals.add(row);
                (1..=columns)
                    .map(|column| text(pg_sys::SPI_getvalue(tuple, table.tupdesc, column)))
                    .collect()
            })
            .collect()
    }
}

/// # Safety
///
/// `text` is NULL or a string.
unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: checked for NULL.
    (!text.is_null()).then(|| decode(unsafe { CStr::from_ptr(text) }))
}
