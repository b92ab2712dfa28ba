//! Functions of the library `snowflake_pg`.

use std::ffi::{CStr, CString};

use pgrx::{IntoDatum, direct_function_call, pg_sys};

use crate::pg::encoding::{decode, text_attribute};
use crate::pg::spi::Argument;

/// A function of the library.
pub struct LibraryFunction {
    /// The OID.
    pub oid: pg_sys::Oid,
    /// The schema that it is in.
    pub schema: String,
}

impl LibraryFunction {
    /// The function of this symbol that is in C, in the library, of a superuser, and a member of an
    /// extension; `None` if this database does not have it. Only superusers create functions in C,
    /// so nobody else has one that looks like this, whatever she adds to an extension of hers. The
    /// caches of PostgreSQL answer this by the name, which is the symbol without what pgrx appends,
    /// and without the prefix of those in `snowflake_internal`.
    pub fn of(symbol: &str) -> Option<LibraryFunction> {
        let name = symbol.trim_end_matches("_wrapper");
        let name = CString::new(name.trim_start_matches("snowflake_internal_")).expect("a symbol");
        let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP;
        let none = pg_sys::Datum::null();
        // SAFETY: looks into the catalog. What is found in the list is copied before it is
        // released.
        unsafe {
            let list = pg_sys::SearchSysCacheList(cache as _, 1, name.as_ptr().into(), none, none);
            let rows = (*list).members.as_slice((*list).n_members as usize);
            let found = rows.iter().find_map(|row| of_row(&raw mut (**row).tuple, symbol));
            pg_sys::ReleaseCatCacheList(list);
            found
        }
    }

    /// Returns whether the present role may execute it.
    pub fn is_allowed(&self) -> bool {
        let arguments = [self.oid.into_datum(), "EXECUTE".into_datum()];
        // SAFETY: the function has these arguments; it gives NULL if ours was dropped.
        unsafe { direct_function_call(pg_sys::has_function_privilege_id, &arguments) == Some(true) }
    }

    /// Returns the OID, for a query; NULL if this database does not have it.
    pub fn argument(symbol: &str) -> Argument {
        (LibraryFunction::of(symbol).map(|function| function.oid.into()), pg_sys::OIDOID)
    }
}

/// The extension that has this function; [`pg_sys::InvalidOid`] if none has.
pub fn extension_of(function: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: looks into the catalog.
    unsafe { pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, function) }
}

/// # Safety
///
/// The row is one of `pg_proc`.
unsafe fn of_row(row: pg_sys::HeapTuple, symbol: &str) -> Option<LibraryFunction> {
    const LIBRARY: [&str; 2] = ["snowflake_pg", "snowflake_pg.so"];
    // SAFETY: the caller's promise. The attributes are texts, and so are the names.
    unsafe {
        let &pg_sys::FormData_pg_proc { oid, pronamespace, proowner, prolang, .. } =
            &*pg_sys::heap_tuple_get_struct(row);
        let text = |attribute| text_attribute(pg_sys::SysCacheIdentifier::PROCOID, row, attribute);
        let is_ours = prolang == pg_sys::Oid::from(pg_sys::ClanguageId)
            && text(pg_sys::Anum_pg_proc_prosrc).is_some_and(|found| found == symbol)
            && text(pg_sys::Anum_pg_proc_probin).is_some_and(|path| {
                path.rsplit('/').next().is_some_and(|it| LIBRARY.contains(&it))
            })
            && pg_sys::superuser_arg(proowner)
            && extension_of(oid) != pg_sys::InvalidOid;
        // Another session might have dropped both since the function was found.
        let schema = pg_sys::get_namespace_name(pronamespace);
        (is_ours && !schema.is_null())
            .then(|| LibraryFunction { oid, schema: decode(CStr::from_ptr(schema)) })
    }
}
