//! The settings under which queries run, `search_path` among them.

use std::ffi::CStr;

use pgrx::pg_sys;

/// Acts under the settings of our queries: names are looked up in the catalog alone.
pub(crate) fn under_settings<T>(act: impl FnOnce() -> T) -> T {
    let settings = [
        (c"search_path", c"pg_catalog, pg_temp"),
        (c"row_security", c"off"),
        (c"standard_conforming_strings", c"on"),
        // Compiling a query takes longer than running it.
        (c"jit", c"off"),
    ];
    with_settings(&settings, act)
}

/// Sets a setting for as long as the action says.
///
/// # Safety
///
/// The name and the value are those of one of the server's settings.
pub(crate) unsafe fn set(name: &CStr, value: &CStr, action: pg_sys::GucAction::Type) {
    // SAFETY: as the caller promises.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            action,
            true,
            0,
            false,
        );
    }
}

/// Acts under settings of its own, and puts back what it or others changed meanwhile.
pub(crate) fn with_settings<T>(settings: &[(&CStr, &CStr)], act: impl FnOnce() -> T) -> T {
    // SAFETY: names and values are those of the server's own settings. What is set is put back, by
    // the end of the transaction after an error.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in settings {
            set(name, value, pg_sys::GucAction::GUC_ACTION_SAVE);
        }
        let done = act();
        pg_sys::AtEOXact_GUC(false, level);
        done
    }
}
