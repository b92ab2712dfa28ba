//! IDs that clients of a fleet received, and the statements that took them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Scope};
use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, Error, NoTls};
use snowflake_e2e::{INSERT, NEXT, eventually};

/// Between two queries of a client: there are few processors.
const PAUSE: Duration = Duration::from_millis(2);

/// IDs that clients received, and those of them that are keys of rows.
#[derive(Default)]
pub struct Received {
    ids: Mutex<Vec<i64>>,
    rows: Mutex<Vec<i64>>,
}

/// An act that a client repeats.
pub type Task = fn(&mut Client, &Received) -> Result<(), Error>;

impl Received {
    /// A client in a thread of its own, which connects again whenever its session ends.
    pub fn client<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        config: Config,
        task: Task,
        stop: &'env AtomicBool,
    ) {
        scope.spawn(move || {
            while !stop.load(SeqCst) {
                let Ok(mut client) = config.connect(NoTls) else {
                    thread::sleep(Duration::from_millis(20));
                    continue;
                };
                while !stop.load(SeqCst) && task(&mut client, self).is_ok() {
                    thread::sleep(PAUSE);
                }
            }
        });
    }

    fn add(&self, ids: &[i64]) {
        self.ids.lock().expect("no panic").extend(ids);
    }

    /// Waits until clients have received so many more IDs.
    #[track_caller]
    pub fn wait_for(&self, more: usize) {
        let until = self.count() + more;
        eventually("clients receive IDs", || self.count() >= until);
    }

    /// Returns the number of IDs that were received.
    pub fn count(&self) -> usize {
        self.ids.lock().expect("no panic").len()
    }

    /// The rows that were acknowledged since the last call.
    pub fn take_rows(&self) -> Vec<i64> {
        std::mem::take(&mut *self.rows.lock().expect("no panic"))
    }
}

/// Returns the number of IDs that came twice, to the same clients or others.
pub fn duplicates(received: &[&Received]) -> usize {
    let ids = received.iter().map(|received| received.ids.lock().expect("no panic").clone());
    let mut ids: Vec<i64> = ids.flatten().collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    println!("{count} IDs, {} duplicates", count - ids.len());
    count - ids.len()
}

/// Inserts a row.
pub fn insert(client: &mut Client, received: &Received) -> Result<(), Error> {
    let id = client.query_one(INSERT, &[])?.get(0);
    received.add(&[id]);
    received.rows.lock().expect("no panic").push(id);
    Ok(())
}

/// Takes IDs, and counts each as received when it comes, whatever becomes of the query.
pub fn take(client: &mut Client, received: &Received) -> Result<(), Error> {
    let rows = client.query_raw("SELECT snowflake_nextval(1000)", std::iter::empty::<i64>())?;
    let mut ids = Vec::new();
    let end = rows.for_each(|row| {
        ids.push(row.get(0));
        Ok(())
    });
    received.add(&ids);
    end
}

/// Takes IDs in a transaction that writes no row, and counts them as received when its COMMIT is
/// acknowledged.
pub fn take_and_commit(client: &mut Client, received: &Received) -> Result<(), Error> {
    let mut transaction = client.transaction()?;
    let mut ids = vec![transaction.query_one(NEXT, &[])?.get(0)];
    let rows = transaction.query("SELECT snowflake_nextval(1000)", &[])?;
    ids.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
    transaction.commit()?;
    received.add(&ids);
    Ok(())
}
