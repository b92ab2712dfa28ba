//! The privileges of the role that checks.

use crate::pg::spi;

/// Returns whether this role may read a view of the catalog. Some servers do not let everybody.
pub fn may_read(view: &str) -> bool {
    is_true(&format!("has_table_privilege('pg_catalog.{view}', 'SELECT')"))
}

/// Returns whether a condition on the role's privileges is true.
pub fn is_true(condition: &str) -> bool {
    spi::query::<Option<bool>>(&format!("SELECT {condition}"), &[])[0] == Some(true)
}
