//! Queries to the catalog, and statements, through SPI.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char};
use std::ptr;

use pgrx::PgList;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::context::out_of_context;
use crate::encoding::{decode, encode};
use crate::report::{self, Report};
use crate::settings::{LITERALS, Path, under_settings, with_settings};

/// What a query is given: a value, and its type.
pub type Argument = (Option<pg_sys::Datum>, pg_sys::Oid);

/// A row that a query returned, as text.
pub type Row = Vec<Option<String>>;

/// Runs a query of ours in the latest snapshot that the transaction may have, with names looked up
/// in the catalog alone.
pub fn query(query: &str, arguments: &[Argument]) -> Vec<Row> {
    query_in(query, arguments, false)
}

/// In the active snapshot, or in a newer one of the transaction's.
fn query_in(query: &str, arguments: &[Argument], active: bool) -> Vec<Row> {
    under_settings(|| out_of_context(query, || select(query, arguments, active)))
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
    /// The query, not planned yet.
    pub const fn new(query: &'static str) -> PlannedQuery {
        PlannedQuery { query, plan: Cell::new(ptr::null_mut()), types: RefCell::new(Vec::new()) }
    }

    /// Runs it, as [`query`] does.
    pub fn rows_of(&self, arguments: &[Argument]) -> Vec<Row> {
        under_settings(|| {
            out_of_context(self.query, || {
                // With little memory, the planner would have a subquery read again for each row.
                with_settings(&[(c"work_mem", c"64MB")], || self.plan(arguments));
                // PostgreSQL reserves memory for as many rows as the planner expects of a recursion,
                // which might be billions, up to work_mem: that took longer than the queries.
                with_settings(&[(c"work_mem", c"1MB")], || self.select(arguments))
            })
        })
    }

    /// Plans it, unless it has been planned.
    fn plan(&self, arguments: &[Argument]) {
        Spi::connect(|_| {
            self.prepare(arguments);
            // SAFETY: SPI is connected, and the plan is one that is kept, so that the resource owner
            // holds it until it is released.
            unsafe {
                let plan = pg_sys::SPI_plan_get_cached_plan(self.plan.get());
                pg_sys::ReleaseCachedPlan(plan, pg_sys::CurrentResourceOwner);
            }
        });
    }

    /// Prepares it for arguments of these types. SPI has to be connected.
    fn prepare(&self, arguments: &[Argument]) {
        let (mut types, ..) = parameters(arguments);
        if !self.plan.get().is_null() && *self.types.borrow() == types {
            return;
        }
        // SAFETY: a plan that is kept stays until one for other types takes its place, and PostgreSQL
        // plans it again where it has to. No function that these queries call leads back here, so it
        // does not run while it is replaced.
        unsafe {
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
    }

    /// Runs it. It has been planned for arguments of these types.
    fn select(&self, arguments: &[Argument]) -> Vec<Row> {
        let (_, mut values, nulls) = parameters(arguments);
        Spi::connect(|_| {
            // SAFETY: SPI is connected, the plan is kept, and the arrays are of one length.
            unsafe {
                let status = pg_sys::SPI_execute_plan(
                    self.plan.get(),
                    values.as_mut_ptr(),
                    nulls.as_ptr().cast(),
                    false,
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
    // SAFETY: what is pushed is popped, by the end of the transaction after an error.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
        let rows = query_in(query, arguments, true);
        pg_sys::PopActiveSnapshot();
        rows
    }
}

/// Runs a query that evaluates an expression of a user. The caller has become its owner.
pub fn query_of_users(query: &str, path: &Path) -> Vec<Row> {
    let settings = [(c"search_path", path.as_setting())];
    with_settings(&[&LITERALS[..], &settings].concat(), || select(query, &[], false))
}

/// What PostgreSQL takes the names and operators in a query for, as a tree of nodes. It is neither
/// rewritten nor executed. Of the code of users, only what reads the literals of their types is called.
pub fn analyzed(query: &str, path: &Path) -> String {
    let settings = [(c"search_path", path.as_setting())];
    let query = encode(query);
    with_settings(&[&LITERALS[..], &settings].concat(), || {
        // SAFETY: one statement without parameters; all of it is in memory of the call.
        unsafe {
            let parsed = PgList::<pg_sys::RawStmt>::from_pg(pg_sys::pg_parse_query(query.as_ptr()));
            let parsed = parsed.get_ptr(0).expect("a statement");
            let text = query.as_ptr();
            let tree =
                pg_sys::parse_analyze_fixedparams(parsed, text, ptr::null(), 0, ptr::null_mut());
            decode(CStr::from_ptr(pg_sys::nodeToString(tree.cast())))
        }
    })
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
        (c"search_path", path.as_setting()),
        (c"check_function_bodies", c"off"),
        // What is created again without a tablespace was in the default one.
        (c"default_tablespace", c""),
    ];
    with_settings(&[&LITERALS[..], &settings].concat(), || execute_here(statement));
}

/// Executes statements of a user as the current user, in this order, with names looked up in this path.
/// All other settings are those of the session, and what a statement sets holds for those after it.
/// `begin` is called before each, with its place.
pub fn execute_in_order(statements: &[String], path: &Path, mut begin: impl FnMut(usize)) {
    with_settings(&[(c"search_path", &*path.for_creation())], || {
        for (place, statement) in statements.iter().enumerate() {
            begin(place);
            execute_here(statement);
        }
    });
}

/// Executes a statement under the settings of the session, and discards the rows that it returns. Its
/// names are qualified, and it has no literals, unless they are those of the session.
pub fn execute_here(statement: &str) {
    let statement = encode(statement);
    Spi::connect(|_| {
        // SAFETY: SPI is connected, and all other options are off.
        let status = unsafe {
            let options = pg_sys::SPIExecuteOptions {
                dest: pg_sys::CreateDestReceiver(pg_sys::CommandDest::DestNone),
                ..Default::default()
            };
            pg_sys::SPI_execute_extended(statement.as_ptr(), &raw const options)
        };
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
                    .map(|column| read(pg_sys::SPI_getvalue(tuple, table.tupdesc, column)))
                    .collect()
            })
            .collect()
    }
}

/// # Safety
///
/// `text` is NULL or a string.
unsafe fn read(text: *const c_char) -> Option<String> {
    // SAFETY: checked for NULL.
    (!text.is_null()).then(|| decode(unsafe { CStr::from_ptr(text) }))
}

/// A text for a query.
pub fn text(value: &str) -> Argument {
    // SAFETY: makes a copy in memory of the call.
    let text = unsafe { pg_sys::cstring_to_text(encode(value).as_ptr()) };
    (Some(text.into()), pg_sys::TEXTOID)
}

/// Texts for a query: an array, as text.
pub fn texts(values: &[String]) -> Argument {
    let quoted = values
        .iter()
        .map(|value| format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")));
    text(&format!("{{{}}}", quoted.collect::<Vec<_>>().join(",")))
}
