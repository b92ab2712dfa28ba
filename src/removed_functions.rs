//! What the former version of the extension declares, and this one has no longer.
//!
//! A database that was restored with the catalog of a former version, or that pg_upgrade carries over, has
//! the functions of that version until it is updated. PostgreSQL creates no function in C whose symbol the
//! library does not have, so the symbols stay.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::server::called_directly;
use crate::server::report::{self, Report};

/// A function that the extension has no longer.
struct Gone;

impl Report for Gone {
    fn report(self) -> ErrorReport {
        report::new(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "this function is of a former version of the extension snowflake",
        )
        .set_hint("Execute ALTER EXTENSION snowflake UPDATE.")
    }
}

/// Defines the symbols of a function that is no longer here.
macro_rules! gone {
    ($finfo:ident, $function:ident) => {
        called_directly!($finfo);

        #[unsafe(no_mangle)]
        #[pg_guard]
        extern "C-unwind" fn $function(_call: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
            Gone.raise()
        }
    };
}

// Of 0.3.0, for the extension snowflake_convert.
gone!(pg_finfo_snowflake_internal_next_id_wrapper, snowflake_internal_next_id_wrapper);
gone!(pg_finfo_snowflake_internal_id_of_now_wrapper, snowflake_internal_id_of_now_wrapper);
