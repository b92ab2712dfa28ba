//! Every `snowflake.*` setting.
//!
//! Layout and identity are fixed when the server starts, so that no statement can go on under an identity that
//! another server has been given; [`fixed`] holds them in the form that the hot path wants. No setting can be
//! changed by an ordinary user.
//!
//! A bad value in `postgresql.conf` stops the server's start. PostgreSQL alone would warn and go on with the
//! default, so each value is checked here before its setting is defined.
//!
//! Without preloading, the library only decodes. Settings of the postmaster cannot be defined then, so all
//! become settings that a session is started with and that only a superuser can choose.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use pgrx::prelude::*;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
use snowflake_core::epoch;
use snowflake_core::generator::Limits;
use snowflake_core::jump::SMALLEST_LIMIT;
use snowflake_core::layout::{Layout, SUM_RANGE, TWITTER_EPOCH, Widths};

use crate::clock;
use crate::error::{Error, LogEntry};

static EPOCH: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"2010-11-04T01:42:54.657Z"));
static DATACENTER_BITS: GucSetting<i32> = GucSetting::<i32>::new(5);
static WORKER_BITS: GucSetting<i32> = GucSetting::<i32>::new(5);
static SEQUENCE_BITS: GucSetting<i32> = GucSetting::<i32>::new(12);
static DATACENTER_ID: GucSetting<i32> = GucSetting::<i32>::new(UNSET);
static WORKER_ID: GucSetting<i32> = GucSetting::<i32>::new(UNSET);
static MAX_BURST: GucSetting<i32> = GucSetting::<i32>::new(0);
static MAX_BACKWARD_STEP: GucSetting<i32> = GucSetting::<i32>::new(24 * 60 * 60 * 1000);
/// The former name of [`MAX_BACKWARD_STEP`], which takes its place while it is given.
static MAX_DRIFT: GucSetting<i32> = GucSetting::<i32>::new(NOT_GIVEN);
static MAX_WAIT: GucSetting<i32> = GucSetting::<i32>::new(1000);
static MAX_FORWARD_STEP: GucSetting<i32> = GucSetting::<i32>::new(24 * 60 * 60 * 1000);
static FAILOVER_MARGIN: GucSetting<i32> = GucSetting::<i32>::new(5000);
static SEQUENCE_JITTER: GucSetting<i32> = GucSetting::<i32>::new(0);

const UNSET: i32 = -1;
const NO_LIMIT: i32 = -1;
const NOT_GIVEN: i32 = -2;
const BACKWARD_STEP_NAME: &CStr = c"snowflake.max_backward_step";
const FORMER_NAME: &CStr = c"snowflake.max_drift";
const EPOCH_NAME: &CStr = c"snowflake.epoch";
const EPOCH_RULE: &str = "The epoch is an ISO 8601 instant with an offset, such as \
     '2010-11-04T01:42:54.657Z', or a number of milliseconds since 1970-01-01 00:00:00 UTC; in whole milliseconds, \
     not before 1970 and not in the future.";
/// A smaller step may be no more than rounding.
const FORWARD_STEPS: RangeInclusive<i32> = SMALLEST_LIMIT as i32..=i32::MAX;

/// What does not change while the server runs.
pub struct Fixed {
    /// Widths and epoch.
    pub layout: Layout,
    /// The identity's bits in every ID; `None` while it is not set.
    pub node: Option<i64>,
    /// Whether the server loaded the library when it started, so that there is a generator.
    pub preloaded: bool,
    /// The largest sequence.
    pub last_sequence: u32,
    epoch: i64,
    shift: u32,
    node_bits: i64,
}

impl Fixed {
    fn new(layout: Layout, node: Option<i64>, preloaded: bool) -> Fixed {
        Fixed {
            layout,
            node,
            preloaded,
            last_sequence: layout.last_sequence(),
            epoch: layout.epoch(),
            shift: layout.timestamp_shift(),
            node_bits: node.unwrap_or(0),
        }
    }

    /// This server's ID of that millisecond and sequence, which the generator has issued.
    #[inline(always)]
    pub fn compose(&self, timestamp: i64, sequence: u32) -> i64 {
        ((timestamp - self.epoch) << self.shift) | self.node_bits | i64::from(sequence)
    }
}

