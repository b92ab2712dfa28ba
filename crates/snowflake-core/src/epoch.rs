//! The written form of an epoch: ISO 8601 with an offset, or milliseconds since the Unix epoch.

use crate::layout::EPOCH_RANGE;
use crate::time::{Span, Timestamp};

/// Reasons for which a text is not an epoch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EpochError {
    /// Neither an integer nor an instant. A date and time without an offset is no instant.
    #[error("it is neither an ISO 8601 instant with an offset nor a number of milliseconds")]
    Syntax,
    /// The instant falls between two milliseconds.
    #[error("it is not a whole number of milliseconds")]
    Fraction,
    /// The instant is before 1970.
    #[error("it is before 1970-01-01T00:00:00Z")]
    BeforeUnix,
    /// The instant has not come yet.
    #[error("it is in the future")]
    Future,
}

/// Reads an epoch. One after `now` is refused, since IDs count up from their epoch; `None` is a
/// clock that might be wrong.
///
/// ```
/// use snowflake_core::epoch::{parse, EpochError};
/// use snowflake_core::time::Timestamp;
///
/// let now = Some(Timestamp(1_800_000_000_000));
/// assert_eq!(parse("2010-11-04T01:42:54.657Z", now), Ok(Timestamp(1_288_834_974_657)));
/// assert_eq!(parse("2010-11-04T02:42:54.657+01:00", now), Ok(Timestamp(1_288_834_974_657)));
/// assert_eq!(parse("1288834974657", now), Ok(Timestamp(1_288_834_974_657)));
/// assert_eq!(parse("2010-11-04T01:42:54.657", now), Err(EpochError::Syntax));
/// ```
pub fn parse(text: &str, now: Option<Timestamp>) -> Result<Timestamp, EpochError> {
    let (epoch, rest) = milliseconds(text)?;
    if rest != 0 {
        return Err(EpochError::Fraction);
    }
    if epoch < *EPOCH_RANGE.start() {
        Err(EpochError::BeforeUnix)
    } else if epoch > *EPOCH_RANGE.end() || now.is_some_and(|now| epoch > now) {
        Err(EpochError::Future)
    } else {
        Ok(epoch)
    }
}

/// Reads a time in the same forms. A time between two milliseconds becomes the later one.
///
/// ```
/// use snowflake_core::epoch::parse_time;
/// use snowflake_core::time::Timestamp;
///
/// assert_eq!(parse_time("2026-01-01 00:00:00.0001+00"), Ok(Timestamp(1_767_225_600_001)));
/// assert_eq!(parse_time("1767225600001"), Ok(Timestamp(1_767_225_600_001)));
/// ```
pub fn parse_time(text: &str) -> Result<Timestamp, EpochError> {
    let (time, rest) = milliseconds(text)?;
    let time = time + Span((rest > 0).into());
    if time < Timestamp(0) { Err(EpochError::BeforeUnix) } else { Ok(time) }
}

/// Reads the text: the millisecond, cut towards the Unix epoch, and the nanoseconds that are left.
fn milliseconds(text: &str) -> Result<(Timestamp, i32), EpochError> {
    let text = text.trim();
    if let Ok(milliseconds) = text.parse() {
        return Ok((Timestamp(milliseconds), 0));
    }
    let instant: jiff::Timestamp = text.parse().map_err(|_| EpochError::Syntax)?;
    Ok((Timestamp(instant.as_millisecond()), instant.subsec_nanosecond() % 1_000_000))
}
