//! A primary and a standby under load, for hours: random kills, promotions, restarts and steps of
//! the clocks. Every ID that a client receives is kept, and none may come twice.
//!
//! A promotion may lose WAL. What is promised then is the formula in `docs/operations.md`: an ID
//! does not return if its time is at most the recovered floor plus the margin. With a synchronous
//! standby, all IDs are at most the recovered floor.

use std::collections::HashSet;
use std::env;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use postgres::{Config, NoTls};
use snowflake_e2e::{Cluster, INSERT, NEXT, bigint, create_orders, eventually, signal};

const CLIENTS: usize = 4;

/// After each query, so that the IDs of twelve hours fit into a few gigabytes of memory.
const PAUSE: Duration = Duration::from_millis(3);

/// What the clients do, in turn: an ID alone, a row, and a run of IDs.
const QUERIES: [&str; 3] = [NEXT, INSERT, "SELECT snowflake_nextval(20)"];

/// `snowflake.failover_margin`, in milliseconds.
const MARGIN: i64 = 5000;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let hours = arguments.next().and_then(|hours| hours.parse::<f64>().ok());
    let hours = hours.expect("usage: soak HOURS [SEED]");
    let seed = arguments.next().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    fastrand::seed(seed);
    println!("{hours} hours, seed {seed}");
    let end = Instant::now() + Duration::from_secs_f64(hours * 3600.0);
    let mut soak = Soak::start();
    let mut reported = Instant::now();
    while Instant::now() < end && soak.failures() == 0 {
        soak.happen();
        if reported.elapsed() > Duration::from_secs(60) {
            reported = Instant::now();
            soak.report();
        }
    }
    soak.collect();
    soak.report();
    match soak.failures() {
        0 => {
            println!("test result: ok. No ID came twice.");
            ExitCode::SUCCESS
        }
        failures => {
            println!("test result: FAILED. {failures} failures; seed {seed}");
            ExitCode::FAILURE
        }
    }
}

/// What the clients share.
#[derive(Default)]
struct Shared {
    /// Where the primary is; `None` while there is none.
    primary: Mutex<Option<Config>>,
    /// What was received since it was collected last.
    fresh: Mutex<Vec<i64>>,
    /// The highest ID that anybody received. The next one has to be above it.
    highest: AtomicI64,
    /// IDs that were not above one that was received before they were asked for.
    misplaced: Mutex<Vec<(i64, i64)>>,
    stop: AtomicBool,
}

