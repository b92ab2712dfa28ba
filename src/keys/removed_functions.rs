//! Functions that former versions of the extension had.
//!
//! The functions stay, because a database that was restored with the catalog of a former version,
//! or that pg_upgrade carries over, has them until it is updated, and because whoever calls one is
//! told what replaces it.

use pgrx::prelude::*;

use crate::pg::report::{self, ErrorReport, Report};

/// A function that does nothing any more, and the one that replaces it.
struct Replaced(&'static str, &'static str);

impl Report for Replaced {
    fn report(self) -> ErrorReport {
        let Replaced(old, new) = self;
        let message = format!("{old}() does not change tables any more");
        report::new(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message).set_hint(format!(
            "SELECT {new}('{{TABLE}}') prints the statements, for the owner of the table to \
             execute."
        ))
    }
}

/// 0A000: `snowflake_conversion()` replaces it.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_convert(relation regclass DEFAULT NULL, column_name name DEFAULT NULL,
                                  schema regnamespace DEFAULT NULL, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_convert() {
    Replaced("snowflake_convert", "snowflake_conversion").raise()
}

/// 0A000: `snowflake_reversion()` replaces it.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_revert() {
    Replaced("snowflake_revert", "snowflake_reversion").raise()
}
