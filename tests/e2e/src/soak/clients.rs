//! The clients, and what they received.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use postgres::{Client, Config, Error, NoTls};
use snowflake_e2e::{INSERT, NEXT, PARALLEL};

use crate::sets::Set;

/// After each transaction, so that the IDs of twelve hours fit into a few gigabytes of memory.
const PAUSE: Duration = Duration::from_millis(3);

/// Data that the clients share.
#[derive(Default)]
pub struct Shared {
    /// Where the primary is; `None` while there is none.
    pub primary: Mutex<Option<Config>>,
    /// Which standbys every commit waits for.
    required: Mutex<Required>,
    /// The IDs that were received since they were collected last.
    pub fresh: Mutex<Vec<Receipt>>,
    /// The highest ID that anybody received. The next one has to be above it.
    pub highest: AtomicI64,
    /// IDs that were not above one that was received before they were asked for.
    pub misplaced: Mutex<Vec<(i64, i64)>>,
    /// The number of transactions of each of [`KINDS`] that have committed.
    pub done: [AtomicUsize; KINDS.len()],
    pub stop: AtomicBool,
}

/// The role of an ID.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It was issued, and is the key of a row.
    Row,
    /// It was issued.
    Alone,
    /// It was not issued: it is the highest one below a floor that was set, or was observed.
    Bound,
}

/// An ID that a client received, from a transaction that has committed.
#[derive(Clone, Copy)]
pub struct Receipt {
    pub id: i64,
    pub role: Role,
    /// The commit returned without a warning, and these standbys had to have it.
    pub required: Set,
}

/// The standbys for which commits wait, and the number of changes of that.
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

    /// Returns the set of the last [`Shared::require`].
    pub fn required(&self) -> Set {
        self.current().set
    }

    fn current(&self) -> Required {
        *self.required.lock().expect("no panic")
    }
}

/// A session, and whether it was warned: a wait that was canceled ends with a warning.
pub struct Session {
    pub client: Client,
    warned: Arc<AtomicBool>,
}

impl Session {
    pub fn connect(mut config: Config) -> Result<Session, Error> {
        let warned = Arc::new(AtomicBool::new(false));
        let notice = warned.clone();
        config.notice_callback(move |notified| {
            if notified.severity() == "WARNING" {
                notice.store(true, SeqCst);
            }
        });
        Ok(Session { client: config.connect(NoTls)?, warned })
    }

    /// Returns the result of a transaction, and the standbys for which its commit has waited, as
    /// far as that is known.
    pub fn commit<T>(
        &mut self,
        shared: &Shared,
        transaction: impl FnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<(T, Set), Error> {
        self.warned.store(false, SeqCst);
        let required = shared.current();
        let given = transaction(&mut self.client)?;
        let is_known = required == shared.current() && !self.warned.load(SeqCst);
        Ok((given, if is_known { required.set } else { 0 }))
    }
}

/// The acts of a client, in turn, with the names in the report.
pub const KINDS: [&str; 7] = [
    "single IDs",
    "rows",
    "runs",
    "IDs that were rolled back",
    "prepared transactions",
    "parallel inserts",
    "cursors WITH HOLD",
];

/// The source of parallel inserts, with as many rows as an insert takes.
pub const SOURCE: &str = "CREATE TABLE source WITH (parallel_workers = 2) AS
    SELECT generate_series(1, 50); ANALYZE source";

/// Inserts rows whose IDs parallel workers take.
const MADE: &str = "CREATE TEMP TABLE made ON COMMIT DROP AS
    SELECT snowflake_nextval() AS id FROM source";

/// A transaction of that kind: the IDs that were received from it, and what they are. `None` where
/// there were no parallel workers.
fn transaction(
    client: &mut Client,
    kind: &str,
    number: usize,
) -> Result<Option<(Vec<i64>, Role)>, Error> {
    let mut ids = |before: &str, query: &str, after: &str| -> Result<Vec<i64>, Error> {
        if !before.is_empty() {
            client.batch_execute(before)?;
        }
        let ids = client.query(query, &[])?.iter().map(|row| row.get(0)).collect();
        if !after.is_empty() {
            client.batch_execute(after)?;
        }
        Ok(ids)
    };
    let alone = |ids| (ids, Role::Alone);
    Ok(Some(match kind {
        "single IDs" => alone(ids("", NEXT, "")?),
        "rows" => (ids("", INSERT, "")?, Role::Row),
        "runs" => alone(ids("", "SELECT snowflake_nextval(20)", "")?),
        "IDs that were rolled back" => {
            alone(ids("BEGIN READ ONLY; SAVEPOINT s", NEXT, "ROLLBACK TO s; COMMIT")?)
        }
        "prepared transactions" => {
            // Preparing it waits for the standbys, so the ID counts in both cases.
            let taken = ids("BEGIN", INSERT, &format!("PREPARE TRANSACTION '{number}'"))?;
            let is_row = fastrand::bool();
            let end = if is_row { "COMMIT" } else { "ROLLBACK" };
            client.batch_execute(&format!("{end} PREPARED '{number}'"))?;
            (taken, if is_row { Role::Row } else { Role::Alone })
        }
        "parallel inserts" => {
            let own = ids("BEGIN", INSERT, MADE)?;
            let is_parallel = ids("", "SELECT snowflake_currval()", "")? == own;
            let insert = "INSERT INTO orders SELECT id FROM made RETURNING id";
            let made = ids("", insert, if is_parallel { "COMMIT" } else { "ROLLBACK" })?;
            if !is_parallel {
                return Ok(None);
            }
            ([own, made].concat(), Role::Row)
        }
        "cursors WITH HOLD" => {
            let declare = "BEGIN;
                 DECLARE c CURSOR WITH HOLD FOR
                     SELECT snowflake_nextval() FROM generate_series(1, 5);
                 COMMIT";
            alone(ids(declare, "FETCH ALL c", "CLOSE c")?)
        }
        other => panic!("unknown kind {other}"),
    }))
}

/// A client that takes IDs, and connects again whenever its session ends.
pub fn client(shared: &Shared, number: usize) {
    let mut turn = number;
    while !shared.stop.load(SeqCst) {
        let primary = shared.primary.lock().expect("no panic").clone();
        let Some(mut session) = primary.and_then(|primary| begin(primary, number).ok()) else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        while !shared.stop.load(SeqCst) {
            turn += 1;
            let kind = turn % KINDS.len();
            let before = shared.highest.load(SeqCst);
            let taken = session.commit(shared, |client| transaction(client, KINDS[kind], number));
            let Ok((taken, required)) = taken else { break };
            if let Some((ids, role)) = taken {
                shared.done[kind].fetch_add(1, SeqCst);
                let [first, last] = [ids.iter().min(), ids.iter().max()];
                if let Some(first) = first.filter(|first| **first <= before) {
                    shared.misplaced.lock().expect("no panic").push((before, *first));
                }
                shared.highest.fetch_max(last.copied().unwrap_or(0), SeqCst);
                let receipts = ids.iter().map(|id| Receipt { id: *id, role, required });
                shared.fresh.lock().expect("no panic").extend(receipts);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// A session whose queries are parallel. It rolls back what the client has prepared in its last
/// one.
fn begin(primary: Config, number: usize) -> Result<Session, Error> {
    let mut session = Session::connect(primary)?;
    session.client.batch_execute(PARALLEL)?;
    let prepared = format!("SELECT FROM pg_prepared_xacts WHERE gid = '{number}'");
    if session.client.query_opt(&prepared, &[])?.is_some() {
        session.client.batch_execute(&format!("ROLLBACK PREPARED '{number}'"))?;
    }
    Ok(session)
}
