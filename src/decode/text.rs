//! An ID for those who cannot read 64-bit numbers: JSON, and a short text.

use crate::pg::argument::text_argument;
use crate::pg::report::OrRaise;
use pgrx::JsonB;
use pgrx::prelude::*;
use serde::Serialize;
use snowflake_core::layout::Parts;
use snowflake_core::outside::text::{from_base62, iso8601, to_base62};

use super::error::wrong_base62;
use super::layout::layout;
use super::parts::parts;

/// The result of `snowflake_json()`.
#[derive(Serialize)]
struct Json {
    /// A string: the numbers of JavaScript hold 53 bits.
    id: String,
    /// ISO 8601, in UTC.
    timestamp: String,
    unix_ms: i64,
    datacenter_id: u32,
    worker_id: u32,
    sequence: u32,
}

/// An ID and its parts as JSON. 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_json(id: i64) -> JsonB {
    let Parts { timestamp, datacenter_id, worker_id, sequence } = parts(layout(), id).or_raise();
    let json = Json {
        id: id.to_string(),
        timestamp: iso8601(timestamp),
        unix_ms: timestamp.0,
        datacenter_id,
        worker_id,
        sequence,
    };
    JsonB(serde_json::to_value(json).expect("text and integers"))
}

/// The ID as 11 characters of 0-9, A-Z and a-z, which sort as the ID does under collation "C".
/// 22023 when negative.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_to_base62(id: i64) -> String {
    to_base62(id).or_raise()
}

/// The ID that this text stands for. 22P02 when the text is malformed; 22003 when it stands for
/// more than the largest ID.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_from_base62(id text) RETURNS bigint
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_from_base62(fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    // SAFETY: the function is strict, and its argument is a text.
    let text = unsafe { text_argument(fcinfo, 0) };
    from_base62(&text).map_err(|error| wrong_base62(&text, error)).or_raise()
}
