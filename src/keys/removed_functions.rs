//! Functions that former versions of the extension had.
//!
//! The functions stay, because a database that was restored with the catalog of a former version,
//! or that pg_upgrade carries over, has them until it is updated, and because whoever calls one is
//! told what replaces it.

use pgrx::prelude::*;

use crate::pg::report;

/// Refuses a function that does nothing any more, and names the one that replaces it.
fn refuse(old: &str, new: &str) -> ! {
    let message = format!("{old}() does not change tables any more");
    report::new(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
        .set_hint(format!(
            "SELECT {new}('{{TABLE}}') prints the statements, for the owner of the table to \
             execute."
        ))
        .raise()
}

/// 0A000: `snowflake_conversion()` replaces it.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_convert(relation regclass DEFAULT NULL, column_name name DEFAULT NULL,
                                  schema regnamespace DEFAULT NULL, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_convert() {
    refuse("snowflake_convert", "snowflake_conversion")
}

/// 0A000: `snowflake_reversion()` replaces it.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_revert() {
    refuse("snowflake_revert", "snowflake_reversion")
}
