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

impl Span {
    /// No time.
    pub const ZERO: Span = Span(0);
    /// 1000 milliseconds.
    pub const SECOND: Span = Span(1000);
    /// 60 seconds.
    pub const MINUTE: Span = Span(60_000);
    /// 24 hours.
    pub const DAY: Span = Span(24 * 60 * 60 * 1000);
    /// More than any other.
    pub const MAX: Span = Span(i64::MAX);

    /// Returns whether this is at most the limit, if there is one.
    #[inline(always)]
    pub fn is_within(self, limit: Option<Span>) -> bool {
        limit.is_none_or(|limit| self <= limit)
    }

    /// The length, whatever the direction.
    pub fn abs(self) -> Span {
        Span(self.0.abs())
    }

    /// So many times this, or the nearest that there is.
    pub fn saturating_mul(self, times: u32) -> Span {
        Span(self.0.saturating_mul(times.into()))
    }
}

macro_rules! operators {
    ($(
        $left:ident $operator:ident $method:ident $right:ident => $result:ident
        $($saturating:ident)?;
    )*) => {$(
        impl $operator<$right> for $left {
            type Output = $result;

            #[inline(always)]
            fn $method(self, right: $right) -> $result {
                $result(self.0.$method(right.0))
            }
        }

        $(impl $left {
            /// Returns the result of the operator, or the nearest value that there is.
            pub fn $saturating(self, right: $right) -> $result {
                $result(self.0.$saturating(right.0))
            }
        })?
    )*};
}
operators! {
    Timestamp Sub sub Timestamp => Span saturating_sub;
    Timestamp Add add Span => Timestamp saturating_add;
    Timestamp Sub sub Span => Timestamp;
    Span Add add Span => Span saturating_add;
    Span Sub sub Span => Span saturating_sub;
}

macro_rules! display {
    ($($of:ident)*) => {$(
        /// The number of milliseconds.
        impl fmt::Display for $of {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
display!(Timestamp Span);

impl AddAssign<Span> for Timestamp {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl From<Span> for Duration {
    /// Zero where the span is negative.
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
