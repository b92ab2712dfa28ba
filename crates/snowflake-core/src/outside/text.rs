//! Text forms: an ID in base 62, and a time in ISO 8601.
//!
//! ```
//! use snowflake_core::outside::text::{from_base62, iso8601, to_base62};
//! use snowflake_core::time::Timestamp;
//!
//! let text = to_base62(1268118639732232192).unwrap();
//! assert_eq!(text, "1Vfznn0WLjc");
//! assert_eq!(from_base62("1Vfznn0WLjc"), Ok(1268118639732232192));
//! assert_eq!(iso8601(Timestamp(1591178018874)), "2020-06-03T09:53:38.874Z");
//! ```

use jiff::tz::Offset;

use crate::layout::PartsError;
use crate::time::Timestamp;

/// The number of characters of the base 62 form of every ID: 62 to the power of 11 is more than 2
/// to the power of 63.
pub const LENGTH: usize = 11;

/// The digits, in the order of their values and of ASCII, so that texts sort as the IDs do.
const DIGITS: [u8; 62] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Reasons for which a text is not the base 62 form of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Base62Error {
    /// A character that is no digit.
    #[error("\"{character}\" at position {position} is not a base 62 digit")]
    Digit {
        /// The character.
        character: char,
        /// Where it is, counted in characters from 1.
        position: usize,
    },
    /// Too short or too long, with nothing but digits.
    #[error("it has {0} characters instead of {LENGTH}")]
    Length(usize),
    /// More than the largest ID.
    #[error("it is more than {}", i64::MAX)]
    TooLarge,
}

/// The ID in base 62, padded with zeros in front: sorts byte by byte as the ID does.
pub fn to_base62(id: i64) -> Result<String, PartsError> {
    let id = u64::try_from(id).map_err(|_| PartsError::Negative(id))?;
    Ok(digits::<LENGTH>(id).map(char::from).iter().collect())
}

/// So many digits of the number, with zeros in front.
pub(crate) fn digits<const N: usize>(mut rest: u64) -> [u8; N] {
    let mut text = [0; N];
    for digit in text.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    text
}

/// The ID whose base 62 form this is. What [`to_base62`] does not write is not read: nothing is
/// trimmed or padded.
pub fn from_base62(text: &str) -> Result<i64, Base62Error> {
    let mut id: i64 = 0;
    let mut fits = true;
    let mut length = 0;
    for (index, character) in text.chars().enumerate() {
        let value =
            value(character).ok_or(Base62Error::Digit { character, position: index + 1 })?;
        match id.checked_mul(62).and_then(|id| id.checked_add(value)) {
            Some(more) => id = more,
            None => fits = false,
        }
        length = index + 1;
    }
    if length != LENGTH {
        Err(Base62Error::Length(length))
    } else if !fits {
        Err(Base62Error::TooLarge)
    } else {
        Ok(id)
    }
}

pub(crate) fn value(digit: char) -> Option<i64> {
    let value = match digit {
        '0'..='9' => digit as u32 - '0' as u32,
        'A'..='Z' => digit as u32 - 'A' as u32 + 10,
        'a'..='z' => digit as u32 - 'a' as u32 + 36,
        _ => return None,
    };
    Some(value.into())
}

/// A time that is not before 1970 as an ISO 8601 instant in UTC, as JavaScript's `toISOString()`
/// writes it: a year beyond 9999 has a sign and six digits.
pub fn iso8601(time: Timestamp) -> String {
    /// The calendar repeats itself after this many years. `CYCLE` is the same in milliseconds.
    const YEARS: i64 = 400;
    const CYCLE: i64 = 146_097 * 24 * 60 * 60 * 1000;
    let (cycles, within) = (time.0.div_euclid(CYCLE), time.0.rem_euclid(CYCLE));
    let time = jiff::Timestamp::from_millisecond(within).expect("within 400 years of 1970");
    let time = Offset::UTC.to_datetime(time);
    let year = i64::from(time.year()) + cycles * YEARS;
    let year = if year > 9999 { format!("+{year:06}") } else { format!("{year:04}") };
    format!(
        "{year}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.millisecond()
    )
}
