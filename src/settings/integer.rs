//! Settings that are integers.

use std::ffi::{CStr, c_void};
use std::ops::RangeInclusive;

use crate::pg::report::ErrorReport;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};
use snowflake_core::layout::{Layout, SUM_RANGE};
use snowflake_core::time::Span;

use super::error::wrong_value;
use super::placeholder;

/// A setting that is an integer.
pub struct Int {
    /// The name.
    pub name: &'static CStr,
    /// The description for `pg_settings`.
    pub short: &'static CStr,
    /// More about it.
    pub long: &'static CStr,
    /// The value, which is the default until it is set.
    pub value: GucSetting<i32>,
    /// The valid range, unless `last` is less.
    pub range: RangeInclusive<i32>,
    /// The largest value, if it depends on the layout.
    pub last: Option<fn(&Layout) -> u32>,
    /// When it may change.
    pub when: When,
    /// True if the unit is the millisecond.
    pub is_time: bool,
    /// The check beyond the range.
    pub check: Option<Check>,
}

/// When a setting may change.
#[derive(Clone, Copy)]
pub enum When {
    /// When the server starts.
    Start,
    /// Whenever the configuration is loaded again.
    Reload,
}

impl When {
    /// Without preloading, the start of a connection takes the place of the server's start.
    pub fn context(self, preloading: bool) -> GucContext {
        match self {
            When::Start if preloading => GucContext::Postmaster,
            When::Start => GucContext::SuBackend,
            When::Reload => GucContext::Sighup,
        }
    }
}

/// A rule within a range.
pub struct Check {
    /// Returns whether this value is valid.
    pub is_valid: fn(i32) -> bool,
    /// The rule, as a sentence.
    pub rule: fn() -> String,
    /// Refuses a bad value where this stops no start, for example in ALTER SYSTEM.
    pub hook: Hook,
}

type Hook =
    unsafe extern "C-unwind" fn(*mut i32, *mut *mut c_void, pg_sys::GucSource::Type) -> bool;

/// The value of a limit that does not exist.
pub const NO_LIMIT: i32 = -1;

impl Int {
    /// The width of a part of an ID, in bits.
    pub const fn of_bits(
        name: &'static CStr,
        short: &'static CStr,
        default: i32,
        least: i32,
    ) -> Int {
        Int {
            name,
            short,
            long: c"The timestamp takes what datacenter, worker and sequence leave of 63 bits. \
                Their sum may be 10 to 24.",
            value: GucSetting::<i32>::new(default),
            range: least..=*SUM_RANGE.end() as i32,
            last: None,
            when: When::Start,
            is_time: false,
            check: None,
        }
    }

    /// A limit in milliseconds.
    pub const fn of_milliseconds(
        name: &'static CStr,
        short: &'static CStr,
        long: &'static CStr,
        default: Option<Span>,
        range: RangeInclusive<i32>,
    ) -> Int {
        let default = match default {
            Some(Span(default)) => default as i32,
            None => NO_LIMIT,
        };
        Int {
            name,
            short,
            long,
            value: GucSetting::<i32>::new(default),
            range,
            last: None,
            when: When::Reload,
            is_time: true,
            check: None,
        }
    }

    /// The value, without the check of the thread that `GucSetting::get()` makes each time.
    #[inline(always)]
    pub fn get(&self) -> i32 {
        // SAFETY: a plain variable that this process's only thread reads, and writes when it
        // handles a reload.
        unsafe { *self.value.as_ptr() }
    }

    /// The value of a length of time.
    #[inline(always)]
    pub fn span(&self) -> Span {
        Span(self.get().into())
    }

    /// The value of a limit; `None` is no limit.
    #[inline(always)]
    pub fn limit(&self) -> Option<Span> {
        Some(self.span()).filter(|limit| *limit != Span(NO_LIMIT.into()))
    }

    /// The value in the configuration, or the default; an error when the value is not valid. The
    /// layout is not known yet when its own widths are asked for.
    pub fn configured(&self, layout: Option<&Layout>) -> Result<i32, ErrorReport> {
        let Some(text) = placeholder::configured(self.name) else { return Ok(self.get()) };
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
        let range = self.range(layout);
        let rule = if !parsed || !range.contains(&value) {
            let unit = if self.is_time { " ms" } else { "" };
            format!("The valid range is {} to {}{unit}.", range.start(), range.end())
        } else if let Some(check) = self.check.as_ref().filter(|check| !(check.is_valid)(value)) {
            (check.rule)()
        } else {
            return Ok(value);
        };
        Err(wrong_value(self.name, &text, rule))
    }

    fn range(&self, layout: Option<&Layout>) -> RangeInclusive<i32> {
        match self.last.zip(layout) {
            Some((last, layout)) => *self.range.start()..=last(layout) as i32,
            None => self.range.clone(),
        }
    }

    fn flags(&self) -> GucFlags {
        let mut flags = GucFlags::default();
        flags.set(GucFlags::UNIT_MS, self.is_time);
        flags
    }

    /// Defines the setting.
    pub fn define(&'static self, layout: &Layout, preloading: bool) {
        let range = self.range(Some(layout));
        // SAFETY: the hook is guarded and follows PostgreSQL's rules for check hooks.
        unsafe {
            GucRegistry::define_int_guc_with_hooks(
                self.name,
                self.short,
                self.long,
                &self.value,
                *range.start(),
                *range.end(),
                self.when.context(preloading),
                self.flags(),
                self.check.as_ref().map(|check| check.hook),
                None,
                None,
            );
        }
    }
}