static FIXED: OnceLock<Fixed> = OnceLock::new();

/// Layout and identity.
#[inline(always)]
pub fn fixed() -> &'static Fixed {
    FIXED.get().expect("set when the library was loaded")
}

/// `snowflake.max_burst`, in milliseconds; `i64::MAX` is no limit.
#[inline(always)]
pub fn max_burst() -> i64 {
    milliseconds(&MAX_BURST).unwrap_or(i64::MAX)
}

/// The limits that the generator decides by, as they are set now.
pub fn limits(fixed: &Fixed) -> Limits {
    Limits {
        max_burst: max_burst(),
        max_backward_step: max_backward_step().unwrap_or(i64::MAX),
        max_wait: milliseconds(&MAX_WAIT).unwrap_or(i64::MAX),
        last_sequence: fixed.last_sequence,
    }
}

/// `snowflake.max_wait`, in milliseconds; `None` is no limit.
pub fn max_wait() -> Option<i64> {
    milliseconds(&MAX_WAIT)
}

/// `snowflake.max_backward_step`, in milliseconds; `None` is no limit.
pub fn max_backward_step() -> Option<i64> {
    milliseconds(if read(&MAX_DRIFT) == NOT_GIVEN { &MAX_BACKWARD_STEP } else { &MAX_DRIFT })
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
    // SAFETY: a plain variable that this process's only thread reads, and writes when it handles a reload.
    unsafe { *setting.as_ptr() }
}

/// An integer setting. Its bounds may depend on those that were defined before it.
struct Int {
    name: &'static CStr,
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<i32>,
    range: RangeInclusive<i32>,
    when: When,
    flags: GucFlags,
    /// For what the range does not say.
    check: Option<Check>,
}

/// What is legal within a range, and the rule.
struct Check {
    is_legal: fn(i32) -> bool,
    rule: fn() -> String,
    hook: unsafe extern "C-unwind" fn(*mut i32, *mut *mut c_void, pg_sys::GucSource::Type) -> bool,
}

/// `snowflake.max_forward_step` may be -1, or no less than what two clocks can seem to differ by.
const FORWARD_STEP_CHECK: Check = Check {
    is_legal: |step| step == NO_LIMIT || FORWARD_STEPS.contains(&step),
    rule: || {
        format!(
            "The legal values are -1, and {} ms to {} ms: less may be no more than rounding.",
            FORWARD_STEPS.start(),
            FORWARD_STEPS.end()
        )
    },
    hook: check_forward_step,
};

/// When a setting may change.
#[derive(Clone, Copy)]
enum When {
    Start,
    Reload,
}

