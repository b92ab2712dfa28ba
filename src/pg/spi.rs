//! Queries to the catalog, and statements, through SPI.

use std::ffi::CStr;

use pgrx::datum::TimestampWithTimeZone;
use pgrx::prelude::*;

use crate::pg::encoding::{decode, encode};
use crate::pg::report;
use crate::pg::settings::under_settings;

/// An argument of a query: a value, and its type.
pub type Argument = (Option<pg_sys::Datum>, pg_sys::Oid);

/// A row that a query returned: nothing, a value, or several of them.
pub trait Row {
    /// # Safety
    ///
    /// SPI has this row, with these columns.
    unsafe fn read(tuple: pg_sys::HeapTuple, columns: pg_sys::TupleDesc) -> Self;
}

/// A value of a column: `String`, which takes the text of any type, or of the column's type. It is
/// an `Option` where there may be NULL.
pub trait Value {
    /// # Safety
    ///
    /// SPI has this row, with this column, counted from 1.
    unsafe fn at(tuple: pg_sys::HeapTuple, columns: pg_sys::TupleDesc, column: i32) -> Self;
}

impl Value for Option<String> {
    unsafe fn at(tuple: pg_sys::HeapTuple, columns: pg_sys::TupleDesc, column: i32) -> Self {
        // SAFETY: the caller's promise; the text is NULL or a string.
        unsafe {
            let text = pg_sys::SPI_getvalue(tuple, columns, column);
            (!text.is_null()).then(|| decode(CStr::from_ptr(text)))
        }
    }
}

macro_rules! values {
    ($($of:ty),*) => {$(
        impl Value for Option<$of> {
            unsafe fn at(
                tuple: pg_sys::HeapTuple,
                columns: pg_sys::TupleDesc,
                column: i32,
            ) -> Self {
                // SAFETY: the caller's promise; the type is compared.
                unsafe {
                    assert_eq!(pg_sys::SPI_gettypeid(columns, column), <$of>::type_oid());
                    let mut is_null = false;
                    let value = pg_sys::SPI_getbinval(tuple, columns, column, &raw mut is_null);
                    <$of>::from_datum(value, is_null)
                }
            }
        }
    )*};
}
values!(bool, i32, i64, pg_sys::Oid, pg_sys::TransactionId, TimestampWithTimeZone);

macro_rules! not_null {
    ($($of:ty),*) => {$(
        impl Value for $of {
            unsafe fn at(
                tuple: pg_sys::HeapTuple,
                columns: pg_sys::TupleDesc,
                column: i32,
            ) -> Self {
                // SAFETY: the caller's promise.
                unsafe { Option::<$of>::at(tuple, columns, column).expect("not NULL") }
            }
        }
    )*};
}
not_null!(String, bool, i32, i64, pg_sys::Oid, pg_sys::TransactionId, TimestampWithTimeZone);

impl<A: Value> Row for A {
    unsafe fn read(tuple: pg_sys::HeapTuple, columns: pg_sys::TupleDesc) -> A {
        // SAFETY: the caller's promise.
        unsafe { A::at(tuple, columns, 1) }
    }
}

impl Row for () {
    unsafe fn read(_: pg_sys::HeapTuple, _: pg_sys::TupleDesc) {}
}

macro_rules! row {
    ($($of:ident $column:literal),*) => {
        impl<$($of: Value),*> Row for ($($of,)*) {
            unsafe fn read(tuple: pg_sys::HeapTuple, columns: pg_sys::TupleDesc) -> Self {
                // SAFETY: the caller's promise.
                unsafe { ($($of::at(tuple, columns, $column),)*) }
            }
        }
    };
}
row!(A 1, B 2);
row!(A 1, B 2, C 3);
row!(A 1, B 2, C 3, D 4);
row!(A 1, B 2, C 3, D 4, E 5);

/// Runs a query of ours in the latest snapshot that the transaction may have, with names looked up
/// in the catalog alone.
pub fn query<R: Row>(query: &str, arguments: &[Argument]) -> Vec<R> {
    query_in(query, arguments, false)
}

/// In the active snapshot, or in a newer one of the transaction's.
fn query_in<R: Row>(query: &str, arguments: &[Argument], active: bool) -> Vec<R> {
    under_settings(|| select(query, arguments, active))
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
pub fn query_now<R: Row>(query: &str, arguments: &[Argument]) -> Vec<R> {
    // SAFETY: what is pushed is popped, by the end of the transaction after an error.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
        let rows = query_in(query, arguments, true);
        pg_sys::PopActiveSnapshot();
        rows
    }
}

fn select<R: Row>(query: &str, arguments: &[Argument], active: bool) -> Vec<R> {
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

/// Executes a statement under the settings of the session, and discards the rows that it returns.
/// Its names are qualified, and it has no literals, unless they are those of the session.
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
            // It begins or ends a transaction, or copies to the client.
            report::new(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "cannot execute this statement within a function",
            )
            .set_detail(format!("Statement: {}", decode(&statement)))
            .raise();
        }
    });
}

/// The rows of the query that was executed last.
fn rows<R: Row>() -> Vec<R> {
    // SAFETY: a SELECT leaves a table, which stays until SPI is left.
    unsafe {
        let table = &*pg_sys::SPI_tuptable;
        let read = |row| R::read(*table.vals.add(row), table.tupdesc);
        (0..table.numvals as usize).map(read).collect()
    }
}

/// An OID for a query.
pub fn oid(value: pg_sys::Oid) -> Argument {
    (Some(value.into()), pg_sys::OIDOID)
}

/// An integer for a query.
pub fn int4(value: i32) -> Argument {
    (Some(value.into()), pg_sys::INT4OID)
}

/// A text for a query.
pub fn text(value: &str) -> Argument {
    // SAFETY: makes a copy in memory of the call.
    let text = unsafe { pg_sys::cstring_to_text(encode(value).as_ptr()) };
    (Some(text.into()), pg_sys::TEXTOID)
}
