//! A primary and two standbys under load, for hours: random kills, promotions, restarts, steps of
//! the clocks, standbys that lag, leave and come back, sets of synchronous standbys that change,
//! floors that are set, observations, and clocks that jump ahead and are confirmed. Every ID that a
//! client received is kept, and none may come twice. After a floor or an observation, every ID has
//! to be above it.
//!
//! A promotion can lose WAL. What is promised then, in `docs/operations.md`: an ID does not return
//! if its time is at most the recovered floor plus the margin. With synchronous replication, it
//! does not return either if its transaction committed while commits waited for the standby that
//! was promoted. An INSERT's row is there in the same cases, which is looked at, too.

mod administrator;
mod clients;
mod sets;
mod standbys;

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use snowflake_e2e::{
    Cluster, PARALLEL_SAFE, Run, Stopped, bigint, bigints, create_orders, eventually, seed, signal,
};

use clients::{KINDS, Receipt, Role, SOURCE, Shared, client};
use sets::{NAMES, STANDBYS, Set, only, required};
use standbys::{Standby, any_clock, standby_of};

/// The largest lead over the clock of observed IDs that are followed.
const MAX_OBSERVED_LEAD: &str = "30s";

const CLIENTS: usize = 4;

/// After a change of the configuration, so that every process of the server has read it.
const RELOAD: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let usage = "usage: soak HOURS [with|without]";
    let mut arguments = env::args().skip(1);
    let hours = arguments.next().and_then(|hours| hours.parse::<f64>().ok()).expect(usage);
    let modes: &[bool] = match arguments.next().as_deref() {
        Some("with") => &[true],
        Some("without") => &[false],
        None => &[false, true],
        _ => panic!("{usage}"),
    };
    let is_sound = |is_synchronous: &bool| soak(hours, *is_synchronous);
    if modes.iter().all(is_sound) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs for so many hours; whether nothing was wrong.
fn soak(hours: f64, is_synchronous: bool) -> bool {
    fastrand::seed(seed());
    println!("{hours} hours");
    let end = Instant::now() + Duration::from_secs_f64(hours * 3600.0);
    let mut soak = Soak::start(is_synchronous);
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
    let failures = soak.failures();
    match failures {
        0 => println!("test result: ok. No ID came twice."),
        _ => println!("test result: FAILED. {failures} failures"),
    }
    failures == 0
}

struct Soak {
    primary: Cluster,
    standbys: [Standby; 2],
    is_synchronous: bool,
    /// The lead of the clocks over the true time since jumps were confirmed, in seconds.
    base: i64,
    names: &'static str,
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
    found: Found,
    /// The number of events of each kind.
    counts: BTreeMap<&'static str, usize>,
    started: Instant,
}

/// The IDs that were received.
#[derive(Default)]
struct Found {
    /// IDs in increasing order, and those that came after a higher one.
    ids: Vec<i64>,
    late: HashSet<i64>,
    /// The IDs that were received since the last promotion.
    recent: Vec<Receipt>,
    /// IDs that were lost, and of which nothing was promised.
    unpromised: HashSet<i64>,
    duplicates: usize,
    allowed: usize,
    broken: usize,
    /// IDs that were committed while the standby that was promoted later had to have them.
    kept: usize,
}

