//! Texts of the database, and texts of ours.
//!
//! The texts of this extension are UTF-8. A database has an encoding of its own. A byte that means
//! nothing in it is kept as a character that stands for it: in `SQL_ASCII`, each that is not UTF-8,
//! and elsewhere what comes from a file or from another database. What a database cannot hold is
//! escaped, as in a constant `E'...'`, so that showing a text is never an error.

use std::ffi::{CStr, CString, c_int};
use std::ops::RangeInclusive;

use pgrx::pg_sys;

const UTF8: c_int = pg_sys::pg_enc::PG_UTF8 as c_int;
const SQL_ASCII: c_int = pg_sys::pg_enc::PG_SQL_ASCII as c_int;

/// Decodes a text of the database.
pub fn decode(text: &CStr) -> String {
    let mut rest = text.to_bytes();
    let mut decoded = String::new();
    if rest.is_ascii() || matches!(database_encoding(), UTF8 | SQL_ASCII) {
        for chunk in rest.utf8_chunks() {
            for character in chunk.valid().chars() {
                if RAW.contains(&character) {
                    decoded.extend(character.encode_utf8(&mut [0; 4]).bytes().map(raw));
                } else {
                    decoded.push(character);
                }
            }
            decoded.extend(chunk.invalid().iter().copied().map(raw));
        }
        return decoded;
    }
    while !rest.is_empty() {
        let (converted, length) = convert(rest, database_encoding(), UTF8);
        decoded += &String::from_utf8_lossy(&converted);
        if length == 0 {
            decoded.push(raw(rest[0]));
        }
        rest = &rest[length.max(1)..];
    }
    decoded
}

/// Encodes a text for the database. The text is cut at the first zero byte, since no text of a
/// database has one.
pub fn encode(text: &str) -> CString {
    encode_or(text, |character| escaped(character).into_bytes())
}

/// Encodes the name of a file, which keeps the bytes that mean nothing in the database.
pub fn encode_file_name(name: &str) -> CString {
    encode_or(name, |character| vec![character as u8])
}

/// Encodes a text, with this in the place of each character that the database cannot hold.
fn encode_or(text: &str, instead: impl Fn(char) -> Vec<u8>) -> CString {
    let mut encoded = Vec::new();
    match database_encoding() {
        _ if text.is_ascii() => encoded.extend(text.bytes()),
        SQL_ASCII => encoded = with_raw_bytes(text),
        UTF8 => {
            for chunk in with_raw_bytes(text).utf8_chunks() {
                encoded.extend(chunk.valid().bytes());
                encoded.extend(chunk.invalid().iter().flat_map(|byte| instead(raw(*byte))));
            }
        }
        database => {
            let mut rest = text;
            while !rest.is_empty() {
                let (converted, length) = convert(rest.as_bytes(), UTF8, database);
                encoded.extend(converted);
                let mut others = rest[length..].chars();
                if length == 0 {
                    encoded.extend(others.next().map(&instead).unwrap_or_default());
                }
                rest = others.as_str();
            }
        }
    }
    encoded.truncate(encoded.iter().position(|byte| *byte == 0).unwrap_or(encoded.len()));
    CString::new(encoded).expect("no zero byte is left")
}

/// Characters for bytes that mean nothing: private ones, whose last 8 bits are the byte.
const RAW: RangeInclusive<char> = '\u{10ff00}'..='\u{10ffff}';

fn raw(byte: u8) -> char {
    char::from_u32(*RAW.start() as u32 | u32::from(byte)).expect("a character")
}

/// The text in UTF-8, and the bytes that its private characters stand for.
fn with_raw_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for character in text.chars() {
        if RAW.contains(&character) {
            bytes.push(character as u8);
        } else {
            bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
        }
    }
    bytes
}

fn escaped(character: char) -> String {
    match character as u32 {
        code if RAW.contains(&character) => format!("\\x{:02X}", code as u8),
        code @ ..=0xffff => format!("\\u{code:04X}"),
        code => format!("\\U{code:08X}"),
    }
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

/// Converts the beginning of a text, and returns how many bytes of it that are: none before what
/// the other encoding does not have, or what means nothing.
fn convert(text: &[u8], from: c_int, to: c_int) -> (Vec<u8>, usize) {
    // No character becomes longer by more than this factor, PostgreSQL's MAX_CONVERSION_GROWTH.
    let text = &text[..text.len().min(1024)];
    let mut converted = vec![0; text.len() * 4 + 1];
    // SAFETY: looks into the catalog, in a transaction. Then the text is read, and the buffer is
    // written, up to their lengths, and what is written ends with a zero.
    let length = unsafe {
        let conversion = match pg_sys::IsTransactionState() {
            true => pg_sys::FindDefaultConversionProc(from, to),
            false => pg_sys::InvalidOid,
        };
        if conversion == pg_sys::InvalidOid {
            let ascii = text.iter().take_while(|byte| byte.is_ascii()).count();
            return (text[..ascii].to_vec(), ascii);
        }
        pg_sys::pg_do_encoding_conversion_buf(
            conversion,
            from,
            to,
            text.as_ptr().cast_mut(),
            text.len() as c_int,
            converted.as_mut_ptr(),
            converted.len() as c_int,
            true,
        )
    };
    converted.truncate(converted.iter().position(|byte| *byte == 0).unwrap_or_default());
    (converted, length as usize)
}

fn database_encoding() -> c_int {
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::GetDatabaseEncoding() }
}
