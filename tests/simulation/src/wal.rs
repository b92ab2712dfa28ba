//! The WAL of a server: what of it is durable, and how much of it a standby has or a restore keeps.

use std::collections::VecDeque;

use fastrand::Rng;
use snowflake_core::promise::Position;
use snowflake_core::register::Record;

use crate::machine::MILLISECOND;

/// The number of entries that can be restored to.
const KEPT: usize = 128;

/// An entry: a record of the register, or the beginning of a timeline.
pub(crate) struct Entry {
    /// When it is flushed, in true time. Of the last entry, this may be yet to come.
    pub(crate) durable_at: i64,
    pub(crate) timeline: u32,
    /// The register after this entry.
    pub(crate) record: Option<Record>,
}

/// Entries, the oldest first. There is always one.
pub(crate) struct Wal {
    pub(crate) entries: VecDeque<Entry>,
    /// The number of those before these.
    forgotten: usize,
}

impl Wal {
    /// The WAL of a server that has no register yet.
    pub(crate) fn beginning(at: i64) -> Wal {
        let first = Entry { durable_at: at, timeline: 1, record: None };
        Wal { entries: VecDeque::from([first]), forgotten: 0 }
    }

    pub(crate) fn last(&self) -> &Entry {
        self.entries.back().expect("the WAL is never empty")
    }

    fn last_mut(&mut self) -> &mut Entry {
        self.entries.back_mut().expect("the WAL is never empty")
    }

    /// Returns how many entries were durable at this time, at least one.
    pub(crate) fn durable_at(&self, at: i64) -> usize {
        self.entries.partition_point(|entry| entry.durable_at <= at).max(1)
    }

    /// Writes a record, which is durable at this time, and returns its position.
    pub(crate) fn log(&mut self, durable_at: i64, timeline: u32, record: Record) -> Position {
        self.entries.push_back(Entry { durable_at, timeline, record: Some(record) });
        if self.entries.len() > KEPT {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        (self.forgotten + self.entries.len()) as Position
    }

    /// Up to where everything is durable at this time.
    pub(crate) fn flushed(&self, at: i64) -> Position {
        (self.forgotten + self.durable_at(at)) as Position
    }

    /// Waits until everything that was written is durable.
    pub(crate) fn flush(&mut self, rng: &mut Rng, at: &mut i64) {
        *at += rng.i64(50..2 * MILLISECOND);
        let last = self.last_mut();
        last.durable_at = last.durable_at.min(*at);
    }

    /// The server is killed, with or without what nobody had flushed.
    pub(crate) fn crash(&mut self, at: i64, keeps_unflushed: bool) {
        let last = self.last_mut();
        if keeps_unflushed {
            last.durable_at = last.durable_at.min(at);
        } else if last.durable_at > at {
            self.entries.pop_back();
        }
    }

    /// A timeline begins, with the register as it is.
    pub(crate) fn begin_timeline(&mut self, at: i64, timeline: u32) {
        let record = self.last().record;
        self.entries.push_back(Entry { durable_at: at, timeline, record });
    }
}
