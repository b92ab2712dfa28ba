//! Every `snowflake.*` setting: what is set.
//!
//! Layout and identity are fixed when the server starts, so that no statement can continue under an
//! identity that another server has been given; [`fixed`] holds them in the form that the hot path
//! wants. No setting can be changed by an ordinary user.
//!
//! - `define`: names, ranges and defaults.
//! - `placeholder`: what is said of a setting before it is defined.
//! - `text`: settings that are texts, which `epoch`, `identity` and `start_after` are.
//! - `error`: what is wrong with a configuration.

mod define;
mod epoch;
mod error;
mod identity;
mod placeholder;
mod start_after;
mod text;

use std::sync::OnceLock;

use pgrx::GucSetting;
use snowflake_core::generator::Limits;
use snowflake_core::layout::{Ids, Layout};

pub use define::init;
pub use error::Error;
pub use identity::Identity;

static DATACENTER_BITS: GucSetting<i32> = GucSetting::<i32>::new(5);
static WORKER_BITS: GucSetting<i32> = GucSetting::<i32>::new(5);
static SEQUENCE_BITS: GucSetting<i32> = GucSetting::<i32>::new(12);
static MAX_BURST: GucSetting<i32> = GucSetting::<i32>::new(0);
static REUSE_WINDOW: GucSetting<i32> = GucSetting::<i32>::new(0);
static MAX_BACKWARD_STEP: GucSetting<i32> = GucSetting::<i32>::new(24 * 60 * 60 * 1000);
static MAX_WAIT: GucSetting<i32> = GucSetting::<i32>::new(1000);
static MAX_FORWARD_STEP: GucSetting<i32> = GucSetting::<i32>::new(24 * 60 * 60 * 1000);
static FAILOVER_MARGIN: GucSetting<i32> = GucSetting::<i32>::new(5000);
static SEQUENCE_JITTER: GucSetting<i32> = GucSetting::<i32>::new(0);

const NO_LIMIT: i32 = -1;

/// The largest limit that a setting can name, in milliseconds: 24 days.
pub const LARGEST_LIMIT: i64 = i32::MAX as i64;

/// What does not change while the server runs.
pub struct Fixed {
    /// Widths and epoch.
    pub layout: Layout,
    /// This server's datacenter and worker ID; `None` unless both are set.
    pub identity: Option<Identity>,
    /// Whether the server loaded the library when it started, so that there is a generator.
    pub preloaded: bool,
    /// The largest sequence.
    pub last_sequence: u32,
    /// This server's IDs.
    pub ids: Ids,
    /// Every start begins above this time, in milliseconds since the Unix epoch.
    pub start_after: Option<i64>,
}

static FIXED: OnceLock<Fixed> = OnceLock::new();

/// Layout and identity.
#[inline(always)]
pub fn fixed() -> &'static Fixed {
    FIXED.get().expect("set when the library was loaded")
}

/// Layout and identity, for what needs the generator: 55000 unless the library was preloaded.
pub fn require_preloading() -> Result<&'static Fixed, Error> {
    let fixed = fixed();
    if fixed.preloaded { Ok(fixed) } else { Err(Error::NotPreloaded) }
}

/// `snowflake.max_burst`, in milliseconds; `i64::MAX` is no limit.
#[inline(always)]
pub fn max_burst() -> i64 {
    milliseconds(&MAX_BURST).unwrap_or(i64::MAX)
}

/// The limits that the generator decides by, as they are set now.
pub fn limits() -> Limits {
    Limits {
        max_burst: max_burst(),
        reuse_window: reuse_window(),
        max_backward_step: max_backward_step().unwrap_or(i64::MAX),
        max_wait: milliseconds(&MAX_WAIT).unwrap_or(i64::MAX),
    }
}

/// `snowflake.reuse_window`, in milliseconds; 0 is off.
pub fn reuse_window() -> i64 {
    read(&REUSE_WINDOW).into()
}

/// `snowflake.max_wait`, in milliseconds; `None` is no limit.
pub fn max_wait() -> Option<i64> {
    milliseconds(&MAX_WAIT)
}

/// `snowflake.max_backward_step`, in milliseconds; `None` is no limit.
pub fn max_backward_step() -> Option<i64> {
    milliseconds(&MAX_BACKWARD_STEP)
}

/// `snowflake.max_forward_step`, in milliseconds; `None` is no limit.
pub fn max_forward_step() -> Option<i64> {
    milliseconds(&MAX_FORWARD_STEP)
}

/// `snowflake.failover_margin`, in milliseconds.
pub fn failover_margin() -> i64 {
    read(&FAILOVER_MARGIN).into()
}

/// The sequence that a new millisecond starts with.
#[inline(always)]
pub fn first_sequence() -> u32 {
    match read(&SEQUENCE_JITTER) {
        0 => 0,
        jitter => fastrand::u32(0..=jitter as u32),
    }
}

#[inline(always)]
fn milliseconds(setting: &GucSetting<i32>) -> Option<i64> {
    match read(setting) {
        NO_LIMIT => None,
        milliseconds => Some(i64::from(milliseconds)),
    }
}

/// The value, without the check of the thread that `GucSetting::get()` makes each time.
#[inline(always)]
fn read(setting: &GucSetting<i32>) -> i32 {
    // SAFETY: a plain variable that this process's only thread reads, and writes when it handles a
    // reload.
    unsafe { *setting.as_ptr() }
}
