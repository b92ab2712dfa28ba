//! Settings that are texts, because PostgreSQL reads integers in more forms than are safe, and has
//! no settings that are times.

use std::ffi::{CStr, CString, c_char};

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};

use crate::pg::argument::LONGEST;
use crate::pg::report::ErrorReport;

use super::error::{explain, wrong_value};
use super::placeholder;

/// A setting that is a text.
pub struct Text<T: 'static> {
    /// The name.
    pub name: &'static CStr,
    /// The description for `pg_settings`.
    pub short: &'static CStr,
    /// More about it.
    pub long: &'static CStr,
    /// The value, which is the default until it is set.
    pub value: GucSetting<Option<CString>>,
    /// Parses the text, or returns the rule that it breaks.
    pub parse: fn(&str) -> Result<T, String>,
    /// Calls [`Text::check`].
    pub hook: Hook,
}

type Hook = unsafe extern "C-unwind" fn(
    *mut *mut c_char,
    *mut *mut std::ffi::c_void,
    pg_sys::GucSource::Type,
) -> bool;

impl<T> Text<T> {
    /// Returns the value in the configuration, before the setting is defined; `None` where there is
    /// none.
    pub fn configured(&self) -> Result<Option<T>, ErrorReport> {
        placeholder::configured(self.name).map(|text| self.valid(text)).transpose()
    }

    /// Returns the value of the setting.
    pub fn defined(&self) -> Result<T, ErrorReport> {
        self.valid(self.value.get().unwrap_or_default())
    }

    fn valid(&self, text: CString) -> Result<T, ErrorReport> {
        (self.parse)(&text.to_string_lossy()).map_err(|rule| wrong_value(self.name, &text, rule))
    }

    /// Defines the setting.
    pub fn define(&'static self, context: GucContext) {
        // SAFETY: the hook is guarded and follows PostgreSQL's rules for check hooks.
        unsafe {
            GucRegistry::define_string_guc_with_hooks(
                self.name,
                self.short,
                self.long,
                &self.value,
                context,
                GucFlags::default(),
                Some(self.hook),
                None,
                None,
            );
        }
    }

    /// Refuses a bad value where this stops no start, for example in ALTER SYSTEM.
    ///
    /// # Safety
    ///
    /// `value` is what PostgreSQL passes to a check hook.
    pub unsafe fn check(&self, value: *mut *mut c_char, source: pg_sys::GucSource::Type) -> bool {
        if source == pg_sys::GucSource::PGC_S_DEFAULT {
            return true;
        }
        // SAFETY: a string that lives through the call.
        let text = unsafe { CStr::from_ptr(*value) };
        let valid = match text.count_bytes() {
            0..=LONGEST => (self.parse)(&text.to_string_lossy()).map(|_| ()),
            _ => Err(format!("No valid value has more than {LONGEST} bytes.")),
        };
        valid.map_err(explain).is_ok()
    }
}

/// The check hook of a [`Text`].
macro_rules! check_hook {
    ($setting:ident) => {{
        #[pgrx::pg_guard]
        unsafe extern "C-unwind" fn check(
            value: *mut *mut std::ffi::c_char,
            _extra: *mut *mut std::ffi::c_void,
            source: pgrx::pg_sys::GucSource::Type,
        ) -> bool {
            // SAFETY: PostgreSQL calls this.
            unsafe { $setting.check(value, source) }
        }
        check
    }};
}
pub(super) use check_hook;
