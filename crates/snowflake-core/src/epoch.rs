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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    #[test]
    fn valid_epochs_are_read() {
        for (text, epoch) in [
            ("2010-11-04T01:42:54.657Z", 1_288_834_974_657),
            ("2010-11-04 01:42:54.657+00", 1_288_834_974_657),
            ("2010-11-03T21:42:54.657-04:00", 1_288_834_974_657),
            ("1420070400000", 1_420_070_400_000),
            (" 1420070400000 ", 1_420_070_400_000),
            ("1970-01-01T00:00:00Z", 0),
            ("0", 0),
            ("1800000000000", NOW.0),
        ] {
            assert_eq!(parse(text, Some(NOW)), Ok(Timestamp(epoch)), "{text}");
        }
    }

    #[test]
    fn invalid_epochs_are_refused() {
        for (text, error) in [
            ("yesterday", EpochError::Syntax),
            ("", EpochError::Syntax),
            ("2010-11-04", EpochError::Syntax),
            ("2010-11-04T01:42:54", EpochError::Syntax),
            ("2010-11-04T01:42:54[Europe/Vienna]", EpochError::Syntax),
            ("2010-13-04T01:42:54Z", EpochError::Syntax),
            ("12e3", EpochError::Syntax),
            ("99999999999999999999", EpochError::Syntax),
            ("2010-11-04T01:42:54.6571Z", EpochError::Fraction),
            ("1969-12-31T23:59:59Z", EpochError::BeforeUnix),
            ("1969-12-31T23:59:59.999Z", EpochError::BeforeUnix),
            ("-1", EpochError::BeforeUnix),
            ("1800000000001", EpochError::Future),
            ("2100-01-01T00:00:00Z", EpochError::Future),
            ("9223372036854775807", EpochError::Future),
        ] {
            assert_eq!(parse(text, Some(NOW)), Err(error), "{text}");
        }
    }

    /// Unlike an epoch, a time may be between two milliseconds, and in the future.
    #[test]
    fn a_time_between_two_milliseconds_is_the_later_one() {
        for (text, time) in [
            ("1800000000001", Ok(1_800_000_000_001)),
            ("2100-01-01T00:00:00.5Z", Ok(4_102_444_800_500)),
            ("2100-01-01T00:00:00.500000001Z", Ok(4_102_444_800_501)),
            ("1970-01-01T00:00:00Z", Ok(0)),
            ("0", Ok(0)),
            ("-1", Err(EpochError::BeforeUnix)),
            ("1969-12-31T23:59:59Z", Err(EpochError::BeforeUnix)),
            ("2010-11-04T01:42:54", Err(EpochError::Syntax)),
        ] {
            assert_eq!(parse_time(text), time.map(Timestamp), "{text}");
        }
    }
}
