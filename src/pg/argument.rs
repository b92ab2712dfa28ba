//! Arguments of functions that are texts.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::pg::encoding::decode;
use crate::pg::report;

/// No valid text, of an argument or of a setting, has more bytes. Longer ones are refused before
/// they are copied: a call and its error copy a text up to six times, for which the reserve has to
/// suffice where memory is short.
pub const LONGEST: usize = 65_536;

/// The text argument with this number, counted from 0. It must not be NULL. 54000 for a text that
/// is longer than any valid one.
///
/// # Safety
///
/// `fcinfo` belongs to a call that has this argument.
pub unsafe fn text_argument(fcinfo: pg_sys::FunctionCallInfo, number: usize) -> String {
    // SAFETY: the argument is a text; the copy is PostgreSQL's, and read at once.
    unsafe {
        let text = pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, number);
        let length = pg_sys::toast_raw_datum_size(text) - pg_sys::VARHDRSZ;
        if length > LONGEST {
            let message = format!("a text of {length} bytes is too long");
            report::new(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
                .set_detail(format!("No valid value has more than {LONGEST} bytes."))
                .raise();
        }
        decode(CStr::from_ptr(pg_sys::text_to_cstring(text.cast_mut_ptr())))
    }
}
