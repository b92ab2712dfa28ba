//! Why a schema cannot be adopted.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::server::own_table::OthersCode;
use crate::server::report::{self, Report};
use crate::server::trigger::ColumnError;

#[derive(Debug)]
pub enum Error {
    /// The function was not called as an event trigger.
    Event,
    /// The function was not called as such a trigger.
    Trigger,
    /// The argument `keys` is neither `primary` nor `all`.
    Keys(String),
    NoSchema(String),
    NotOwner(String),
    /// A schema of PostgreSQL's own.
    OfSystem(String),
    /// The table of adopted schemas is not there.
    NoTable,
    OthersCode(OthersCode),
    Column(ColumnError),
}

impl From<OthersCode> for Error {
    fn from(error: OthersCode) -> Error {
        Error::OthersCode(error)
    }
}

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        match self {
            Error::Event => report::new(
                ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED,
                "snowflake_adopt_new() was not called by an event trigger",
            ),
            Error::Trigger => report::new(
                ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                "snowflake_guard_adopted() was not called by a BEFORE INSERT trigger for each row",
            ),
            Error::Keys(keys) => report::new(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("invalid value for argument \"keys\": \"{keys}\""),
            )
            .set_hint("Valid values are \"primary\" and \"all\"."),
            Error::NoSchema(schema) => report::new(
                ERRCODE_INVALID_SCHEMA_NAME,
                format!("schema \"{schema}\" does not exist"),
            ),
            Error::NotOwner(schema) => report::new(
                ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("must be owner of schema {schema}"),
            ),
            Error::OfSystem(schema) => {
                report::new(ERRCODE_RESERVED_NAME, format!("schema \"{schema}\" cannot be adopted"))
                    .set_detail("It belongs to the system.")
            }
            Error::NoTable => {
                report::new(ERRCODE_UNDEFINED_TABLE, "the table of adopted schemas does not exist")
                    .set_hint(
                        "Run DROP EXTENSION snowflake_adopt and CREATE EXTENSION snowflake_adopt.",
                    )
            }
            Error::OthersCode(error) => error.report(),
            Error::Column(error) => error.report(),
        }
    }
}
