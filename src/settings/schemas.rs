//! `snowflake.adopted_schemas`.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use pgrx::{PgList, pg_sys};

/// The names of a text that is valid, as they are in the database.
pub fn names(text: &CStr) -> Vec<CString> {
    if text.is_empty() { Vec::new() } else { split(text).unwrap_or_default() }
}

/// Whether the text is a list. Whether there are schemas of these names is not looked at, as for
/// `search_path`.
pub fn check(text: &str) -> Result<(), String> {
    let names = split(&CString::new(text).unwrap_or_default());
    names.map(|_| ()).ok_or_else(|| {
        "The valid values are lists of names, separated by commas and quoted where \
         needed, as in search_path."
            .into()
    })
}

/// The names of a list, as PostgreSQL splits `search_path`.
fn split(text: &CStr) -> Option<Vec<CString>> {
    let mut names = ptr::null_mut();
    // SAFETY: the text is copied, because it is changed, and so are the names in it.
    unsafe {
        let copy = pg_sys::pstrdup(text.as_ptr());
        let is_list = pg_sys::SplitIdentifierString(copy, b',' as c_char, &raw mut names);
        let names = PgList::<c_char>::from_pg(names);
        let names = names.iter_ptr().map(|name| CStr::from_ptr(name).to_owned()).collect();
        pg_sys::pfree(copy.cast());
        is_list.then_some(names)
    }
}
