//! Every error that a user can see: SQLSTATE, message, detail and hint in one place.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_core::layout::{LayoutError, PartsError};

use crate::decode;

/// What can go wrong.
#[derive(Debug)]
pub enum Error {
    /// The library was not preloaded, so there is no generator.
    NotPreloaded,
    /// Datacenter or worker ID are not set.
    NoIdentity,
    /// The server is a standby, or still recovering.
    InRecovery,
    /// The clock is behind by more than max_drift, and waiting would take longer than max_wait.
    ClockBehind {
        /// The last timestamp issued, Unix ms.
        timestamp: i64,
        /// By how much the clock is behind it, ms.
        lead: i64,
        /// The clock reading that ends the trouble, Unix ms.
        until: i64,
    },
    /// The timestamp field is used up.
    EndOfField {
        /// Its last timestamp, Unix ms.
        last: i64,
    },
    /// currval before any nextval.
    NoCurrval,
    /// A negative number of IDs.
    NegativeCount(i32),
    /// A number that is no ID, or parts that make none.
    Parts(PartsError),
    /// A part of an ID that does not fit its field.
    Part {
        /// The argument.
        name: &'static str,
        /// Its value.
        value: i32,
        /// The largest legal value.
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
    /// A setting that is not legal.
    Setting {
        /// Its name.
        name: &'static CStr,
        /// The value that was found.
        value: CString,
        /// What is legal, as a sentence.
        rule: String,
    },
    /// Widths and epoch that do not go together.
    Layout(LayoutError),
}

const PRELOAD: &str = "shared_preload_libraries = 'snowflake_pg'";
const IDENTITY: &str = "snowflake.datacenter_id = 1\nsnowflake.worker_id = 1";

impl Error {
    /// Ends the statement with this error; while the server starts, the server.
    #[cold]
    #[track_caller]
    pub fn raise(self) -> ! {
        self.report().report(PgLogLevel::ERROR);
        unreachable!("an error was raised");
    }

    #[track_caller]
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        let report = |code, message: String| ErrorReport::new(code, message, "snowflake");
        match self {
            Error::NotPreloaded => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "snowflake_pg must be loaded via \"shared_preload_libraries\" to generate IDs".into(),
            )
            .set_detail("The generator lives in shared memory, which is set up when the server starts.")
            .set_hint(format!("Add to postgresql.conf, with numbers that no other server has, and restart:\n{PRELOAD}\n{IDENTITY}")),
            Error::NoIdentity => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "snowflake.datacenter_id and snowflake.worker_id are not both set".into(),
            )
            .set_detail("Two servers with the same datacenter and worker ID issue the same snowflake IDs, so there is no default.")
            .set_hint(format!("Add to postgresql.conf, with numbers that no other server has, and restart:\n{PRELOAD}\n{IDENTITY}")),
            Error::InRecovery => report(
                ERRCODE_READ_ONLY_SQL_TRANSACTION,
                "cannot generate snowflake IDs during recovery".into(),
            )
            .set_hint("Generate them on the primary, or promote this server first."),
            Error::ClockBehind { timestamp, lead, until } => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the clock is {lead} ms behind the last snowflake ID"),
            )
            .set_detail(format!(
                "IDs have been issued up to {}. They go on when the clock has reached {}.",
                decode::display(timestamp),
                decode::display(until)
            ))
            .set_hint("Set the clock right, or raise snowflake.max_drift or snowflake.max_wait."),
            Error::EndOfField { last } => report(
                ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                "the timestamp field of snowflake IDs is used up".into(),
            )
            .set_detail(format!("Its last timestamp is {}.", decode::display(last)))
            .set_hint("If the clock is right, the table needs new IDs, with a later snowflake.epoch or smaller widths."),
            Error::NoCurrval => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "snowflake_currval is not yet defined in this session".into(),
            )
            .set_hint("Call snowflake_nextval() first."),
            Error::NegativeCount(count) => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "count must not be negative".into(),
            )
            .set_detail(format!("The count is {count}.")),
            Error::Parts(PartsError::Negative(id)) => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "a snowflake ID is never negative".into(),
            )
            .set_detail(format!("The value is {id}.")),
            Error::Parts(error) => report(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, error.to_string()),
            Error::Part { name, value, last } => report(
                ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("{name} {value} is out of range"),
            )
            .set_detail(format!("The legal range is 0 to {last}."))
            .set_hint("The settings snowflake.datacenter_bits, snowflake.worker_bits and snowflake.sequence_bits say how wide each part is."),
            Error::Time { value, first, last } => report(
                ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("timestamp {} is out of range", decode::display_timestamptz(value)),
            )
            .set_detail(format!(
                "The timestamp field holds {} to {}.",
                decode::display_timestamptz(first),
                decode::display_timestamptz(last)
            ))
            .set_hint("The setting snowflake.epoch says where the field begins."),
            Error::Setting { name, value, rule } => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"{}\": \"{}\"", name.to_string_lossy(), value.to_string_lossy()),
            )
            .set_detail(rule),
            Error::Layout(error) => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "snowflake.datacenter_bits, snowflake.worker_bits and snowflake.sequence_bits do not go together".into(),
            )
            .set_detail(format!("The value is not legal: {error}.")),
        }
    }
}
