//! Values of settings that the library has not defined yet, which PostgreSQL keeps as texts.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;

/// Returns the value in the server's configuration of a setting that is not defined yet. Values of
/// a session, a role or a database are not looked at: when the setting is defined, PostgreSQL drops
/// them with a warning.
pub fn configured(name: &CStr) -> Option<CString> {
    let option = find(name)?;
    let of_server = [pg_sys::GucSource::PGC_S_FILE, pg_sys::GucSource::PGC_S_ARGV];
    let of_superuser = option.reset_scontext == pg_sys::GucContext::PGC_SU_BACKEND;
    if !of_server.contains(&option.reset_source) && !of_superuser {
        return None;
    }
    // SAFETY: the name is valid, and the answer is copied before anything can change it. It is the
    // value that RESET would give, which what the session has set does not hide.
    unsafe {
        let value = pg_sys::GetConfigOptionResetString(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_owned())
    }
}

/// The value of [`configured`], if a reload has read it since the server started. PostgreSQL does
/// not take it over when a setting is defined that is fixed when a session starts: it expects such
/// a setting to be defined already.
pub fn reloaded(name: &CStr) -> Option<CString> {
    let is_reloaded = find(name)?.reset_scontext == pg_sys::GucContext::PGC_SIGHUP;
    if is_reloaded { configured(name) } else { None }
}

/// Gives a setting the value that the configuration has.
pub fn give(name: &CStr, value: &CStr) {
    // SAFETY: the setting is defined, and both are strings.
    unsafe {
        pg_sys::SetConfigOption(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_POSTMASTER,
            pg_sys::GucSource::PGC_S_FILE,
        );
    }
}

/// PostgreSQL's entry of a setting.
fn find(name: &CStr) -> Option<&'static pg_sys::config_generic> {
    // SAFETY: the entries live as long as nothing is defined, and are read at once.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            let options = pg_sys::get_guc_variables();
            let count = pg_sys::GetNumConfigOptions() as usize;
            (0..count).find_map(|at| {
                let option = &**options.add(at);
                (CStr::from_ptr(option.name) == name).then_some(option)
            })
        }
        #[cfg(not(feature = "pg15"))]
        {
            pg_sys::find_option(name.as_ptr(), false, true, 0).as_ref()
        }
    }
}
