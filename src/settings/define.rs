//! Names, ranges and defaults of the settings.
//!
//! A bad value in `postgresql.conf` stops the server's start. PostgreSQL itself would only warn,
//! and use the default, so each value is checked here before its setting is defined.
//!
//! Without preloading, the library only decodes. Settings that are fixed when the server starts
//! cannot be defined then. They are fixed when a session starts instead, and only a superuser can
//! choose them.

use std::ffi::{CStr, CString, c_void};
use std::ops::RangeInclusive;

use pgrx::prelude::*;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
use snowflake_core::jump::SMALLEST_LIMIT;
use snowflake_core::layout::{Layout, SUM_RANGE, TWITTER_EPOCH, Widths};
use snowflake_core::ring;

use super::epoch::EPOCH;
use super::identity::{self, DATACENTER_ID, Identity, WORKER_ID};
use super::start_after::START_AFTER;
use super::{
    DATACENTER_BITS, Error, FAILOVER_MARGIN, FIXED, Fixed, MAX_BACKWARD_STEP, MAX_BURST,
    MAX_FORWARD_STEP, MAX_WAIT, NO_LIMIT, REUSE_WINDOW, SEQUENCE_BITS, SEQUENCE_JITTER,
    WORKER_BITS, placeholder, read,
};
use crate::server::report::OrRaise;

/// Defines all settings and fixes layout and identity. Raises an error, which stops the start of a
/// server, when a value is not valid.
pub fn init(preloading: bool) {
    // First look, then define: a definition cannot be taken back, and a library whose loading
    // failed is loaded again by the next call.
    let (layout, settings) = configured().or_raise();
    if FIXED.get().is_some() {
        return;
    }
    let fixed_at_start = WIDTHS.each_ref().map(|width| width.name).into_iter();
    let fixed_at_start =
        fixed_at_start.chain([EPOCH.name, DATACENTER_ID.name, WORKER_ID.name, START_AFTER.name]);
    let reloaded: Vec<_> =
        fixed_at_start.filter_map(|name| Some((name, placeholder::reloaded(name)?))).collect();
    for setting in &settings {
        setting.define(preloading);
    }
    let at_start = || When::Start.context(preloading);
    EPOCH.define(at_start());
    DATACENTER_ID.define(at_start());
    WORKER_ID.define(at_start());
    START_AFTER.define(at_start());
    for (name, value) in reloaded {
        placeholder::give(name, &value);
    }
    // SAFETY: the name is a string of the library; called while it is loaded.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"snowflake".as_ptr()) };

    // Read the values again, now that the settings are defined: without preloading, PostgreSQL has
    // just dropped what an ordinary user had set before the library was loaded.
    let fixed = FIXED.get_or_init(|| {
        let layout =
            EPOCH.defined().and_then(|epoch| checked_layout(epoch, |width| read(width.setting)));
        let layout = layout.or_raise();
        let identity = Identity::defined(layout).or_raise();
        let Identity { datacenter_id, worker_id } = identity.unwrap_or_default();
        Fixed {
            layout,
            identity,
            preloaded: preloading,
            last_sequence: layout.last_sequence(),
            ids: layout.ids(datacenter_id, worker_id).expect("within the checked ranges"),
            start_after: START_AFTER.defined().or_raise(),
        }
    });
    debug_assert!(!preloading || fixed.layout == layout);
}

/// The layout that is configured, and all integer settings: their values are valid.
fn configured() -> Result<(Layout, Vec<Int>), Error> {
    for width in &WIDTHS {
        width.configured()?;
    }
    let epoch = EPOCH.configured()?.unwrap_or(TWITTER_EPOCH);
    let layout = checked_layout(epoch, |width| width.configured().unwrap_or_default())?;
    identity::check_configured(layout)?;
    START_AFTER.configured()?;
    let settings: Vec<Int> = WIDTHS.into_iter().chain(LIMITS).chain([jitter(layout)]).collect();
    for setting in &settings {
        setting.configured()?;
    }
    Ok((layout, settings))
}

fn checked_layout(epoch: i64, bits: impl Fn(&Int) -> i32) -> Result<Layout, Error> {
    let [datacenter, worker, sequence] = WIDTHS.each_ref().map(|width| bits(width) as u32);
    Layout::new(epoch, Widths { datacenter, worker, sequence }).map_err(Error::Layout)
}

const WIDTHS: [Int; 3] = [
    width(
        c"snowflake.datacenter_bits",
        c"Bits of an ID that hold the datacenter.",
        &DATACENTER_BITS,
        0,
    ),
    width(c"snowflake.worker_bits", c"Bits of an ID that hold the worker.", &WORKER_BITS, 0),
    width(c"snowflake.sequence_bits", c"Bits of an ID that hold the sequence.", &SEQUENCE_BITS, 1),
];

const fn width(
    name: &'static CStr,
    short: &'static CStr,
    setting: &'static GucSetting<i32>,
    least: i32,
) -> Int {
    Int {
        name,
        short,
        long: c"The timestamp takes what datacenter, worker and sequence leave of 63 bits. Their \
            sum may be 10 to 24.",
        setting,
        range: least..=*SUM_RANGE.end() as i32,
        when: When::Start,
        is_time: false,
        check: None,
    }
}

