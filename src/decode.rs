//! From an ID to its parts and back. Immutable: the layout is fixed for a server's life.
//!
//! Calls that name epoch and widths depend on nothing else, and take IDs of other systems.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

use pgrx::PgTupleDesc;
use pgrx::callconv::{BoxRet, FcInfo};
use pgrx::datum::{Datum, TimestampWithTimeZone};
use pgrx::pgrx_sql_entity_graph::metadata::{
    ArgumentError, ReturnsError, ReturnsRef, SqlMappingRef, SqlTranslatable, TypeOrigin,
};
use pgrx::prelude::*;
use snowflake_core::layout::{Layout, Parts, Widths};

use crate::error::Error;
use crate::time::{ceil_ms, floor_ms, raw_timestamptz, timestamp_in, timestamptz};
use crate::{catalog, register, settings};

/// All parts of an ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_parse(id: i64) -> SnowflakeParts {
    SnowflakeParts { id, parts: parts(layout(), id) }
}

/// All parts of an ID of another system. 22023 when negative, or when the layout is not legal.
#[pg_extern(name = "snowflake_parse", immutable, strict, parallel_safe)]
fn snowflake_parse_under(
    id: i64,
    epoch: TimestampWithTimeZone,
    datacenter_bits: default!(i32, 5),
    worker_bits: default!(i32, 5),
    sequence_bits: default!(i32, 12),
) -> SnowflakeParts {
    SnowflakeParts { id, parts: parts(given_layout(epoch, datacenter_bits, worker_bits, sequence_bits), id) }
}

/// When the ID was issued, to the millisecond. 22023 when negative.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_timestamp(id bigint) RETURNS timestamptz LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_timestamp(fcinfo: pg_sys::FunctionCallInfo) -> TimestampWithTimeZone {
    // SAFETY: there is one argument, and since the function is strict it is not NULL. pgrx's own way to it costs more than
    // all the rest.
    let id = unsafe { (*(*fcinfo).args.as_ptr()).value.value() as i64 };
    timestamptz(parts(layout(), id).timestamp)
}

/// When an ID of another system was issued. 22023 when negative, or when the layout is not legal.
#[pg_extern(name = "snowflake_timestamp", immutable, strict, parallel_safe)]
fn snowflake_timestamp_under(
    id: i64,
    epoch: TimestampWithTimeZone,
    datacenter_bits: default!(i32, 5),
    worker_bits: default!(i32, 5),
    sequence_bits: default!(i32, 12),
) -> TimestampWithTimeZone {
    timestamptz(parts(given_layout(epoch, datacenter_bits, worker_bits, sequence_bits), id).timestamp)
}

/// The datacenter that issued the ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_datacenter_id(id: i64) -> i32 {
    parts(layout(), id).datacenter_id as i32
}

/// The worker that issued the ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_worker_id(id: i64) -> i32 {
    parts(layout(), id).worker_id as i32
}

/// Which ID of its millisecond it is, counted from 0. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_sequence(id: i64) -> i32 {
    parts(layout(), id).sequence as i32
}

/// The ID that these parts make; `ts` is cut to the millisecond. 22003 when a part does not fit its field.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_make(ts: TimestampWithTimeZone, datacenter_id: i32, worker_id: i32, sequence: i32) -> i64 {
    make(layout(), ts, datacenter_id, worker_id, sequence)
}

/// The ID that these parts make in another system. 22003 as above; 22023 when the layout is not legal.
#[pg_extern(name = "snowflake_make", immutable, strict, parallel_safe)]
#[allow(clippy::too_many_arguments)]
fn snowflake_make_under(
    ts: TimestampWithTimeZone,
    datacenter_id: i32,
    worker_id: i32,
    sequence: i32,
    epoch: TimestampWithTimeZone,
    datacenter_bits: default!(i32, 5),
    worker_bits: default!(i32, 5),
    sequence_bits: default!(i32, 12),
) -> i64 {
    let layout = given_layout(epoch, datacenter_bits, worker_bits, sequence_bits);
    make(layout, ts, datacenter_id, worker_id, sequence)
}

/// The server's layout, which is compared with the register's, so that nothing decodes, or indexes, IDs by a layout that
/// they were not issued under.
#[inline(always)]
pub fn layout() -> Layout {
    if !COMPARED.load(Relaxed) {
        compare_layouts();
    }
    settings::fixed().layout
}

/// Whether this session has compared the layouts for good. Memory of one process.
static COMPARED: AtomicBool = AtomicBool::new(false);

/// On a standby, what the layouts were compared for last: a statement of the client's, and how many transactions had ended.
static COMPARED_FOR: (AtomicI64, AtomicU64) = (AtomicI64::new(0), AtomicU64::new(u64::MAX));

/// On a primary, the register's layout becomes the server's if it changes at all, so one comparison is enough. A standby may
/// receive any layout at any time; but rows of it become visible only with a transaction that ended after that.
#[cold]
#[inline(never)]
fn compare_layouts() {
    // SAFETY: reads shared memory of the server, and a variable of this process.
    let (in_recovery, statement, ended) = unsafe {
        (pg_sys::RecoveryInProgress(), pg_sys::GetCurrentStatementStartTimestamp(), transactions_ended())
    };
    if in_recovery && COMPARED_FOR.0.load(Relaxed) == statement && COMPARED_FOR.1.load(Relaxed) == ended {
        return;
    }
    // Where the register cannot be read, nothing is issued, and IDs from before stay readable.
    if let Ok(Some(record)) = register::read()
        && record.layout != settings::fixed().layout
    {
        Error::OtherLayout { recorded: record.layout, floor: record.floor }.raise();
    }
    COMPARED.store(!in_recovery, Relaxed);
    COMPARED_FOR.0.store(statement, Relaxed);
    COMPARED_FOR.1.store(ended, Relaxed);
}

