//! `snowflake.datacenter_id` and `snowflake.worker_id`.
//!
//! They are texts, because PostgreSQL reads integers in other forms too: `010` is 8, and so is
//! `7.6`. A server that is taken for another one issues the other one's IDs.

use snowflake_core::layout::Layout;

use super::fixed::FIXED;

/// Reads one of them; `None` where it is -1. While the server starts, the layout is not fixed yet,
/// and [`super::define`] compares with it.
pub fn parse(text: &str, last: fn(&Layout) -> u32) -> Result<Option<u32>, String> {
    let last = FIXED.get().map(|fixed| last(&fixed.layout));
    let rule = || match last {
        Some(last) => rule(last),
        None => "The valid values are decimal numbers, and -1 for none.".to_owned(),
    };
    if text == "-1" {
        return Ok(None);
    }
    // Rust accepts a plus sign.
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(id) if is_digits && last.is_none_or(|last| id <= last) => Ok(Some(id)),
        _ => Err(rule()),
    }
}

/// What is valid, as a sentence.
pub fn rule(last: u32) -> String {
    match last {
        0 => {
            "This part of an ID has 0 bits, so its only value is 0, and it need not be set.".into()
        }
        _ => format!("The valid values are the decimal numbers from 0 to {last}, and -1 for none."),
    }
}