struct Soak {
    primary: Cluster,
    standby: Cluster,
    is_synchronous: bool,
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
    /// IDs in increasing order, and those that came after a higher one.
    ids: Vec<i64>,
    late: HashSet<i64>,
    /// IDs above the first and up to the second were lost, and nothing was promised of them.
    unpromised: Vec<(i64, i64)>,
    duplicates: usize,
    allowed: usize,
    broken: usize,
    counts: [(&'static str, usize); 7],
    started: Instant,
}

impl Soak {
    fn start() -> Soak {
        let primary = Cluster::builder()
            .fake_clock()
            .set("synchronous_standby_names", "")
            .set("wal_keep_size", "256MB")
            .set("max_wal_size", "512MB")
            .set("autovacuum_naptime", "5s")
            .start();
        create_orders(&primary);
        let standby = primary.standby();
        let shared = Arc::new(Shared::default());
        let clients = (0..CLIENTS)
            .map(|number| {
                let shared = shared.clone();
                thread::spawn(move || client(&shared, number))
            })
            .collect();
        let mut soak = Soak {
            primary,
            standby,
            is_synchronous: false,
            shared,
            clients,
            ids: Vec::new(),
            late: HashSet::new(),
            unpromised: Vec::new(),
            duplicates: 0,
            allowed: 0,
            broken: 0,
            counts: [
                ("promotions without synchronous replication", 0),
                ("promotions with it", 0),
                ("crashes of the primary", 0),
                ("crashes of a backend", 0),
                ("restarts of the primary", 0),
                ("crashes of the standby", 0),
                ("steps of a clock", 0),
            ],
            started: Instant::now(),
        };
        soak.serve();
        soak
    }

    /// Lets the clients at the primary.
    fn serve(&mut self) {
        *self.shared.primary.lock().expect("no panic") = Some(self.primary.config());
    }

    /// One event, after a while of load.
    fn happen(&mut self) {
        thread::sleep(Duration::from_millis(fastrand::u64(200..3000)));
        let event = match fastrand::u32(0..100) {
            0..35 => self.promote(),
            35..50 => {
                self.primary.kill();
                self.primary.start_again();
                2
            }
            50..60 => {
                let sessions = "SELECT pid::bigint FROM pg_stat_activity
                                WHERE query LIKE '%snowflake%' AND pid <> pg_backend_pid() LIMIT 1";
                let mut client = self.primary.connect();
                let pid = client.query(sessions, &[]).expect("sessions");
                if let Some(row) = pid.first() {
                    signal(row.get(0), "KILL");
                }
                drop(client);
                thread::sleep(Duration::from_millis(200));
                eventually("the primary is back", || self.primary.config().connect(NoTls).is_ok());
                3
            }
            60..65 => {
                self.primary.stop();
                self.primary.start_again();
                4
            }
            65..75 => {
                self.standby.kill();
                self.standby.start_again();
                5
            }
            _ => {
                let offset = format!("{:+}s", fastrand::i32(-30..=30));
                let cluster = if fastrand::bool() { &self.primary } else { &self.standby };
                cluster.set_clock(&offset);
                6
            }
        };
        self.counts[event].1 += 1;
        self.collect();
    }

    /// The primary dies, perhaps some time after its standby got the last WAL, and the standby takes
    /// its place. A new standby is made, synchronous or not.
    fn promote(&mut self) -> usize {
        let event = usize::from(self.is_synchronous);
        if fastrand::bool() {
            let sender = self
                .primary
                .connect()
                .query("SELECT pid::bigint FROM pg_stat_replication", &[])
                .expect("a view");
            if let Some(row) = sender.first() {
                signal(row.get(0), "STOP");
                thread::sleep(Duration::from_millis(fastrand::u64(0..4000)));
            }
        }
        *self.shared.primary.lock().expect("no panic") = None;
        self.primary.kill();
        thread::sleep(Duration::from_millis(100));
        self.collect();
        self.standby.promote();
        let mut client = self.standby.connect();
        // Before the first ID, the margin is in it. A synchronous standby needs none.
        let floor = format!(
            "SELECT snowflake_max(snowflake_floor() - interval '{} ms')",
            if self.is_synchronous { MARGIN } else { 0 }
        );
        let promised = bigint(&mut client, &floor);
        let highest = self.shared.highest.load(SeqCst);
        if highest > promised {
            self.unpromised.push((promised, highest));
            self.shared.highest.store(promised, SeqCst);
            if self.is_synchronous {
                println!(
                    "{highest} was received, and the synchronous standby has up to {promised}"
                );
                self.broken += 1;
            }
        }
        drop(client);
        self.is_synchronous = fastrand::bool();
        let names = if self.is_synchronous { "*" } else { "" };
        self.standby.configure(&[("synchronous_standby_names", names)]);
        self.standby.reload();
        let mut next = self.standby.base_backup(&["--write-recovery-conf"]);
        next.set_clock(&format!("{:+}s", fastrand::i32(-30..=30)));
        next.start_again();
        self.primary = std::mem::replace(&mut self.standby, next);
        if self.is_synchronous {
            let mut client = self.primary.connect();
            eventually("the standby is synchronous", || {
                let synchronous =
                    "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
                bigint(&mut client, synchronous) == 1
            });
        }
        self.serve();
        event
    }

    /// Looks for duplicates in what was received since the last time.
    fn collect(&mut self) {
        let mut fresh = std::mem::take(&mut *self.shared.fresh.lock().expect("no panic"));
        fresh.sort_unstable();
        for pair in fresh.windows(2).filter(|pair| pair[0] == pair[1]) {
            println!("{} was received twice", pair[0]);
            self.duplicates += 1;
        }
        fresh.dedup();
        for id in fresh {
            if self.ids.last().is_none_or(|last| id > *last) {
                self.ids.push(id);
            } else if self.ids.binary_search(&id).is_ok() || !self.late.insert(id) {
                if self.unpromised.iter().any(|(from, to)| (*from + 1..=*to).contains(&id)) {
                    self.allowed += 1;
                } else {
                    println!("{id} was received twice");
                    self.duplicates += 1;
                }
            }
        }
        for (before, id) in self.shared.misplaced.lock().expect("no panic").drain(..) {
            println!("{id} was asked for after {before} was received");
            self.broken += 1;
        }
    }

    fn failures(&self) -> usize {
        self.duplicates + self.broken
    }

    fn report(&self) {
        let counts: Vec<String> =
            self.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        println!(
            "{} min: {} IDs, {} duplicates, {} more among those that were lost and not promised; \
             {}",
            self.started.elapsed().as_secs() / 60,
            self.ids.len() + self.late.len(),
            self.duplicates,
            self.allowed,
            counts.join(", ")
        );
    }
}

impl Drop for Soak {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        *self.shared.primary.lock().expect("no panic") = None;
        if thread::panicking() {
            return;
        }
        // Sessions end with their servers.
        self.primary.kill();
        for client in self.clients.drain(..) {
            let _ = client.join();
        }
    }
}

/// A client that takes IDs, and connects again whenever its session ends.
fn client(shared: &Shared, number: usize) {
    let mut turn = number;
    while !shared.stop.load(SeqCst) {
        let primary = shared.primary.lock().expect("no panic").clone();
        let Some(Ok(mut client)) = primary.map(|primary| primary.connect(NoTls)) else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        while !shared.stop.load(SeqCst) {
            turn += 1;
            let before = shared.highest.load(SeqCst);
            let Ok(rows) = client.query(QUERIES[turn % QUERIES.len()], &[]) else { break };
            let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
            if let Some(first) = ids.first().filter(|first| **first <= before) {
                shared.misplaced.lock().expect("no panic").push((before, *first));
            }
            shared.highest.fetch_max(ids.last().copied().unwrap_or(0), SeqCst);
            shared.fresh.lock().expect("no panic").extend(ids);
            thread::sleep(PAUSE);
        }
    }
}
