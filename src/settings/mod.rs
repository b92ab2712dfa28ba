//! Every `snowflake.*` setting: what is set.
//!
//! Layout and identity are fixed when the server starts, so that no statement can continue under an
//! identity that another server has been given; [`mod@fixed`] holds them in the form that the hot
//! path wants. An ordinary user can change only `snowflake.adopted_schemas`, for what he creates
//! himself.
//!
//! - `table`: names, defaults and ranges.
//! - `integer`, `text`: the kinds of values.
//! - `valid`: rules for valid settings, beyond a range of integers.
//! - `condition`: conditions of an identity, and the worker ID in a name.
//! - `define`: checks and defines settings.
//! - `placeholder`: the configured value of a setting that is not defined yet.
//! - `fixed`: settings that are fixed when the server starts.
//! - `named_layout`: a layout as messages and tables name it.
//! - `error`: errors of the configuration.

mod condition;
mod define;
mod error;
mod fixed;
mod integer;
mod named_layout;
mod placeholder;
mod table;
mod text;
mod valid;

use std::ffi::CString;

use snowflake_core::defaults::MAX_QUEUE;
use snowflake_core::generator::Limits;
use snowflake_core::time::Span;

pub use condition::Named;
pub use define::init;
pub use error::not_preloaded;
pub use fixed::{Fixed, Identity, fixed, require_preloading};
pub use named_layout::NamedLayout;
pub use table::{
    ADOPTED_SCHEMAS, FAILOVER_MARGIN, MAX_BACKWARD_STEP, MAX_FORWARD_STEP, MAX_OBSERVED_LEAD,
    MAX_WAIT, PUBLIC_KEY_FILE, REUSE_WINDOW,
};
use table::{MAX_BURST, SEQUENCE_JITTER};
pub use valid::schema_names;

/// The largest limit that a setting can name: 24 days.
pub const LARGEST_LIMIT: Span = Span(i32::MAX as i64);

/// `snowflake.max_burst`; `None` is no limit.
#[inline(always)]
pub fn max_burst() -> Option<Span> {
    MAX_BURST.limit()
}

/// The limits that the generator decides by, as they are set now.
pub fn limits() -> Limits {
    Limits {
        max_burst: max_burst(),
        reuse_window: REUSE_WINDOW.span(),
        max_backward_step: MAX_BACKWARD_STEP.limit(),
        max_wait: MAX_WAIT.limit(),
        max_queue: MAX_QUEUE,
    }
}

/// The sequence that a new millisecond starts with.
#[inline(always)]
pub fn first_sequence() -> u32 {
    match SEQUENCE_JITTER.get() {
        0 => 0,
        jitter => fastrand::u32(0..=jitter as u32),
    }
}

/// The names of `snowflake.adopted_schemas`, as they are in the database.
pub fn adopted_schemas() -> Vec<CString> {
    ADOPTED_SCHEMAS.value.get().map_or_else(Vec::new, |text| schema_names(&text))
}
