//! A configuration that is not valid, or that is missing.
//!
//! No hint has lines to paste: numbers in them would override the identity of a server that has
//! lost only the preloading, or be those that somebody has pasted on another one.

use std::ffi::{CStr, CString};

use crate::pg::report::{self, ErrorReport};
use pgrx::prelude::*;
use snowflake_core::layout::{LayoutError, Widths};

/// The library was not preloaded, so there is no generator.
pub fn not_preloaded() -> ErrorReport {
    report::not_ready(
        "snowflake_pg must be loaded via \"shared_preload_libraries\" to generate IDs",
    )
    .set_detail("The generator lives in shared memory, which is set up when the server starts.")
    .set_hint(
        "Add snowflake_pg to shared_preload_libraries in postgresql.conf, after a comma if other \
         libraries are there, and restart the server. To issue IDs, the server also needs \
         snowflake.datacenter_id and snowflake.worker_id, with numbers that no other server has. \
         See docs/runbook.md.",
    )
}

/// Datacenter or worker ID are not set.
pub fn no_identity() -> ErrorReport {
    report::not_ready("snowflake.datacenter_id and snowflake.worker_id are not both set")
        .set_detail(
            "Two servers with the same datacenter and worker ID issue the same snowflake IDs, so \
             there is no default.",
        )
        .set_hint(
            "Set both to numbers that no other server has, in a file outside the data directory \
             that postgresql.conf includes, and restart the server. See docs/runbook.md.",
        )
}

/// The identity is not valid where the server runs, for the reason that the sentence says.
pub fn elsewhere(reason: String) -> ErrorReport {
    report::not_ready("snowflake.identity_requires does not hold on this server")
        .set_detail(reason)
        .set_hint(
            "If this is a copy of another server, give it a datacenter and worker ID of its own, \
             and change snowflake.identity_requires. If it is the server itself under another \
             name, change only the latter. Then restart the server. See docs/runbook.md.",
        )
}

/// The name of the server gives no worker ID, for this reason. `wider` are the widths that hold its
/// number, if it is too large and there are any.
pub fn no_number(detail: String, wider: Option<Option<Widths>>) -> ErrorReport {
    let hint = match wider {
        None => {
            "If this is a copy of another server, give it a pattern and a datacenter ID of its \
                 own. If it is the server itself, correct its name, or snowflake.worker_id_from. \
                 Then restart the server."
                .to_owned()
        }
        Some(None) => "No widths hold it. Give the server a name with a smaller number.".to_owned(),
        Some(Some(Widths { datacenter, worker, sequence })) => format!(
            "On all servers, set snowflake.datacenter_bits = {datacenter}, snowflake.worker_bits = \
             {worker} and snowflake.sequence_bits = {sequence}, which hold it, and restart them."
        ),
    };
    report::not_ready("snowflake.worker_id_from gives this server no worker ID")
        .set_detail(detail)
        .set_hint(format!("{hint} See docs/runbook.md."))
}

/// A setting has this value, which breaks the rule that the sentence says.
pub fn wrong_value(name: &CStr, value: &CStr, rule: String) -> ErrorReport {
    report::invalid(format!(
        "invalid value for parameter \"{}\": \"{}\"",
        name.to_string_lossy(),
        value.to_string_lossy()
    ))
    .set_detail(rule)
}

/// Widths and epoch are not a valid combination.
pub fn wrong_layout(error: LayoutError) -> ErrorReport {
    report::invalid(
        "snowflake.datacenter_bits, snowflake.worker_bits and snowflake.sequence_bits are not a \
         valid combination",
    )
    .set_detail(format!("The value is not valid: {error}."))
}

/// Says why a check hook refuses.
pub fn explain(rule: String) {
    let rule = CString::new(rule).unwrap_or_default();
    // SAFETY: this is the macro GUC_check_errdetail().
    unsafe {
        pg_sys::pre_format_elog_string(0, std::ptr::null());
        pg_sys::GUC_check_errdetail_string =
            pg_sys::format_elog_string(c"%s".as_ptr(), rule.as_ptr());
    }
}