impl Soak {
    fn start(is_synchronous: bool) -> Soak {
        let primary = Cluster::builder()
            .fake_clock()
            // Without a margin, the commits alone keep IDs from coming again.
            .set("snowflake.failover_margin", if is_synchronous { "0" } else { "5s" })
            .set("synchronous_commit", "on")
            // libfaketime does not move the clocks of the parallel workers of PostgreSQL 15,
            // because their parent forks them in a signal handler. After jumps, they are days
            // behind.
            .set("snowflake.max_backward_step", "-1")
            .set("snowflake.max_observed_lead", MAX_OBSERVED_LEAD)
            // Four IDs a millisecond, so that clients wait for each other in the queue.
            .set("snowflake.sequence_bits", "2")
            .set("max_prepared_transactions", "8")
            // A clock that is moved must not end connections: nobody would notice that the set is
            // another one.
            .set("wal_sender_timeout", "0")
            .set("wal_receiver_timeout", "0")
            .set("wal_retrieve_retry_interval", "200ms")
            .set("wal_keep_size", "256MB")
            .set("max_wal_size", "512MB")
            .set("autovacuum_naptime", "5s")
            .start();
        create_orders(&primary);
        primary.run(SOURCE);
        primary.run(PARALLEL_SAFE);
        let standbys = [0, 1].map(|number| standby_of(&primary, number, 0));
        let shared = Arc::new(Shared::default());
        let clients = (0..CLIENTS)
            .map(|number| {
                let shared = shared.clone();
                thread::spawn(move || client(&shared, number))
            })
            .collect();
        let mut soak = Soak {
            primary,
            standbys,
            is_synchronous,
            base: 0,
            names: "",
            shared,
            clients,
            found: Found::default(),
            counts: BTreeMap::new(),
            started: Instant::now(),
        };
        soak.serve();
        soak
    }

    /// Lets the clients connect to the primary.
    fn serve(&mut self) {
        *self.shared.primary.lock().expect("no panic") = Some(self.primary.config());
    }

    /// One event, after a while of load. Each says what it is called in the report.
    fn happen(&mut self) {
        thread::sleep(Duration::from_millis(fastrand::u64(200..2500)));
        let event = match fastrand::u32(0..124) {
            100..108 => self.set_floor(),
            108..116 => self.observe(),
            116..124 => self.jump(),
            0..25 => self.promote(),
            25..33 => self.while_unknown(|soak| {
                soak.primary.kill();
                soak.primary.start_again();
                "crashes of the primary"
            }),
            33..41 => self.while_unknown(Soak::kill_a_backend),
            41..45 => self.while_unknown(|soak| {
                soak.primary.stop();
                soak.primary.start_again();
                "restarts of the primary"
            }),
            45..58 => self.while_unknown(Soak::leave_or_come_back),
            58..66 => {
                let lagging = self.lag();
                thread::sleep(Duration::from_millis(fastrand::u64(0..3000)));
                drop(lagging);
                "lags of a standby"
            }
            66..82 if self.is_synchronous => self.while_unknown(|soak| {
                soak.names = NAMES[fastrand::usize(..NAMES.len())];
                soak.primary.reload_with(&[("synchronous_standby_names", soak.names)]);
                "changes of the names"
            }),
            82..86 if self.is_synchronous => {
                let waits = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                             WHERE wait_event = 'SyncRep' LIMIT 1";
                let _ = self.primary.connect().query(waits, &[]);
                "waits that were canceled"
            }
            _ => {
                let cluster = match fastrand::usize(0..4) {
                    standby @ 0..2 => &self.standbys[standby].cluster,
                    _ => &self.primary,
                };
                cluster.set_clock(&any_clock(self.base));
                "steps of a clock"
            }
        };
        *self.counts.entry(event).or_default() += 1;
        self.collect();
    }

    /// Something changes what commits wait for: nobody knows it until that is over.
    fn while_unknown<T>(&mut self, change: impl FnOnce(&mut Soak) -> T) -> T {
        self.shared.require(0);
        let changed = change(self);
        let connected = self.connected();
        if self.is_synchronous {
            thread::sleep(RELOAD);
        }
        self.shared.require(required(self.names, connected));
        changed
    }

    fn up(&self) -> Set {
        (0..2).filter(|number| self.standbys[*number].is_up).map(only).sum()
    }

