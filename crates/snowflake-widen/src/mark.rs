//! What a running program says of itself in its `application_name`, which every role sees, so that
//! another one can show how far it is: the server has no other place for it that takes no row and no
//! privilege.

use std::fmt::{self, Display, Formatter};
use std::time::{SystemTime, UNIX_EPOCH};

/// How far a phase is. The server cuts names at 63 bytes, so the numbers come first.
#[derive(Debug, PartialEq)]
pub struct Mark {
    /// What is done of the phase, in blocks or objects.
    pub done: i64,
    /// Of how many.
    pub total: i64,
    /// What was done when this program began with it.
    pub first: i64,
    /// When that was, in seconds since 1970.
    pub since: u64,
    /// The command and the phase.
    pub what: String,
}

/// What the name begins with.
pub const PROGRAM: &str = "snowflake-widen";

impl Display for Mark {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Mark { done, total, first, since, what } = self;
        write!(formatter, "{PROGRAM} {done}/{total} {first}@{since} {what}")
    }
}

impl Mark {
    /// Reads the name of a session.
    pub fn read(name: &str) -> Option<Mark> {
        let mut words = name.strip_prefix(PROGRAM)?.trim_start().splitn(3, ' ');
        let (done, total) = words.next()?.split_once('/')?;
        let (first, since) = words.next()?.split_once('@')?;
        Some(Mark {
            done: done.parse().ok()?,
            total: total.parse().ok()?,
            first: first.parse().ok()?,
            since: since.parse().ok()?,
            what: words.next()?.into(),
        })
    }

    /// Blocks or objects a second, and the seconds that are left at this rate; `None` as long as
    /// that says nothing.
    pub fn rate(&self) -> Option<(f64, f64)> {
        let seconds = now().saturating_sub(self.since);
        let done = self.done - self.first;
        if seconds < 2 || done <= 0 {
            return None;
        }
        let rate = done as f64 / seconds as f64;
        Some((rate, (self.total - self.done).max(0) as f64 / rate))
    }
}

/// What the remark of a session begins with.
const REMARK: &str = "-- snowflake-widen: ";

/// What a session that waits has as its last statement, which is shown while it executes none. Others
/// choose a part of the text, which must not end the comment.
pub fn remark(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("{REMARK}{line}")
}

/// Reads the last statement of a session.
pub fn read_remark(statement: &str) -> Option<&str> {
    statement.strip_prefix(REMARK)
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Seconds as people say them.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use crate::mark::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let what = "prepare, backfill".into();
        let mark = Mark { done: 5, total: 10, first: 2, since: now() - 3, what };
        assert_eq!(Mark::read(&mark.to_string()), Some(mark));
        assert_eq!(Mark::read("psql"), None);
        assert_eq!(Mark::read("snowflake-widen"), None);
    }

    #[test]
    fn a_remark_is_a_comment_to_its_end() {
        let remark = remark("waits for \"a\nb\": \rDROP TABLE orders");
        assert!(remark.starts_with("--") && !remark.contains(['\n', '\r']), "{remark}");
        assert_eq!(read_remark(&remark), Some("waits for \"a b\":  DROP TABLE orders"));
    }

    #[test]
    fn the_time_left_follows_from_what_this_program_did() {
        let mark = Mark { done: 30, total: 100, first: 10, since: now() - 10, what: "x".into() };
        let (rate, left) = mark.rate().expect("a rate");
        assert!((1.8..=2.0).contains(&rate) && (35.0..=39.0).contains(&left), "{rate} {left}");
        assert_eq!(Mark { done: 10, ..mark }.rate(), None);
        assert_eq!(duration(3725.0), "1 h 2 min");
    }
}