/// How many transactions have ended since the server started, by which PostgreSQL tells whether a snapshot is still good.
fn transactions_ended() -> u64 {
    // SAFETY: points to shared memory of the server. Another process may count up meanwhile.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let transactions = pg_sys::ShmemVariableCache;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let transactions = pg_sys::TransamVariables;
        (&raw const (*transactions).xactCompletionCount).read_volatile()
    }
}

/// Finds what is stored of results that depend on the layout: in indexes, generated columns, checks and partition keys.
pub const STORED_RESULTS: &str = "SELECT DISTINCT pg_describe_object(classid, objid, objsubid) FROM pg_depend \
    JOIN pg_proc ON refobjid = pg_proc.oid WHERE refclassid = 'pg_proc'::regclass AND proname ~ '^snowflake_' \
    AND provolatile = 'i' AND classid IN ('pg_class'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass)";

/// What [`STORED_RESULTS`] finds in this database, as a list; `None` where there is nothing.
pub fn stored_results() -> Option<String> {
    let query =
        format!("SELECT string_agg(found, ', ' ORDER BY found) FROM ({STORED_RESULTS}) AS results (found)");
    catalog::query(&query, &[]).swap_remove(0).swap_remove(0)
}

/// The layout that a call names. 22023 when it is not legal.
pub fn given_layout(epoch: TimestampWithTimeZone, datacenter: i32, worker: i32, sequence: i32) -> Layout {
    let layout = || {
        if matches!(epoch.into_inner(), i64::MIN | i64::MAX) {
            return Err("the epoch is not finite".to_owned());
        }
        if floor_ms(epoch) != ceil_ms(epoch) {
            return Err("the epoch is not a whole number of milliseconds".to_owned());
        }
        let width =
            |bits: i32| u32::try_from(bits).map_err(|_| format!("a width of {bits} bits is negative"));
        let widths =
            Widths { datacenter: width(datacenter)?, worker: width(worker)?, sequence: width(sequence)? };
        Layout::new(floor_ms(epoch), widths).map_err(|error| error.to_string())
    };
    layout().unwrap_or_else(|problem| Error::GivenLayout(problem).raise())
}

/// The parts of an ID. 22023 when negative.
pub fn parts(layout: Layout, id: i64) -> Parts {
    layout.decompose(id).unwrap_or_else(|error| Error::Parts(error).raise())
}

fn make(layout: Layout, ts: TimestampWithTimeZone, datacenter_id: i32, worker_id: i32, sequence: i32) -> i64 {
    let parts = Parts {
        timestamp: timestamp_in(layout, ts),
        datacenter_id: part("datacenter_id", datacenter_id, layout.last_datacenter_id()),
        worker_id: part("worker_id", worker_id, layout.last_worker_id()),
        sequence: part("sequence", sequence, layout.last_sequence()),
    };
    layout.compose(parts).unwrap_or_else(|error| Error::Parts(error).raise())
}

fn part(name: &'static str, value: i32, last: u32) -> u32 {
    match u32::try_from(value) {
        Ok(part) if part <= last => part,
        _ => Error::Part { name, value, last }.raise(),
    }
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

/// The types of the columns of snowflake_parts.
const TYPES: [pg_sys::Oid; 5] =
    [pg_sys::INT8OID, pg_sys::TIMESTAMPTZOID, pg_sys::INT4OID, pg_sys::INT4OID, pg_sys::INT4OID];

// SAFETY: returns a composite datum of the type that the call expects.
unsafe impl BoxRet for SnowflakeParts {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        let Parts { timestamp, datacenter_id, worker_id, sequence } = self.parts;
        let parts = [
            pg_sys::Datum::from(self.id),
            pg_sys::Datum::from(raw_timestamptz(timestamp)),
            pg_sys::Datum::from(datacenter_id as i32),
            pg_sys::Datum::from(worker_id as i32),
            pg_sys::Datum::from(sequence as i32),
        ];
        // SAFETY: PostgreSQL says what the call returns: where it is a row, with a descriptor of our own. The arrays have as
        // many elements as that has columns, and what is in them is of the columns' types.
        unsafe {
            let mut descriptor = std::ptr::null_mut();
            pg_sys::get_call_result_type(fcinfo.as_mut_ptr(), std::ptr::null_mut(), &raw mut descriptor);
            if descriptor.is_null() {
                Error::PartsType.raise();
            }
            let columns = PgTupleDesc::from_pg_is_copy(descriptor);
            // What ALTER TYPE has dropped is still a column, and NULL.
            let mut values = vec![pg_sys::Datum::null(); columns.len()];
            let mut nulls = vec![true; columns.len()];
            let mut parts = parts.into_iter().zip(TYPES);
            for (number, column) in columns.iter().enumerate().filter(|(_, column)| !column.attisdropped) {
                match parts.next() {
                    Some((part, of)) if of == column.atttypid => {
                        values[number] = part;
                        nulls[number] = false;
                    }
                    _ => Error::PartsType.raise(),
                }
            }
            if parts.next().is_some() {
                Error::PartsType.raise();
            }
            pg_sys::BlessTupleDesc(descriptor);
            let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            let datum = pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data);
            fcinfo.return_raw_datum(datum)
        }
    }
}
