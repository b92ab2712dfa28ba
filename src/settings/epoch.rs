//! `snowflake.epoch`.

use std::ffi::{CStr, CString, c_char, c_void};

use pgrx::prelude::*;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
use snowflake_core::epoch;
use snowflake_core::layout::TWITTER_EPOCH;

use super::define::{explain, placeholder};
use super::{Error, FIXED};
use crate::generator::clock;

static EPOCH: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"2010-11-04T01:42:54.657Z"));

const NAME: &CStr = c"snowflake.epoch";
const RULE: &str = "The epoch is an ISO 8601 instant with an offset, such as \
                    '2010-11-04T01:42:54.657Z', or a number of milliseconds since 1970-01-01 \
                    00:00:00 UTC; in whole milliseconds, not before 1970 and not in the future.";

/// What the configuration says, before the setting is defined.
pub fn configured() -> Result<i64, Error> {
    placeholder(NAME).map_or(Ok(TWITTER_EPOCH), legal)
}

/// What the setting says.
pub fn defined() -> Result<i64, Error> {
    legal(EPOCH.get().unwrap_or_default())
}

fn legal(text: CString) -> Result<i64, Error> {
    parse(&text).map_err(|rule| Error::Setting { name: NAME, value: text, rule })
}

/// The epoch, or the rule that the text breaks.
fn parse(text: &CStr) -> Result<i64, String> {
    // A server whose clock is wrong has to start: an epoch in the future stops generating, and
    // nothing else.
    let is_starting = FIXED.get().is_none();
    let latest = if is_starting { i64::MAX } else { clock::unix_ms() };
    epoch::parse(&text.to_string_lossy(), latest)
        .map_err(|error| format!("The value is not legal: {error}. {RULE}"))
}

/// Defines the setting.
pub fn define(context: GucContext) {
    // SAFETY: the hook is guarded and follows PostgreSQL's rules for check hooks.
    unsafe {
        GucRegistry::define_string_guc_with_hooks(
            NAME,
            c"The instant that timestamps in IDs count from.",
            c"An ISO 8601 instant with an offset, or milliseconds since 1970-01-01 00:00:00 UTC.",
            &EPOCH,
            context,
            GucFlags::default(),
            Some(check),
            None,
            None,
        );
    }
}

/// Refuses a bad epoch where there is no start to stop: in ALTER SYSTEM, say.
#[pg_guard]
unsafe extern "C-unwind" fn check(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    source: pg_sys::GucSource::Type,
) -> bool {
    if source == pg_sys::GucSource::PGC_S_DEFAULT {
        return true;
    }
    // SAFETY: PostgreSQL passes a string that lives through the call.
    let text = unsafe { CStr::from_ptr(*value) };
    parse(text).map_err(explain).is_ok()
}
