//! The settings under which statements run, `search_path` among them.

use std::ffi::{CStr, CString};

use pgrx::PgList;
use pgrx::pg_sys;

use crate::encoding::encode;

/// Where names are looked up, as `search_path` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(CString);

impl Path {
    /// The path, as the setting takes it.
    pub(crate) fn as_setting(&self) -> &CStr {
        &self.0
    }

    /// The catalog alone.
    pub fn catalog() -> Path {
        Path::through(&[])
    }

    /// The catalog, and then these schemas. Temporary types and relations of the session come last,
    /// so that they hide no other.
    pub fn through(schemas: &[String]) -> Path {
        let quoted = schemas.iter().map(|name| format!("\"{}\", ", name.replace('"', "\"\"")));
        Path(encode(&format!("pg_catalog, {}pg_temp", quoted.collect::<String>())))
    }

    /// The same path for statements of a user that create objects, which are created in the first schema
    /// that a path names. PostgreSQL looks into the catalog first in any case.
    pub(crate) fn for_creation(&self) -> CString {
        let path = self.0.to_bytes();
        CString::new(path.strip_prefix(b"pg_catalog, ").unwrap_or(path)).expect("no zero byte")
    }

    /// The schemas of the session's own `search_path` that exist, in this order.
    pub fn schemas_of_session() -> Vec<pg_sys::Oid> {
        // SAFETY: a copy of a list of OIDs.
        let schemas = unsafe { PgList::<pg_sys::Oid>::from_pg(pg_sys::fetch_search_path(false)) };
        schemas.iter_oid().collect()
    }
}

/// How literals are written and read. With `standard_conforming_strings` off, a literal with a
/// backslash would end elsewhere. The other settings ensure that what is written now is read in the
/// same way later.
pub(crate) const LITERALS: [(&CStr, &CStr); 5] = [
    (c"standard_conforming_strings", c"on"),
    (c"DateStyle", c"ISO"),
    (c"IntervalStyle", c"postgres"),
    (c"array_nulls", c"on"),
    // With less than 1, digits of floating-point numbers are lost.
    (c"extra_float_digits", c"1"),
];

/// Acts under the settings of our queries.
pub(crate) fn under_settings<T>(act: impl FnOnce() -> T) -> T {
    let path = Path::catalog();
    let settings = [
        (c"search_path", &*path.0),
        (c"row_security", c"off"),
        // Expressions of users are recognized by how PostgreSQL writes them.
        (c"quote_all_identifiers", c"off"),
        // Otherwise, PostgreSQL would look at the checks of children and partitions, and compute
        // the constants in them.
        (c"constraint_exclusion", c"off"),
        // Compiling a long query takes longer than running it. And nested loops pay only for few
        // rows, but the planner cannot know how many rows a part of these queries returns.
        (c"jit", c"off"),
        (c"plan_cache_mode", c"auto"),
        (c"enable_nestloop", c"off"),
    ];
    with_settings(&[&LITERALS[..], &settings].concat(), act)
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
