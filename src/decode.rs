//! From an ID to its parts and back. Immutable: the layout is fixed for a server's life.

use pgrx::callconv::{BoxRet, FcInfo};
use pgrx::datum::{Datum, TimestampWithTimeZone};
use pgrx::pgrx_sql_entity_graph::metadata::{
    ArgumentError, ReturnsError, ReturnsRef, SqlMappingRef, SqlTranslatable, TypeOrigin,
};
use pgrx::prelude::*;
use snowflake_core::layout::{Layout, Parts};

use crate::error::Error;
use crate::settings;

/// All parts of an ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_parse(id: i64) -> SnowflakeParts {
    SnowflakeParts { id, parts: parts(id) }
}

/// When the ID was issued, to the millisecond. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_timestamp(id: i64) -> TimestampWithTimeZone {
    timestamptz(parts(id).timestamp)
}

/// The datacenter that issued the ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_datacenter_id(id: i64) -> i32 {
    parts(id).datacenter_id as i32
}

/// The worker that issued the ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_worker_id(id: i64) -> i32 {
    parts(id).worker_id as i32
}

/// Which ID of its millisecond it is, counted from 0. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_sequence(id: i64) -> i32 {
    parts(id).sequence as i32
}

/// The ID that these parts make; `ts` is cut to the millisecond. 22003 when a part does not fit its field.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_make(ts: TimestampWithTimeZone, datacenter_id: i32, worker_id: i32, sequence: i32) -> i64 {
    let layout = settings::fixed().layout;
    let parts = Parts {
        timestamp: timestamp_in(layout, ts),
        datacenter_id: part("datacenter_id", datacenter_id, layout.last_datacenter_id()),
        worker_id: part("worker_id", worker_id, layout.last_worker_id()),
        sequence: part("sequence", sequence, layout.last_sequence()),
    };
    layout.compose(parts).unwrap_or_else(|error| Error::Parts(error).raise())
}

fn parts(id: i64) -> Parts {
    settings::fixed().layout.decompose(id).unwrap_or_else(|error| Error::Parts(error).raise())
}

fn part(name: &'static str, value: i32, last: u32) -> u32 {
    match u32::try_from(value) {
        Ok(part) if part <= last => part,
        _ => Error::Part { name, value, last }.raise(),
    }
}

/// 2000-01-01 00:00:00 UTC, where PostgreSQL's timestamps count from, in milliseconds since the Unix epoch.
const POSTGRES_EPOCH: i64 = 946_684_800_000;

/// PostgreSQL's form of a time in milliseconds since the Unix epoch. Every legal layout's times fit.
fn raw_timestamptz(unix_ms: i64) -> pg_sys::TimestampTz {
    (unix_ms - POSTGRES_EPOCH) * 1000
}

/// The time in milliseconds since the Unix epoch as a timestamptz. Every legal layout's times fit.
pub fn timestamptz(unix_ms: i64) -> TimestampWithTimeZone {
    TimestampWithTimeZone::try_from(raw_timestamptz(unix_ms)).expect("a layout's times fit")
}

/// A timestamptz in milliseconds since the Unix epoch, cut; an error when the layout's timestamp field does not hold it.
pub fn timestamp_in(layout: Layout, ts: TimestampWithTimeZone) -> i64 {
    let value = ts.into_inner();
    let unix_ms = value.div_euclid(1000) + POSTGRES_EPOCH;
    if (layout.epoch()..=layout.last_timestamp()).contains(&unix_ms) {
        return unix_ms;
    }
    let first = raw_timestamptz(layout.epoch());
    let last = raw_timestamptz(layout.last_timestamp());
    Error::Time { value, first, last }.raise()
}

/// A time for a message, in the session's time zone.
pub fn display_timestamptz(value: pg_sys::TimestampTz) -> String {
    // SAFETY: the answer is a string in static memory, which is copied at once.
    unsafe { std::ffi::CStr::from_ptr(pg_sys::timestamptz_to_str(value)).to_string_lossy().into_owned() }
}

/// A time in milliseconds since the Unix epoch for a message, in the session's time zone.
pub fn display(unix_ms: i64) -> String {
    display_timestamptz(raw_timestamptz(unix_ms))
}

/// An ID and its parts: SQL type `snowflake_parts`.
struct SnowflakeParts {
    id: i64,
    parts: Parts,
}

// SAFETY: the type is created by sql/types.sql, before every function.
unsafe impl SqlTranslatable for SnowflakeParts {
    const TYPE_IDENT: &'static str = pgrx::pgrx_resolved_type!(SnowflakeParts);
    const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
    const ARGUMENT_SQL: Result<SqlMappingRef, ArgumentError> = Ok(SqlMappingRef::literal("snowflake_parts"));
    const RETURN_SQL: Result<ReturnsRef, ReturnsError> =
        Ok(ReturnsRef::One(SqlMappingRef::literal("snowflake_parts")));
}

// SAFETY: returns a composite datum of the type that the call expects.
unsafe impl BoxRet for SnowflakeParts {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        let Parts { timestamp, datacenter_id, worker_id, sequence } = self.parts;
        let mut values = [
            pg_sys::Datum::from(self.id),
            pg_sys::Datum::from(raw_timestamptz(timestamp)),
            pg_sys::Datum::from(datacenter_id as i32),
            pg_sys::Datum::from(worker_id as i32),
            pg_sys::Datum::from(sequence as i32),
        ];
        let mut nulls = [false; 5];
        // SAFETY: the call's result type is snowflake_parts, whose five columns these values are.
        unsafe {
            let mut descriptor = std::ptr::null_mut();
            pg_sys::get_call_result_type(fcinfo.as_mut_ptr(), std::ptr::null_mut(), &raw mut descriptor);
            pg_sys::BlessTupleDesc(descriptor);
            let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            let datum = pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data);
            fcinfo.return_raw_datum(datum)
        }
    }
}