/// Defines all settings and fixes layout and identity. Raises an error, which stops the start of a server, when
/// a value is not legal.
pub fn init(preloading: bool) {
    let bits = |name, short, setting, range| {
        Int {
        name,
        short,
        long: c"The timestamp takes what datacenter, worker and sequence leave of 63 bits. Their sum may be 10 to 24.",
        setting,
        range,
        when: When::Start,
        flags: GucFlags::default(),
        check: None,
    }
    };
    let widest = *SUM_RANGE.end() as i32;
    let widths = [
        bits(
            c"snowflake.datacenter_bits",
            c"Bits of an ID that hold the datacenter.",
            &DATACENTER_BITS,
            0..=widest,
        ),
        bits(c"snowflake.worker_bits", c"Bits of an ID that hold the worker.", &WORKER_BITS, 0..=widest),
        bits(
            c"snowflake.sequence_bits",
            c"Bits of an ID that hold the sequence.",
            &SEQUENCE_BITS,
            1..=widest,
        ),
    ];

    // First look, then define: a definition cannot be taken back, and a library whose loading failed is loaded
    // again by the next call.
    let [datacenter, worker, sequence] = widths.each_ref().map(|width| width.configured() as u32);
    let epoch = configured_epoch();
    let layout = checked_layout(epoch, Widths { datacenter, worker, sequence });

    let identity = |name, short, setting, last: u32| Int {
        name,
        short,
        long:
            c"No two servers that share data may have both IDs in common. -1 is unset: nothing is generated.",
        setting,
        range: UNSET..=last as i32,
        when: When::Start,
        flags: GucFlags::default(),
        check: None,
    };
    let limit = |name, short, long, setting| Int {
        name,
        short,
        long,
        setting,
        range: NO_LIMIT..=i32::MAX,
        when: When::Reload,
        flags: GucFlags::UNIT_MS,
        check: None,
    };
    let others = [
        identity(
            c"snowflake.datacenter_id",
            c"This server's datacenter.",
            &DATACENTER_ID,
            layout.last_datacenter_id(),
        ),
        identity(c"snowflake.worker_id", c"This server's worker.", &WORKER_ID, layout.last_worker_id()),
        limit(
            c"snowflake.max_burst",
            c"How far a burst of IDs may run ahead of the clock.",
            c"0 waits for the next millisecond when a sequence is used up; -1 is no limit.",
            &MAX_BURST,
        ),
        limit(
            BACKWARD_STEP_NAME,
            c"The largest step back of the clock that is held: IDs go on from the last timestamp.",
            c"0 holds none; -1 is no limit.",
            &MAX_BACKWARD_STEP,
        ),
        Int {
            range: NOT_GIVEN..=i32::MAX,
            flags: GucFlags::UNIT_MS | GucFlags::NO_SHOW_ALL,
            ..limit(
                FORMER_NAME,
                c"The former name of snowflake.max_backward_step.",
                c"The next release does not take it.",
                &MAX_DRIFT,
            )
        },
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
            name: c"snowflake.failover_margin",
            short: c"How far beyond the register a server starts after a change of timeline.",
            long: c"For what a primary may have issued that never reached this server.",
            setting: &FAILOVER_MARGIN,
            range: 0..=i32::MAX,
            when: When::Reload,
            flags: GucFlags::UNIT_MS,
            check: None,
        },
        Int {
            name: c"snowflake.sequence_jitter",
            short: c"A new millisecond starts with a random sequence from 0 to this.",
            long: c"Spreads IDs evenly over shards that are chosen by id modulo n, and costs capacity in return.",
            setting: &SEQUENCE_JITTER,
            range: 0..=layout.last_sequence() as i32,
            when: When::Reload,
            flags: GucFlags::default(),
            check: None,
        },
    ];
    for setting in &others {
        setting.configured();
    }
    if let Some(value) = placeholder(FORMER_NAME) {
        if placeholder(BACKWARD_STEP_NAME).is_some() {
            let rule = format!(
                "{} is its new name. Only one of both may be set.",
                BACKWARD_STEP_NAME.to_string_lossy()
            );
            Error::Setting { name: FORMER_NAME, value, rule }.raise();
        }
        if preloading {
            LogEntry::FormerName { former: FORMER_NAME, new: BACKWARD_STEP_NAME }.log();
        }
    }

    if FIXED.get().is_some() {
        return;
    }
    for setting in widths.iter().chain(&others) {
        setting.define(preloading);
    }
    define_epoch(When::Start.context(preloading));
    // SAFETY: the name is a string of the library; called while it is loaded.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"snowflake".as_ptr()) };

    // What counts is what the definitions made of it: without preloading, PostgreSQL has just dropped what an
    // ordinary user had set before the library was loaded.
    let fixed = FIXED.get_or_init(|| {
        let [datacenter, worker, sequence] = widths.each_ref().map(|width| read(width.setting) as u32);
        let layout = checked_layout(defined_epoch(), Widths { datacenter, worker, sequence });
        Fixed::new(layout, configured_node(layout), preloading)
    });
    debug_assert!(!preloading || fixed.layout == layout);
}

impl When {
    /// Without preloading, a connection's start is the nearest to the server's.
    fn context(self, preloading: bool) -> GucContext {
        match self {
            When::Start if preloading => GucContext::Postmaster,
            When::Start => GucContext::SuBackend,
            When::Reload => GucContext::Sighup,
        }
    }
}

fn checked_layout(epoch: i64, widths: Widths) -> Layout {
    Layout::new(epoch, widths).unwrap_or_else(|error| Error::Layout(error).raise())
}

