//! Points in time, and what lies between them, in whole milliseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};
use std::time::Duration;

/// A point in time: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Timestamp(pub i64);

/// A length of time: milliseconds, negative from a point in time to an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Span(pub i64);

impl Timestamp {
    /// How much later this is than another point in time, or the most that a span can be.
    pub const fn saturating_sub(self, earlier: Timestamp) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The point in time that is so much later, or the last one that there is.
    pub const fn saturating_add(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// More than any other.
    pub const MAX: Span = Span(i64::MAX);
    /// No time.
    pub const ZERO: Span = Span(0);
    /// A second.
    pub const SECOND: Span = Span(1000);
    /// 60 seconds.
    pub const MINUTE: Span = Span(60_000);
    /// 24 hours.
    pub const DAY: Span = Span(24 * 60 * 60 * 1000);

    /// Whether this is at most the limit, if there is one.
    #[inline(always)]
    pub fn is_within(self, limit: Option<Span>) -> bool {
        limit.is_none_or(|limit| self <= limit)
    }

    /// The length, whatever the direction.
    pub const fn abs(self) -> Span {
        Span(self.0.abs())
    }

    /// The difference, or the most that a span can be.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// The sum, or the most that a span can be.
    pub const fn saturating_add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }

    /// So many times this, or the most that a span can be.
    pub const fn saturating_mul(self, times: u32) -> Span {
        Span(self.0.saturating_mul(times as i64))
    }
}

macro_rules! display {
    ($($of:ty),*) => {$(
        /// The number of milliseconds.
        impl fmt::Display for $of {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
display!(Timestamp, Span);

macro_rules! operators {
    ($($left:ty, $operator:ident $method:ident $right:ty => $result:ident;)*) => {$(
        impl $operator<$right> for $left {
            type Output = $result;

            #[inline(always)]
            fn $method(self, right: $right) -> $result {
                $result(self.0.$method(right.0))
            }
        }
    )*};
}
operators! {
    Timestamp, Sub sub Timestamp => Span;
    Timestamp, Add add Span => Timestamp;
    Timestamp, Sub sub Span => Timestamp;
    Span, Add add Span => Span;
    Span, Sub sub Span => Span;
}

impl AddAssign<Span> for Timestamp {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl From<Span> for Duration {
    /// None where the span is negative.
    fn from(span: Span) -> Duration {
        Duration::from_millis(span.0.max(0) as u64)
    }
}

impl Neg for Span {
    type Output = Span;

    fn neg(self) -> Span {
        Span(-self.0)
    }
}

impl Mul<i64> for Span {
    type Output = Span;

    fn mul(self, times: i64) -> Span {
        Span(self.0 * times)
    }
}

impl Div<i64> for Span {
    type Output = Span;

    fn div(self, parts: i64) -> Span {
        Span(self.0 / parts)
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Span {
        Span(duration.as_millis() as i64)
    }
}
