//! What former versions of the extension declare, and this one has no longer.
//!
//! A database that was restored with the catalog of a former version, or that pg_upgrade carries
//! over, has the functions of that version until it is updated. PostgreSQL creates no function in C
//! whose symbol the library does not have, so the symbols stay.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_server::called_directly;
use snowflake_server::report::{self, Report};

/// A function that is in the extension `snowflake_convert` now.
struct Moved;

impl Report for Moved {
    fn report(self) -> ErrorReport {
        report::new(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "this function is of a former version of the extension snowflake",
        )
        .set_hint(
            "Execute ALTER EXTENSION snowflake UPDATE. Then CREATE EXTENSION snowflake_convert \
             creates the function that took its place.",
        )
    }
}

/// Defines the symbols of a function that is no longer here.
macro_rules! moved {
    ($finfo:ident, $function:ident) => {
        called_directly!($finfo);

        #[unsafe(no_mangle)]
        #[pg_guard]
        extern "C-unwind" fn $function(_call: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
            Moved.raise()
        }
    };
}

moved!(pg_finfo_snowflake_convert_wrapper, snowflake_convert_wrapper);
moved!(pg_finfo_snowflake_revert_wrapper, snowflake_revert_wrapper);
moved!(pg_finfo_snowflake_convert_execute_wrapper, snowflake_convert_execute_wrapper);
moved!(pg_finfo_snowflake_convert_report_wrapper, snowflake_convert_report_wrapper);
