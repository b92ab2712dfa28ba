//! What is valid for `snowflake.max_forward_step`: -1, or no less than what two clocks can seem to
//! differ by.

use std::ffi::c_void;

use pgrx::prelude::*;
use snowflake_core::jump::SMALLEST_LIMIT;

use super::error::explain;
use super::integer::{Check, NO_LIMIT};

/// The check of the setting.
pub const CHECK: Check = Check {
    is_valid: |step| step == NO_LIMIT || i64::from(step) >= SMALLEST_LIMIT,
    rule: || {
        format!(
            "The valid values are -1, and {SMALLEST_LIMIT} ms to {} ms: a smaller difference \
             might be only rounding.",
            i32::MAX
        )
    },
    hook: refuse,
};

/// Refuses what is in range, but not valid.
#[pg_guard]
unsafe extern "C-unwind" fn refuse(
    value: *mut i32,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a value that lives through the call.
    let is_valid = (CHECK.is_valid)(unsafe { *value });
    if !is_valid {
        explain((CHECK.rule)());
    }
    is_valid
}
