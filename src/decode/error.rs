//! Reasons for which an ID or a time cannot be decoded, composed or bounded.

use crate::pg::report::{self, ErrorReport, Report};
use crate::pg::time::{display, display_timestamptz};
use pgrx::prelude::*;
use snowflake_core::layout::{Layout, PartsError};
use snowflake_core::outside::text::Base62Error;

use PgSqlErrorCode::*;

/// A number that is no ID, or parts that make none.
impl Report for PartsError {
    fn report(self) -> ErrorReport {
        match self {
            PartsError::Negative(id) => report::invalid("a snowflake ID is never negative")
                .set_detail(format!("The value is {id}.")),
            error => report::new(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, error.to_string()),
        }
    }
}

/// A part of an ID that does not fit its field.
pub fn wrong_part(name: &str, value: i32, last: u32) -> ErrorReport {
    report::new(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} {value} is out of range"))
        .set_detail(format!("The valid range is 0 to {last}."))
        .set_hint("datacenter_bits, worker_bits and sequence_bits say how wide each part is.")
}

/// A time that the timestamp field does not hold.
pub fn wrong_time(value: pg_sys::TimestampTz, layout: &Layout) -> ErrorReport {
    let message = format!("timestamp {} is out of range", display_timestamptz(value));
    let (first, last) = (display(layout.epoch()), display(layout.last_timestamp()));
    report::new(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, message)
        .set_detail(format!("The timestamp field holds {first} to {last}."))
        .set_hint("The epoch says where the field begins.")
}

/// Widths and epoch in a call that are not valid.
pub fn wrong_layout(problem: String) -> ErrorReport {
    report::invalid(
        "epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination",
    )
    .set_detail(format!("The value is not valid: {problem}."))
}

/// A text that is no ID's.
pub fn wrong_base62(text: &str, error: Base62Error) -> ErrorReport {
    let report = match error {
        Base62Error::TooLarge => report::new(
            ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("base 62 text \"{text}\" is out of range for a snowflake ID"),
        ),
        _ => report::new(
            ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid base 62 text for a snowflake ID: \"{text}\""),
        )
        .set_hint(
            "The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() \
             writes it.",
        ),
    };
    report.set_detail(format!("The value is not valid: {error}."))
}

/// The type snowflake_parts is not what the extension created.
pub fn wrong_type() -> ErrorReport {
    report::new(
        ERRCODE_DATATYPE_MISMATCH,
        "type snowflake_parts is not what the extension created",
    )
    .set_detail(
        "Its attributes have to be bigint, timestamp with time zone, integer, integer and integer.",
    )
    .set_hint("Take back what ALTER TYPE has changed, or create the extension again.")
}
