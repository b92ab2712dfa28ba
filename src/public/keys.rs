//! The keys of public IDs in shared memory, and those of a statement.
//!
//! A statement keeps the keys that it began with, whichever process executes a part of it: they are
//! the last ones that were published before its beginning. A parallel worker knows when the
//! statement began, and finds the same ones, because several former sets of keys are kept.

use std::sync::OnceLock;

use crate::pg::memory::OfProcess;
use crate::pg::report;
use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgLwLock, pg_shmem_init};
use snowflake_core::outside::public::{Key, KeyBytes};

use super::error::unusable;
use super::file;

// SAFETY: nobody else names a lock like this.
static SETS: PgLwLock<Sets> = unsafe { PgLwLock::new(c"snowflake_public_keys") };

/// The number of sets of keys that are kept.
const KEPT: usize = 8;

/// The sets that were published, and what became of the last reading of the file.
#[derive(Clone, Copy)]
struct Sets {
    /// The newest first.
    sets: [Set; KEPT],
    /// True if the file could not be used when it was read last.
    is_refused: bool,
    /// True if the background worker runs.
    has_worker: bool,
}

/// The keys of one time.
#[derive(Clone, Copy)]
struct Set {
    keys: KeyBytes,
    /// When they were published, as PostgreSQL counts.
    since: pg_sys::TimestampTz,
    /// The first set has 1, and each further one is counted up; 0 where there is none.
    number: u64,
}

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Sets {}

/// For the log.
pub const NONE_UNTIL_USABLE: &str = "Public IDs have no keys until the file can be used.";

/// Before all times.
const LONG_AGO: pg_sys::TimestampTz = pg_sys::TimestampTz::MIN;

impl Default for Sets {
    /// The keys that the file has when the server starts. A file that cannot be used stops the
    /// start. After a crash of one of its processes, the server starts again in any case. It has no
    /// keys then, because those from before are lost, and older ones might have leaked.
    fn default() -> Sets {
        static STARTED: OnceLock<()> = OnceLock::new();
        let read = file::read();
        let is_refused = read.is_err();
        let keys = match read {
            Ok(keys) => keys,
            Err((path, error)) => {
                let error = unusable(&path, &error);
                if STARTED.get().is_none() {
                    error.raise();
                }
                report::log(error.set_detail(NONE_UNTIL_USABLE));
                KeyBytes::NONE
            }
        };
        STARTED.get_or_init(|| ());
        let none = Set { keys: KeyBytes::NONE, since: LONG_AGO, number: 0 };
        let mut sets = [none; KEPT];
        sets[0] = Set { keys, since: LONG_AGO, number: 1 };
        Sets { sets, is_refused, has_worker: false }
    }
}

/// Asks for the shared memory, and fills it when the server starts.
pub fn init() {
    pg_shmem_init!(SETS);
}

/// The state of the keys, for the check.
pub struct State {
    /// The present number of keys.
    pub count: usize,
    /// The fingerprint of the first.
    pub fingerprint: Option<String>,
    /// True if the file could not be used when it was read last.
    pub is_refused: bool,
    /// True if the background worker runs.
    pub has_worker: bool,
}

/// Returns the present state of the keys. The library must have been preloaded.
pub fn state() -> State {
    let Sets { sets, is_refused, has_worker } = *SETS.share();
    let keys = sets[0].keys;
    State {
        count: keys.as_slice().len(),
        fingerprint: keys.as_slice().first().map(|key| Key::new(key).fingerprint()),
        is_refused,
        has_worker,
    }
}

/// Notes that the background worker runs, or ends.
pub fn note_worker(runs: bool) {
    SETS.exclusive().has_worker = runs;
}

/// Publishes what was read of the file. Returns whether these keys are others than before.
pub fn publish(keys: Option<KeyBytes>) -> bool {
    let mut lock = SETS.exclusive();
    let Sets { sets, is_refused, .. } = &mut *lock;
    *is_refused = keys.is_none();
    let newest = sets[0];
    let Some(keys) = keys.filter(|keys| *keys != newest.keys) else { return false };
    sets.rotate_right(1);
    // SAFETY: reads the clock.
    let since = unsafe { pg_sys::GetCurrentTimestamp() };
    sets[0] = Set { keys, since, number: newest.number + 1 };
    true
}

/// The keys that this process uses.
struct Mine {
    /// When the statement began.
    statement: Option<pg_sys::TimestampTz>,
    /// The number of their set.
    number: u64,
    keys: Vec<Key>,
}

/// Acts with the keys of this statement. The library must have been preloaded.
pub fn with<T>(act: impl FnOnce(&[Key]) -> T) -> T {
    static MINE: OfProcess<Mine> =
        OfProcess::new(Mine { statement: None, number: 0, keys: Vec::new() });
    let mut mine = MINE.borrow_mut();
    // SAFETY: reads a variable of this process.
    let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
    // A process that executes no statement has no beginning of one.
    if statement == 0 || mine.statement != Some(statement) {
        let set = set_of(statement);
        if set.number != mine.number {
            mine.keys = set.keys.as_slice().iter().map(Key::new).collect();
            mine.number = set.number;
        }
        mine.statement = Some(statement);
    }
    act(&mine.keys)
}

/// The set of a statement that began then.
fn set_of(statement: pg_sys::TimestampTz) -> Set {
    // SAFETY: reads the clock.
    let now = unsafe { pg_sys::GetCurrentTimestamp() };
    let sets = SETS.share().sets;
    if sets.iter().any(|set| set.since > now) {
        // The clock was set back since it was published, so its time says nothing.
        for set in SETS.exclusive().sets.iter_mut().filter(|set| set.since > now) {
            set.since = LONG_AGO;
        }
        return set_of(statement);
    }
    let known = || sets.iter().filter(|set| set.number > 0);
    let may_use = |set: &&Set| statement == 0 || set.since <= statement;
    *known().find(may_use).or_else(|| known().next_back()).expect("the first set")
}