/// The identity's bits. A part of width 0 has one value only and need not be set.
fn configured_node(layout: Layout) -> Option<i64> {
    let id = |setting, last: u32| match read(setting) {
        UNSET if last > 0 => None,
        UNSET => Some(0),
        id => Some(id as u32),
    };
    let datacenter_id = id(&DATACENTER_ID, layout.last_datacenter_id())?;
    let worker_id = id(&WORKER_ID, layout.last_worker_id())?;
    Some(
        layout.node(datacenter_id, worker_id).expect("within the bounds that the settings were defined with"),
    )
}

impl Int {
    /// The value in the configuration, or the default. Raises an error when the value is not legal.
    fn configured(&self) -> i32 {
        let Some(text) = placeholder(self.name) else { return read(self.setting) };
        let mut value = 0;
        // SAFETY: both pointers are valid for the call, which is PostgreSQL's own reading of a setting.
        let parsed = unsafe {
            pg_sys::parse_int(text.as_ptr(), &raw mut value, self.flags.bits(), std::ptr::null_mut())
        };
        if parsed && self.range.contains(&value) {
            match &self.check {
                Some(check) if !(check.is_legal)(value) => {
                    Error::Setting { name: self.name, value: text, rule: (check.rule)() }.raise()
                }
                _ => return value,
            }
        }
        let unit = if self.flags.contains(GucFlags::UNIT_MS) { " ms" } else { "" };
        let (first, last) = (self.range.start(), self.range.end());
        let rule = format!("The legal range is {first} to {last}{unit}.");
        Error::Setting { name: self.name, value: text, rule }.raise()
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
                self.flags,
                self.check.as_ref().map(|check| check.hook),
                None,
                None,
            );
        }
    }
}

fn configured_epoch() -> i64 {
    placeholder(EPOCH_NAME).map_or(TWITTER_EPOCH, legal_epoch)
}

fn defined_epoch() -> i64 {
    legal_epoch(EPOCH.get().unwrap_or_default())
}

fn legal_epoch(text: CString) -> i64 {
    parse_epoch(&text).unwrap_or_else(|rule| Error::Setting { name: EPOCH_NAME, value: text, rule }.raise())
}

/// The epoch, or the rule that the text breaks.
fn parse_epoch(text: &CStr) -> Result<i64, String> {
    // A server whose clock is wrong has to start: an epoch in the future stops generating, and nothing else.
    let latest = if is_starting() { i64::MAX } else { clock::unix_ms() };
    epoch::parse(&text.to_string_lossy(), latest)
        .map_err(|error| format!("The value is not legal: {error}. {EPOCH_RULE}"))
}

/// Whether the server starts, or without preloading, the session loads the library.
fn is_starting() -> bool {
    FIXED.get().is_none()
}

fn define_epoch(context: GucContext) {
    // SAFETY: the hook is guarded and follows PostgreSQL's rules for check hooks.
    unsafe {
        GucRegistry::define_string_guc_with_hooks(
            EPOCH_NAME,
            c"The instant that timestamps in IDs count from.",
            c"An ISO 8601 instant with an offset, or milliseconds since 1970-01-01 00:00:00 UTC.",
            &EPOCH,
            context,
            GucFlags::default(),
            Some(check_epoch),
            None,
            None,
        );
    }
}

/// Refuses a bad epoch where there is no start to stop: in ALTER SYSTEM, say.
#[pg_guard]
unsafe extern "C-unwind" fn check_epoch(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    source: pg_sys::GucSource::Type,
) -> bool {
    if source == pg_sys::GucSource::PGC_S_DEFAULT {
        return true;
    }
    // SAFETY: PostgreSQL passes a string that lives through the call.
    let text = unsafe { CStr::from_ptr(*value) };
    parse_epoch(text).map_err(explain).is_ok()
}

/// Refuses what is in range, but not legal.
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
fn explain(rule: String) {
    let rule = CString::new(rule).unwrap_or_default();
    // SAFETY: this is the macro GUC_check_errdetail().
    unsafe {
        pg_sys::pre_format_elog_string(0, std::ptr::null());
        pg_sys::GUC_check_errdetail_string = pg_sys::format_elog_string(c"%s".as_ptr(), rule.as_ptr());
    }
}

/// What the configuration says of a setting that is not defined yet.
fn placeholder(name: &CStr) -> Option<CString> {
    // SAFETY: the name is valid, and the answer is copied before anything can change it.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_owned())
    }
}
