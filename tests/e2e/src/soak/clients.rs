//! The clients, and what they received.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use postgres::{Client, Config, Error, NoTls};
use snowflake_e2e::{INSERT, NEXT};

use crate::sets::Set;

/// After each transaction, so that the IDs of twelve hours fit into a few gigabytes of memory.
const PAUSE: Duration = Duration::from_millis(3);

/// What the clients share.
#[derive(Default)]
pub struct Shared {
    /// Where the primary is; `None` while there is none.
    pub primary: Mutex<Option<Config>>,
    /// Which standbys every commit waits for.
    required: Mutex<Required>,
    /// What was received since it was collected last.
    pub fresh: Mutex<Vec<Receipt>>,
    /// The highest ID that anybody received. The next one has to be above it.
    pub highest: AtomicI64,
    /// IDs that were not above one that was received before they were asked for.
    pub misplaced: Mutex<Vec<(i64, i64)>>,
    pub stop: AtomicBool,
}

/// An ID that a client received, from a transaction that has committed.
#[derive(Clone, Copy)]
pub struct Receipt {
    pub id: i64,
    /// It is the key of a row.
    pub is_row: bool,
    /// The commit returned without a warning, and these standbys had to have it.
    pub required: Set,
}

/// What commits wait for, and how often that has changed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Required {
    set: Set,
    changes: u64,
}

impl Shared {
    /// From now on, every commit waits for these standbys. While something changes, it is not known
    /// for which.
    pub fn require(&self, set: Set) {
        let mut required = self.required.lock().expect("no panic");
        *required = Required { set, changes: required.changes + 1 };
    }

    /// What [`Shared::require`] said last.
    pub fn required(&self) -> Set {
        self.current().set
    }

    fn current(&self) -> Required {
        *self.required.lock().expect("no panic")
    }
}

/// What a client does, in turn: an ID alone, a row, a run of IDs, and IDs of which one was rolled
/// back, without a row.
const TURNS: usize = 4;

fn transaction(client: &mut Client, turn: usize) -> Result<Vec<i64>, Error> {
    if turn % TURNS < TURNS - 1 {
        let query = [NEXT, INSERT, "SELECT snowflake_nextval(20)"][turn % TURNS];
        return Ok(client.query(query, &[])?.iter().map(|row| row.get(0)).collect());
    }
    let mut transaction = client.build_transaction().read_only(true).start()?;
    let mut savepoint = transaction.transaction()?;
    let id = savepoint.query_one(NEXT, &[])?.get(0);
    savepoint.rollback()?;
    transaction.commit()?;
    Ok(vec![id])
}

/// A client that takes IDs, and connects again whenever its session ends.
pub fn client(shared: &Shared, number: usize) {
    let mut turn = number;
    while !shared.stop.load(SeqCst) {
        let primary = shared.primary.lock().expect("no panic").clone();
        let Some(mut primary) = primary else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        // A wait that was canceled ends with a warning.
        let warned = Arc::new(AtomicBool::new(false));
        let notice = warned.clone();
        primary.notice_callback(move |_| notice.store(true, SeqCst));
        let Ok(mut client) = primary.connect(NoTls) else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        while !shared.stop.load(SeqCst) {
            turn += 1;
            warned.store(false, SeqCst);
            let before = shared.highest.load(SeqCst);
            let required = shared.current();
            let Ok(ids) = transaction(&mut client, turn) else { break };
            let is_known = required == shared.current() && !warned.load(SeqCst);
            let required = if is_known { required.set } else { 0 };
            if let Some(first) = ids.first().filter(|first| **first <= before) {
                shared.misplaced.lock().expect("no panic").push((before, *first));
            }
            shared.highest.fetch_max(ids.last().copied().unwrap_or(0), SeqCst);
            let is_row = turn % TURNS == 1;
            let receipts = ids.iter().map(|id| Receipt { id: *id, is_row, required });
            shared.fresh.lock().expect("no panic").extend(receipts);
            thread::sleep(PAUSE);
        }
    }
}
