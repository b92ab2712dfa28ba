//! Texts of the database, and texts of ours.
//!
//! The texts of this extension are UTF-8. A database has an encoding of its own. If that is
//! `SQL_ASCII`, the meaning of a byte is not known: each byte that is not UTF-8 is kept as a
//! character that stands for it, and becomes the same byte again when the text is encoded.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ops::RangeInclusive;

use pgrx::pg_sys;

/// Decodes a text of the database.
pub fn decode(text: &CStr) -> String {
    let bytes = text.to_bytes();
    if bytes.is_ascii() {
        String::from_utf8_lossy(bytes).into_owned()
    } else if is_sql_ascii() {
        let mut text = String::new();
        for chunk in bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                if RAW.contains(&character) {
                    text.extend(character.encode_utf8(&mut [0; 4]).bytes().map(raw));
                } else {
                    text.push(character);
                }
            }
            text.extend(chunk.invalid().iter().copied().map(raw));
        }
        text
    } else {
        converted(text, pg_sys::pg_server_to_any).to_string_lossy().into_owned()
    }
}

/// Encodes a text for the database. The text is cut at the first zero byte, since no text of a
/// database has one.
pub fn encode(text: &str) -> CString {
    let text = until_zero(text.bytes().collect());
    if text.to_bytes().is_ascii() {
        text
    } else if is_sql_ascii() {
        let mut bytes = Vec::new();
        for character in text.to_string_lossy().chars() {
            if RAW.contains(&character) {
                bytes.push(character as u8);
            } else {
                bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        until_zero(bytes)
    } else {
        converted(&text, pg_sys::pg_any_to_server)
    }
}

/// What stands for the bytes of a `SQL_ASCII` database that are not UTF-8: private characters,
/// whose last 8 bits are the byte.
const RAW: RangeInclusive<char> = '\u{10ff00}'..='\u{10ffff}';

fn raw(byte: u8) -> char {
    char::from_u32(*RAW.start() as u32 | u32::from(byte)).expect("a character")
}

/// An attribute of a row of a cache; `None` for NULL.
///
/// # Safety
///
/// The row is one of the cache, and the attribute a text.
pub unsafe fn text_attribute(
    cache: pg_sys::SysCacheIdentifier::Type,
    row: pg_sys::HeapTuple,
    attribute: u32,
) -> Option<String> {
    let mut is_null = false;
    // SAFETY: the caller's promise.
    unsafe {
        let value = pg_sys::SysCacheGetAttr(cache as _, row, attribute as i16, &raw mut is_null);
        (!is_null).then(|| decode(CStr::from_ptr(pg_sys::text_to_cstring(value.cast_mut_ptr()))))
    }
}

/// The text of a value of type name.
///
/// # Safety
///
/// The value is of this type.
pub unsafe fn text_of_name(value: pg_sys::Datum) -> String {
    // SAFETY: the caller's promise.
    decode(unsafe { CStr::from_ptr((*value.cast_mut_ptr::<pg_sys::NameData>()).data.as_ptr()) })
}

type Conversion = unsafe fn(*const c_char, c_int, c_int) -> *mut c_char;

fn converted(text: &CStr, conversion: Conversion) -> CString {
    let length = text.to_bytes().len() as c_int;
    // SAFETY: the text lives through the call, which answers with a string: the same one, or a new
    // one.
    unsafe {
        CStr::from_ptr(conversion(text.as_ptr(), length, pg_sys::pg_enc::PG_UTF8 as c_int))
            .to_owned()
    }
}

fn is_sql_ascii() -> bool {
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::GetDatabaseEncoding() == pg_sys::pg_enc::PG_SQL_ASCII as c_int }
}

fn until_zero(mut bytes: Vec<u8>) -> CString {
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    CString::new(bytes).expect("no zero byte is left")
}
