//! From an ID to its parts and back.

use std::ptr;

use crate::pg::called_directly;
use crate::pg::report::{ErrorReport, OrRaise};
use crate::pg::time::{raw_timestamptz, timestamptz};
use pgrx::PgTupleDesc;
use pgrx::callconv::{BoxRet, FcInfo};
use pgrx::datum::{Datum, TimestampWithTimeZone};
use pgrx::prelude::*;
use snowflake_core::layout::{Layout, Parts};

use super::error;
use super::layout::{given_layout, known_layout, layout, timestamp_in};

/// All parts of an ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_parse(id: i64) -> SnowflakeParts {
    SnowflakeParts { id, parts: parts(layout(), id).or_raise() }
}

/// All parts of an ID of another system. 22023 when negative, or when the layout is not valid.
#[pg_extern(name = "snowflake_parse", immutable, strict, parallel_safe)]
fn snowflake_parse_under(
    id: i64,
    epoch: TimestampWithTimeZone,
    datacenter_bits: default!(i32, 5),
    worker_bits: default!(i32, 5),
    sequence_bits: default!(i32, 12),
) -> SnowflakeParts {
    let layout = given_layout(epoch, datacenter_bits, worker_bits, sequence_bits);
    SnowflakeParts { id, parts: parts(layout, id).or_raise() }
}

called_directly!(pg_finfo_snowflake_timestamp);
extension_sql!(
    "
CREATE FUNCTION snowflake_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_timestamp';
",
    name = "timestamp",
    requires = ["copy"]
);

/// When the ID was issued, to the millisecond. 22023 when negative.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn snowflake_timestamp(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: there is one argument, and since the function is strict it is not NULL.
    let id = unsafe { pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, 0).value() as i64 };
    match known_layout().map(|layout| layout.decompose(id)) {
        Some(Ok(parts)) => raw_timestamptz(parts.timestamp),
        _ => snowflake_timestamp_slowly(id),
    }
    .into()
}

#[cold]
#[inline(never)]
#[pg_guard]
extern "C-unwind" fn snowflake_timestamp_slowly(id: i64) -> pg_sys::TimestampTz {
    raw_timestamptz(parts(layout(), id).or_raise().timestamp)
}

/// When an ID of another system was issued. 22023 when negative, or when the layout is not valid.
#[pg_extern(name = "snowflake_timestamp", immutable, strict, parallel_safe)]
fn snowflake_timestamp_under(
    id: i64,
    epoch: TimestampWithTimeZone,
    datacenter_bits: default!(i32, 5),
    worker_bits: default!(i32, 5),
    sequence_bits: default!(i32, 12),
) -> TimestampWithTimeZone {
    let layout = given_layout(epoch, datacenter_bits, worker_bits, sequence_bits);
    timestamptz(parts(layout, id).or_raise().timestamp)
}

/// The datacenter that issued the ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_datacenter_id(id: i64) -> i32 {
    parts(layout(), id).or_raise().datacenter_id as i32
}

/// The worker that issued the ID. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_worker_id(id: i64) -> i32 {
    parts(layout(), id).or_raise().worker_id as i32
}

/// Which ID of its millisecond it is, counted from 0. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_sequence(id: i64) -> i32 {
    parts(layout(), id).or_raise().sequence as i32
}

/// The ID that these parts make; `ts` is cut to the millisecond. 22003 when a part does not fit its
/// field.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_make(
    ts: TimestampWithTimeZone,
    datacenter_id: i32,
    worker_id: i32,
    sequence: i32,
) -> i64 {
    make(layout(), ts, datacenter_id, worker_id, sequence).or_raise()
}

/// The ID that these parts make in another system. 22003 as above; 22023 when the layout is not
/// valid.
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
    make(layout, ts, datacenter_id, worker_id, sequence).or_raise()
}

/// The parts of an ID, where there is a layout.
#[inline(always)]
pub fn parts(layout: Result<Layout, ErrorReport>, id: i64) -> Result<Parts, ErrorReport> {
    Ok(layout?.decompose(id)?)
}

fn make(
    layout: Result<Layout, ErrorReport>,
    ts: TimestampWithTimeZone,
    datacenter_id: i32,
    worker_id: i32,
    sequence: i32,
) -> Result<i64, ErrorReport> {
    let layout = layout?;
    let parts = Parts {
        timestamp: timestamp_in(layout, ts)?,
        datacenter_id: part("datacenter_id", datacenter_id, layout.last_datacenter_id())?,
        worker_id: part("worker_id", worker_id, layout.last_worker_id())?,
        sequence: part("sequence", sequence, layout.last_sequence())?,
    };
    Ok(layout.compose(parts)?)
}

fn part(name: &str, value: i32, last: u32) -> Result<u32, ErrorReport> {
    match u32::try_from(value) {
        Ok(part) if part <= last => Ok(part),
        _ => Err(error::wrong_part(name, value, last)),
    }
}

/// An ID and its parts: SQL type `snowflake_parts`.
struct SnowflakeParts {
    id: i64,
    parts: Parts,
}

// The type is created by sql/types.sql, before every function.
impl_sql_translatable!(SnowflakeParts, "snowflake_parts");

/// The types of the columns of snowflake_parts.
const TYPES: [pg_sys::Oid; 5] =
    [pg_sys::INT8OID, pg_sys::TIMESTAMPTZOID, pg_sys::INT4OID, pg_sys::INT4OID, pg_sys::INT4OID];

// SAFETY: returns a composite datum of the type that the call expects.
unsafe impl BoxRet for SnowflakeParts {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: PostgreSQL says what the call returns. If it is a row, there is a descriptor,
        // which is ours. There are as many values as it has columns, and of their types.
        unsafe {
            let mut descriptor = ptr::null_mut();
            pg_sys::get_call_result_type(fcinfo.as_mut_ptr(), ptr::null_mut(), &raw mut descriptor);
            if descriptor.is_null() {
                error::wrong_type().raise();
            }
            let columns = PgTupleDesc::from_pg_unchecked(descriptor);
            let (mut values, mut nulls) = self.row(&columns);
            pg_sys::BlessTupleDesc(descriptor);
            let tuple =
                pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            let datum = pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data);
            fcinfo.return_raw_datum(datum)
        }
    }
}

impl SnowflakeParts {
    /// The values of these columns, and which of them are NULL: those that ALTER TYPE has dropped,
    /// which are still there. An error where the others are not of [`TYPES`], in this order.
    fn row(self, columns: &PgTupleDesc) -> (Vec<pg_sys::Datum>, Vec<bool>) {
        let Parts { timestamp, datacenter_id, worker_id, sequence } = self.parts;
        let own = [
            pg_sys::Datum::from(self.id),
            pg_sys::Datum::from(raw_timestamptz(timestamp)),
            pg_sys::Datum::from(datacenter_id as i32),
            pg_sys::Datum::from(worker_id as i32),
            pg_sys::Datum::from(sequence as i32),
        ];
        let mut own = own.into_iter().zip(TYPES);
        let row = columns.iter().map(|column| {
            if column.attisdropped {
                return (pg_sys::Datum::null(), true);
            }
            match own.next() {
                Some((value, of)) if of == column.atttypid => (value, false),
                _ => error::wrong_type().raise(),
            }
        });
        let row = row.unzip();
        if own.next().is_some() {
            error::wrong_type().raise();
        }
        row
    }
}