const LIMITS: [Int; 6] = [
    limit(
        c"snowflake.max_burst",
        c"How far a burst of IDs may run ahead of the clock.",
        c"0 waits for the next millisecond when a sequence is used up; -1 is no limit.",
        &MAX_BURST,
    ),
    Int {
        range: 0..=ring::MILLISECONDS as i32,
        ..limit(
            c"snowflake.reuse_window",
            c"The largest step back of the clock after which unused IDs of repeated milliseconds are \
                issued.",
            c"IDs might be smaller than earlier ones until the clock has passed these. 0 is off.",
            &REUSE_WINDOW,
        )
    },
    limit(
        c"snowflake.max_backward_step",
        c"The largest step back of the clock that is held: IDs continue from the last timestamp.",
        c"0 holds none; -1 is no limit.",
        &MAX_BACKWARD_STEP,
    ),
    limit(
        c"snowflake.max_wait",
        c"The longest wait for a clock that is behind by more than max_backward_step.",
        c"0 refuses at once; -1 is no limit.",
        &MAX_WAIT,
    ),
    Int {
        check: Some(FORWARD_STEP_CHECK),
        ..limit(
            c"snowflake.max_forward_step",
            c"The largest unexplained jump of the clock ahead that IDs follow.",
            c"A larger one is refused until a superuser confirms it; -1 is no limit, and logs it.",
            &MAX_FORWARD_STEP,
        )
    },
    Int {
        range: 0..=i32::MAX,
        ..limit(
            c"snowflake.failover_margin",
            c"How far beyond the floor a server starts after a change of timeline.",
            c"For what a primary might have issued that never reached this server.",
            &FAILOVER_MARGIN,
        )
    },
];

const fn limit(
    name: &'static CStr,
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<i32>,
) -> Int {
    Int {
        name,
        short,
        long,
        setting,
        range: NO_LIMIT..=i32::MAX,
        when: When::Reload,
        is_time: true,
        check: None,
    }
}

fn jitter(layout: Layout) -> Int {
    Int {
        range: 0..=layout.last_sequence() as i32,
        is_time: false,
        ..limit(
            c"snowflake.sequence_jitter",
            c"A new millisecond starts with a random sequence from 0 to this.",
            c"Spreads IDs evenly over shards that are chosen by id modulo n, and costs capacity \
                in return.",
            &SEQUENCE_JITTER,
        )
    }
}

/// An integer setting. Its bounds may depend on those that were defined before it.
struct Int {
    name: &'static CStr,
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<i32>,
    range: RangeInclusive<i32>,
    when: When,
    /// Whether the unit is the millisecond.
    is_time: bool,
    /// What is checked beyond the range.
    check: Option<Check>,
}

/// When a setting may change.
#[derive(Clone, Copy)]
enum When {
    Start,
    Reload,
}

impl When {
    /// Without preloading, the start of a connection takes the place of the server's start.
    fn context(self, preloading: bool) -> GucContext {
        match self {
            When::Start if preloading => GucContext::Postmaster,
            When::Start => GucContext::SuBackend,
            When::Reload => GucContext::Sighup,
        }
    }
}

/// What is valid within a range, and the rule.
struct Check {
    is_legal: fn(i32) -> bool,
    rule: fn() -> String,
    hook: unsafe extern "C-unwind" fn(*mut i32, *mut *mut c_void, pg_sys::GucSource::Type) -> bool,
}

/// `snowflake.max_forward_step` may be -1, or no less than what two clocks can seem to differ by.
const FORWARD_STEP_CHECK: Check = Check {
    is_legal: |step| step == NO_LIMIT || i64::from(step) >= SMALLEST_LIMIT,
    rule: || {
        format!(
            "The valid values are -1, and {SMALLEST_LIMIT} ms to {} ms: less may be no more than \
             rounding.",
            i32::MAX
        )
    },
    hook: check_forward_step,
};

impl Int {
    /// The value in the configuration, or the default; an error when the value is not valid.
    fn configured(&self) -> Result<i32, Error> {
        let Some(text) = placeholder::configured(self.name) else { return Ok(read(self.setting)) };
        let mut value = 0;
        // SAFETY: both pointers are valid for the call, which is PostgreSQL's own reading of a
        // setting.
        let parsed = unsafe {
            pg_sys::parse_int(
                text.as_ptr(),
                &raw mut value,
                self.flags().bits(),
                std::ptr::null_mut(),
            )
        };
        let rule = if !parsed || !self.range.contains(&value) {
            let unit = if self.is_time { " ms" } else { "" };
            format!("The valid range is {} to {}{unit}.", self.range.start(), self.range.end())
        } else if let Some(check) = self.check.as_ref().filter(|check| !(check.is_legal)(value)) {
            (check.rule)()
        } else {
            return Ok(value);
        };
        Err(Error::Setting { name: self.name, value: text, rule })
    }

    fn flags(&self) -> GucFlags {
        let mut flags = GucFlags::default();
        flags.set(GucFlags::UNIT_MS, self.is_time);
        flags
    }

    fn define(&self, preloading: bool) {
        // SAFETY: the hook is guarded and follows PostgreSQL's rules for check hooks.
        unsafe {
            GucRegistry::define_int_guc_with_hooks(
                self.name,
                self.short,
                self.long,
                self.setting,
                *self.range.start(),
                *self.range.end(),
                self.when.context(preloading),
                self.flags(),
                self.check.as_ref().map(|check| check.hook),
                None,
                None,
            );
        }
    }
}

/// Refuses what is in range, but not valid.
#[pg_guard]
unsafe extern "C-unwind" fn check_forward_step(
    value: *mut i32,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a value that lives through the call.
    let is_legal = (FORWARD_STEP_CHECK.is_legal)(unsafe { *value });
    if !is_legal {
        explain((FORWARD_STEP_CHECK.rule)());
    }
    is_legal
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
