//! The IDs that clients were given, recorded outside of the server.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};

use crate::cluster::Cluster;
use crate::ids::assert_distinct;
use crate::query::{NEXT, bigint, bigints, value};
use crate::threads::beside;
use crate::wait::eventually;

/// Every ID that a client received, and which of them were not greater than all that any client had
/// received before it asked.
#[derive(Default)]
pub struct Journal {
    ids: Mutex<Vec<i64>>,
    highest: AtomicI64,
    misplaced: Mutex<Vec<(i64, i64)>>,
    count: AtomicUsize,
    last: Mutex<Option<Instant>>,
}

impl Journal {
    /// An empty journal.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// Runs a query that returns an ID or several, and writes them down. Returns the last one.
    pub fn take(&self, client: &mut Client, query: &str) -> Result<i64, postgres::Error> {
        let before = self.highest.load(SeqCst);
        let rows = client.query(query, &[])?;
        *self.last.lock().expect("no panic") = Some(Instant::now());
        let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        for id in &ids {
            if *id <= before {
                self.misplaced.lock().expect("no panic").push((before, *id));
            }
            self.highest.fetch_max(*id, SeqCst);
        }
        self.ids.lock().expect("no panic").extend(&ids);
        self.count.fetch_add(ids.len(), SeqCst);
        Ok(*ids.last().expect("an ID"))
    }

    /// Runs the query so many times in a new session.
    #[track_caller]
    pub fn take_times(&self, cluster: &Cluster, query: &str, times: usize) {
        let mut client = cluster.connect();
        for _ in 0..times {
            self.take(&mut client, query).expect("an ID");
        }
    }

    /// Returns the number of IDs that were recorded.
    pub fn count(&self) -> usize {
        self.count.load(SeqCst)
    }

    /// All IDs, in the order in which they were written down.
    pub fn ids(&self) -> Vec<i64> {
        self.ids.lock().expect("no panic").clone()
    }

    /// The highest ID so far.
    pub fn highest(&self) -> i64 {
        self.highest.load(SeqCst)
    }

    /// Returns the time since the last ID came.
    pub fn since_last(&self) -> Duration {
        self.last.lock().expect("no panic").map_or(Duration::MAX, |last| last.elapsed())
    }

    /// Returns the result of `act` while so many clients take IDs.
    pub fn under_load<T>(
        &self,
        cluster: &Config,
        clients: usize,
        query: &str,
        act: impl FnOnce() -> T,
    ) -> T {
        beside(clients, |_, stop| self.take_until(stop, cluster, query), act).1
    }

    /// Takes IDs until `stop`, and connects again whenever the session ends.
    pub fn take_until(&self, stop: &AtomicBool, cluster: &Config, query: &str) {
        while !stop.load(SeqCst) {
            let Ok(mut client) = cluster.connect(NoTls) else {
                thread::sleep(Duration::from_millis(5));
                continue;
            };
            while !stop.load(SeqCst) && self.take(&mut client, query).is_ok() {}
        }
    }

    /// Waits until clients have received so many more IDs.
    #[track_caller]
    pub fn wait_for(&self, more: usize) {
        let until = self.count() + more;
        eventually("clients receive IDs", || self.count() >= until);
    }

    /// Asserts that no ID came twice and that each was greater than those before it. Returns how
    /// many there were.
    #[track_caller]
    pub fn check(&self) -> usize {
        let misplaced = self.misplaced.lock().expect("no panic");
        if let Some((before, id)) = misplaced.first() {
            panic!("{} IDs did not increase: {id} came after {before}, for one", misplaced.len());
        }
        self.check_in_any_order()
    }

    /// Asserts that no ID came twice. Returns how many there were.
    #[track_caller]
    pub fn check_in_any_order(&self) -> usize {
        let ids = self.ids();
        let count = ids.len();
        assert_distinct(ids);
        count
    }

    /// Takes IDs that never become rows until they are above the server's floor of now, so that a
    /// copy that was made before does not know of the last ones. Returns the server's new floor.
    pub fn issue_beyond_the_floor(&self, client: &mut Client) -> String {
        let beyond = "SELECT snowflake_max(snowflake_floor() + interval '100 ms')";
        let beyond = bigint(client, beyond);
        while self.highest() < beyond {
            self.take(client, NEXT).expect("an ID");
        }
        value(client, "SELECT snowflake_floor()::text")
    }

    /// Lets a server issue IDs until some come again, or until it is past all that were recorded:
    /// on a busy machine, seconds may lie between two of these. Returns how many came again.
    pub fn returned(&self, client: &mut Client) -> usize {
        loop {
            let ids = bigints(client, "SELECT snowflake_nextval(1000000)");
            let returned = self.returned_among(&ids);
            if returned > 0 || ids.last() > Some(&self.highest()) {
                return returned;
            }
        }
    }

    /// Returns the number of these IDs that were recorded.
    pub fn returned_among(&self, ids: &[i64]) -> usize {
        let received: HashSet<i64> = self.ids().into_iter().collect();
        ids.iter().filter(|id| received.contains(id)).count()
    }

    /// Returns the number of IDs that were not greater than those before them.
    pub fn misplaced(&self) -> usize {
        self.misplaced.lock().expect("no panic").len()
    }
}
