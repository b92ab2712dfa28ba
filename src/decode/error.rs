//! Reasons for which an ID or a time cannot be decoded, composed or bounded.

use crate::pg::report::{self, ErrorReport, Report, wraps};
use crate::pg::time::display_timestamptz;
use pgrx::prelude::*;
use snowflake_core::layout::PartsError;
use snowflake_core::outside::text::Base62Error;

use crate::promise;

/// Errors of decoding.
#[derive(Debug)]
pub enum Error {
    /// The IDs were issued under another layout.
    Promise(promise::Error),
    /// A number that is no ID, or parts that make none.
    Parts(PartsError),
    /// A part of an ID that does not fit its field.
    Part {
        /// The argument.
        name: &'static str,
        /// The value.
        value: i32,
        /// The largest valid value.
        last: u32,
    },
    /// A time that the timestamp field does not hold.
    Time {
        /// The time, as PostgreSQL counts.
        value: pg_sys::TimestampTz,
        /// The first time of the field.
        first: pg_sys::TimestampTz,
        /// The last time of the field.
        last: pg_sys::TimestampTz,
    },
    /// Widths and epoch in a call that are not valid.
    GivenLayout(String),
    /// A text that is no ID's.
    Base62 {
        /// The text.
        text: String,
        /// The fault.
        error: Base62Error,
    },
    /// The type snowflake_parts is not what the extension created.
    PartsType,
}

wraps!(Promise(promise::Error), Parts(PartsError));

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        match self {
            Error::Promise(error) => error.report(),
            Error::Parts(PartsError::Negative(id)) => {
                report::invalid("a snowflake ID is never negative")
                    .set_detail(format!("The value is {id}."))
            }
            Error::Parts(error) => {
                report::new(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, error.to_string())
            }
            Error::Part { name, value, last } => report::new(
                ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("{name} {value} is out of range"),
            )
            .set_detail(format!("The valid range is 0 to {last}."))
            .set_hint("datacenter_bits, worker_bits and sequence_bits say how wide each part is."),
            Error::Time { value, first, last } => report::new(
                ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("timestamp {} is out of range", display_timestamptz(value)),
            )
            .set_detail(format!(
                "The timestamp field holds {} to {}.",
                display_timestamptz(first),
                display_timestamptz(last)
            ))
            .set_hint("The epoch says where the field begins."),
            Error::GivenLayout(problem) => report::invalid(
                "epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination",
            )
            .set_detail(format!("The value is not valid: {problem}.")),
            Error::Base62 { text, error: error @ Base62Error::TooLarge } => report::new(
                ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("base 62 text \"{text}\" is out of range for a snowflake ID"),
            )
            .set_detail(format!("The value is not valid: {error}.")),
            Error::Base62 { text, error } => report::new(
                ERRCODE_INVALID_TEXT_REPRESENTATION,
                format!("invalid base 62 text for a snowflake ID: \"{text}\""),
            )
            .set_detail(format!("The value is not valid: {error}."))
            .set_hint(
                "The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() \
                 writes it.",
            ),
            Error::PartsType => report::new(
                ERRCODE_DATATYPE_MISMATCH,
                "type snowflake_parts is not what the extension created",
            )
            .set_detail(
                "Its attributes have to be bigint, timestamp with time zone, integer, integer and \
                 integer.",
            )
            .set_hint("Take back what ALTER TYPE has changed, or create the extension again."),
        }
    }
}
