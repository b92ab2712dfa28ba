//! Cases of epochs and times.

use snowflake_core::epoch::{EpochError, parse, parse_time};
use snowflake_core::layout::EPOCH_RANGE;
use snowflake_core::time::Timestamp;

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

/// Where no clock is read, only the range of epochs is the limit.
#[test]
fn without_a_clock_an_epoch_is_in_the_range() {
    let last = *EPOCH_RANGE.end();
    assert_eq!(parse(&last.0.to_string(), None), Ok(last));
    assert_eq!(parse(&(last.0 + 1).to_string(), None), Err(EpochError::Future));
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
