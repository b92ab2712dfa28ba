//! Rules for valid settings, beyond a range of integers.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use crate::pg::time;
use pgrx::PgList;
use pgrx::prelude::*;
use snowflake_core::epoch as instant;
use snowflake_core::jump::SMALLEST_LIMIT;
use snowflake_core::layout::Layout;
use snowflake_core::time::Timestamp;

use super::error::explain;
use super::fixed::FIXED;
use super::integer::{Check, NO_LIMIT};

const EPOCH_RULE: &str = "The epoch is an ISO 8601 instant with an offset, such as \
    '2010-11-04T01:42:54.657Z', or a number of milliseconds since 1970-01-01 00:00:00 UTC; in \
    whole milliseconds, not before 1970 and not in the future.";

/// Reads `snowflake.epoch`.
pub fn epoch(text: &str) -> Result<Timestamp, String> {
    // A server whose clock is wrong has to start: an epoch in the future stops generating, and
    // nothing else.
    let is_starting = FIXED.get().is_none();
    let latest = if is_starting { None } else { Some(time::now()) };
    instant::parse(text, latest)
        .map_err(|error| format!("The value is not valid: {error}. {EPOCH_RULE}"))
}

/// Reads `snowflake.datacenter_id` or `snowflake.worker_id`; `None` where it is -1. While the
/// server starts, the layout is not fixed yet, and [`super::define`] compares with it.
///
/// They are texts, because PostgreSQL reads integers in other forms too: `010` is 8, and so is
/// `7.6`. A server that is taken for another one issues the other one's IDs.
pub fn id(text: &str, last: fn(&Layout) -> u32) -> Result<Option<u32>, String> {
    let last = FIXED.get().map(|fixed| last(&fixed.layout));
    let rule = || match last {
        Some(last) => id_rule(last),
        None => {
            "The valid values are the decimal numbers that its bits can hold, by default from 0 to \
             31, and -1 for none."
                .to_owned()
        }
    };
    if text == "-1" {
        return Ok(None);
    }
    // Rust accepts a plus sign.
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(id) if is_digits && last.is_none_or(|last| id <= last) => Ok(Some(id)),
        _ => Err(rule()),
    }
}

/// Returns the rule for a valid part of an identity, as a sentence.
pub fn id_rule(last: u32) -> String {
    match last {
        0 => {
            "This part of an ID has 0 bits, so its only value is 0, and it need not be set.".into()
        }
        _ => format!("The valid values are the decimal numbers from 0 to {last}, and -1 for none."),
    }
}

const START_RULE: &str = "The valid values are an ISO 8601 instant with an offset, such as \
    '2026-01-01 00:00:00+00', a number of milliseconds since 1970-01-01 00:00:00 UTC, and the \
    empty string.";

/// Reads `snowflake.start_after`; `None` where it is empty.
/// While the server starts, the layout is not fixed yet, and [`super::define`] compares with it.
pub fn start_after(text: &str) -> Result<Option<Timestamp>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let time = instant::parse_time(text)
        .map_err(|error| format!("The value is not valid: {error}. {START_RULE}"))?;
    if let Some(fixed) = FIXED.get() {
        check_start_after(Some(time), &fixed.layout)?;
    }
    Ok(Some(time))
}

/// Refuses a time before the epoch, which protects from nothing, and one that no ID can be after.
/// Most likely it is a number of seconds, or of microseconds.
pub fn check_start_after(time: Option<Timestamp>, layout: &Layout) -> Result<(), String> {
    let (epoch, last) = (layout.epoch(), layout.last_timestamp());
    let why = match time {
        Some(time) if time < epoch => {
            format!("{} is before the epoch, {}", time::display(time), time::display(epoch))
        }
        Some(time) if time >= last => {
            format!("no ID is after it, since the timestamp field ends at {}", time::display(last))
        }
        _ => return Ok(()),
    };
    Err(format!("The value is not valid: {why}. {START_RULE}"))
}

/// Checks `snowflake.max_forward_step`: -1, or no less than what two clocks can seem to differ by.
pub const FORWARD_STEP: Check = Check {
    is_valid: |step| step == NO_LIMIT || i64::from(step) >= SMALLEST_LIMIT.0,
    rule: || {
        format!(
            "The valid values are -1, and {SMALLEST_LIMIT} ms to {} ms: a smaller difference might \
             be only rounding.",
            i32::MAX
        )
    },
    hook: refuse_forward_step,
};

/// Refuses what is in range, but not valid.
#[pg_guard]
unsafe extern "C-unwind" fn refuse_forward_step(
    value: *mut i32,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a value that lives through the call.
    let is_valid = (FORWARD_STEP.is_valid)(unsafe { *value });
    if !is_valid {
        explain((FORWARD_STEP.rule)());
    }
    is_valid
}

/// The names of a text that is valid, as they are in the database.
pub fn schema_names(text: &CStr) -> Vec<CString> {
    // SAFETY: the list is one of strings, which are copied.
    let names = unsafe { split(text).map(|names| PgList::<c_char>::from_pg(names)) };
    // SAFETY: as above.
    let owned = |name: *mut c_char| unsafe { CStr::from_ptr(name) }.to_owned();
    names.map_or_else(Vec::new, |names| names.iter_ptr().map(owned).collect())
}

/// Checks that `snowflake.adopted_schemas` is a list. Whether there are schemas of these names is
/// not looked at, as for `search_path`.
pub fn schemas(text: &str) -> Result<(), String> {
    let names = split(&CString::new(text).unwrap_or_default());
    names.map(|_| ()).ok_or_else(|| {
        "The valid values are lists of names, separated by commas and quoted where needed, as in \
         search_path."
            .into()
    })
}

/// The names of a list, as PostgreSQL splits `search_path`.
fn split(text: &CStr) -> Option<*mut pg_sys::List> {
    let mut names = ptr::null_mut();
    // SAFETY: the text is copied, because it is changed, and so are the names in it.
    unsafe {
        let copy = pg_sys::pstrdup(text.as_ptr());
        pg_sys::SplitIdentifierString(copy, b',' as c_char, &raw mut names).then_some(names)
    }
}