    /// The standbys that are up, once they stream and the primary knows of no other.
    fn connected(&self) -> Set {
        let expected = self.up();
        eventually("the standbys that are up stream", || {
            let Ok(mut client) = self.primary.config().connect(NoTls) else { return false };
            let names = "SELECT application_name FROM pg_stat_replication
                         WHERE state = 'streaming' AND application_name IN ('a', 'b')";
            let rows = client.query(names, &[]).unwrap_or_default();
            let bit = |name: &str| STANDBYS.iter().position(|standby| *standby == name).map(only);
            rows.iter().filter_map(|row| bit(row.get(0))).sum::<Set>() == expected
        });
        expected
    }

    fn kill_a_backend(&mut self) -> &'static str {
        let sessions = "SELECT pid::bigint FROM pg_stat_activity
                        WHERE query LIKE '%snowflake%' AND pid <> pg_backend_pid()
                        AND backend_type = 'client backend' LIMIT 1";
        let mut client = self.primary.connect();
        // A parallel worker might end before it is killed.
        if let Some(row) = client.query(sessions, &[]).expect("sessions").first() {
            signal(row.get(0), "KILL");
        }
        drop(client);
        thread::sleep(Duration::from_millis(200));
        eventually("the primary is back", || self.primary.config().connect(NoTls).is_ok());
        "crashes of a backend"
    }

    fn leave_or_come_back(&mut self) -> &'static str {
        let standby = &mut self.standbys[fastrand::usize(0..2)];
        if !standby.is_up {
            standby.cluster.start_again();
        } else if fastrand::bool() {
            standby.cluster.kill();
        } else {
            standby.cluster.stop();
        }
        standby.is_up = !standby.is_up;
        "standbys that left or came back"
    }

    /// A standby that gets no more WAL, until this is dropped.
    fn lag(&self) -> Option<Stopped> {
        let name = STANDBYS[fastrand::usize(0..2)];
        let mut client = self.primary.connect();
        let senders = "SELECT pid::bigint FROM pg_stat_replication WHERE application_name = $1";
        let sender = client.query_opt(senders, &[&name]).expect("a view")?;
        Some(Stopped::new(sender.get(0)))
    }

    /// The primary dies, perhaps some time after its standbys got the last WAL, and one of them
    /// takes its place. The clock of the primary might have been set back before, so that its IDs
    /// are ahead of it. Two new standbys are made.
    fn promote(&mut self) -> &'static str {
        if fastrand::bool() {
            self.primary.set_clock(&format!("{:+}s", self.base - fastrand::i64(60..600)));
            thread::sleep(Duration::from_millis(fastrand::u64(0..2000)));
        }
        let lagging = [self.lag(), self.lag()];
        thread::sleep(Duration::from_millis(fastrand::u64(0..4000)));
        let set = self.shared.required();
        *self.shared.primary.lock().expect("no panic") = None;
        self.primary.kill();
        std::mem::forget(lagging);
        thread::sleep(Duration::from_millis(100));
        self.collect();
        self.shared.require(0);
        // Whoever fails over takes one of the set, as a rule.
        let number = match set.count_ones() {
            1 if fastrand::u32(0..4) > 0 => set.trailing_zeros() as usize,
            _ => fastrand::usize(0..2),
        };
        if !self.standbys[number].is_up {
            self.standbys[number].cluster.start_again();
        }
        self.standbys[number].cluster.promote();
        let mut client = self.standbys[number].cluster.connect();
        self.judge(&mut client, number);
        drop(client);
        let promoted = &self.standbys[number].cluster;
        self.names = "";
        promoted.reload_with(&[("synchronous_standby_names", ""), ("cluster_name", "")]);
        let next = [0, 1].map(|number| standby_of(promoted, number, self.base));
        let former = std::mem::replace(&mut self.standbys, next);
        let mut former = former.map(|standby| Some(standby.cluster));
        self.primary = former[number].take().expect("it was promoted");
        self.while_unknown(|_| {});
        self.serve();
        "promotions"
    }

    /// Checks the promise for the IDs that the promoted server does not know of.
    fn judge(&mut self, client: &mut Client, promoted: usize) {
        client.run("SET synchronous_commit = local");
        let floor = start_of(&self.standbys[promoted].cluster);
        for gid in bigints(client, "SELECT gid::bigint FROM pg_prepared_xacts") {
            client.run(&format!("ROLLBACK PREPARED '{gid}'"));
        }
        // The standby might have lost the confirmation of a jump.
        let confirm = "SELECT snowflake_confirm('clock')::int::bigint";
        let confirmed = bigint(client, confirm) as usize;
        *self.counts.entry("confirmations after a promotion").or_default() += confirmed;
        let rows: HashSet<i64> = bigints(client, "SELECT id FROM orders").into_iter().collect();
        let mut highest = floor;
        for Receipt { id, role, required } in std::mem::take(&mut self.found.recent) {
            let is_kept = required & only(promoted) != 0;
            self.found.kept += usize::from(is_kept);
            if is_kept && role == Role::Row && !rows.contains(&id) {
                println!("the row of {id} is lost: it did not have to be on the standby");
                self.found.broken += 1;
            }
            if id <= floor {
                continue;
            }
            if is_kept {
                println!(
                    "{id} was committed, and the standby that had to have it begins after {floor}"
                );
                self.found.broken += 1;
                highest = highest.max(id);
            } else if role != Role::Bound {
                self.found.unpromised.insert(id);
            }
        }
        client.run("TRUNCATE orders");
        self.shared.highest.fetch_min(highest, SeqCst);
    }

    /// Looks for duplicates in what was received since the last time.
    fn collect(&mut self) {
        let mut fresh = std::mem::take(&mut *self.shared.fresh.lock().expect("no panic"));
        self.found.recent.extend(&fresh);
        fresh.retain(|receipt| receipt.role != Role::Bound);
        fresh.sort_unstable_by_key(|receipt| receipt.id);
        for pair in fresh.windows(2).filter(|pair| pair[0].id == pair[1].id) {
            println!("{} was received twice", pair[0].id);
            self.found.duplicates += 1;
        }
        for Receipt { id, .. } in &fresh {
            if self.found.ids.last().is_none_or(|last| id > last) {
                self.found.ids.push(*id);
            } else if self.found.ids.binary_search(id).is_ok() || !self.found.late.insert(*id) {
                if self.found.unpromised.remove(id) {
                    self.found.allowed += 1;
                } else {
                    println!("{id} was received twice");
                    self.found.duplicates += 1;
                }
            }
        }
        for (before, id) in self.shared.misplaced.lock().expect("no panic").drain(..) {
            println!("{id} was asked for after {before} was received");
            self.found.broken += 1;
        }
    }

    fn failures(&self) -> usize {
        self.found.duplicates + self.found.broken
    }

    fn report(&self) {
        let done = self.shared.done.each_ref().map(|done| done.load(SeqCst));
        let counts: Vec<String> = (self.counts.iter().map(|(name, count)| (*name, *count)))
            .chain(KINDS.into_iter().zip(done))
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let waits = self.primary.bigint("SELECT waits FROM pg_stat_snowflake");
        println!(
            "{} min: {} IDs, {waits} waits since the last start, {} duplicates, {} more among those \
             that were lost and not promised, {} IDs whose commits waited for the standby that was \
             promoted; {}",
            self.started.elapsed().as_secs() / 60,
            self.found.ids.len() + self.found.late.len(),
            self.found.duplicates,
            self.found.allowed,
            self.found.kept,
            counts.join(", ")
        );
    }
}

/// Returns the last ID before those that a promoted server starts with: that of the floor that it
/// received, and the margin. The floor that it shows might be higher already, because it reserves
/// IDs without waiting for a call.
fn start_of(promoted: &Cluster) -> i64 {
    let logged = || {
        let log = promoted.log();
        let (_, last) = log.rsplit_once("IDs start after ")?;
        Some(last.split_once(": the floor is")?.0.to_owned())
    };
    eventually("the promoted server logs where IDs start", || logged().is_some());
    let start = logged().expect("it was logged");
    promoted.bigint(&format!("SELECT snowflake_max('{start}')"))
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
