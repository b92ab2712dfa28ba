//! Polls of rows that another transaction inserts than the one that takes the ID: a parent takes
//! the ID, and postgres_fdw or dblink inserts the row on the far side, which is another database of
//! the parent's server, or another server. The writer's transaction ends after the row is
//! committed.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_e2e::{
    Cluster, Means, Run, StopOnDrop, assert_increasing, bigint, bigints, lacks, publishing,
};

const WRITERS: usize = 6;

/// The way in which the parent reaches the far side.
#[derive(Clone, Copy)]
enum By {
    PostgresFdw,
    Dblink,
}

impl By {
    /// Inserts a row with an ID of the parent. Some writers write at the parent, too, and some roll
    /// back, which leaves a row of dblink where it is.
    fn insert(self, writer: usize) -> String {
        const HERE: &str = "INSERT INTO here VALUES (1)";
        let insert = match self {
            By::PostgresFdw => "INSERT INTO orders DEFAULT VALUES",
            By::Dblink => {
                "SELECT dblink_exec('far', format('INSERT INTO orders VALUES (%s)', snowflake_nextval()))"
            }
        };
        match (self, writer) {
            (By::PostgresFdw, 0) => format!("BEGIN; {HERE}; {insert}; COMMIT"),
            (By::Dblink, 0) => format!("BEGIN; {HERE}; {insert}; ROLLBACK"),
            (By::Dblink, 1) => format!("BEGIN; {insert}; ROLLBACK"),
            _ => insert.to_owned(),
        }
    }

    /// The rows as the parent sees them.
    fn rows(self) -> &'static str {
        match self {
            By::PostgresFdw => "orders",
            By::Dblink => "dblink('far', 'TABLE orders') AS orders (id bigint)",
        }
    }
}

struct Sides {
    by: By,
    parent: Cluster,
    /// Another server; `None` if the far side is the database `far` of the parent.
    shard: Option<Cluster>,
}

impl Sides {
    fn start(by: By, with_shard: bool) -> Option<Sides> {
        if lacks(&[Means::Extension("postgres_fdw"), Means::Extension("dblink")]) {
            return None;
        }
        let parent = publishing("1").start();
        let shard = with_shard.then(|| publishing("2").start());
        let far = shard.as_ref().unwrap_or(&parent);
        far.run("CREATE DATABASE far");
        far.run_in(
            "far",
            "CREATE EXTENSION snowflake; CREATE TABLE orders (id bigint PRIMARY KEY)",
        );
        parent.run(&format!(
            "CREATE TABLE here (n integer);
             CREATE EXTENSION postgres_fdw;
             CREATE EXTENSION dblink;
             CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
                 OPTIONS (host '{}', port '5432', dbname 'far');
             CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user 'postgres');
             CREATE FOREIGN TABLE orders (id bigint DEFAULT snowflake_nextval()) SERVER far",
            far.directory().display()
        ));
        Some(Sides { by, parent, shard })
    }

    /// A session of the parent.
    fn parent(&self) -> Client {
        let mut client = self.parent.connect();
        client.run("SELECT dblink_connect('far', 'far')");
        client
    }

    /// A session of the far side.
    fn far(&self) -> Client {
        self.shard.as_ref().unwrap_or(&self.parent).connect_to("far")
    }

    /// Lets rows come in, and pollers read them by the primary key. Returns how many rows each has
    /// missed.
    fn missed<const N: usize>(&self, pollers: [Poller; N]) -> [usize; N] {
        // SNOWFLAKE_HORIZON_SECONDS, or a few seconds.
        let seconds = env::var("SNOWFLAKE_HORIZON_SECONDS").ok();
        let seconds = seconds.map_or(12, |seconds| seconds.parse().expect("a number of seconds"));
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let done = AtomicBool::new(false);
        let got = thread::scope(|scope| {
            let stop = StopOnDrop(&done);
            let writers: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let (mut client, insert) = (self.parent(), self.by.insert(number));
                    scope.spawn(move || {
                        while Instant::now() < deadline {
                            client.run(&insert);
                        }
                    })
                })
                .collect();
            let pollers = pollers.map(|poller| scope.spawn(|| poller.read(&done)));
            writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
            drop(stop);
            pollers.map(|poller| poller.join().expect("a poller"))
        });
        let all = bigints(&mut self.far(), "SELECT id FROM orders ORDER BY id");
        let missed = got.map(|ids| {
            assert_increasing(&ids);
            all.iter().filter(|id| ids.binary_search(id).is_err()).count()
        });
        println!("{missed:?} of {} rows were missed", all.len());
        missed
    }
}

/// One who reads the rows after the last one, up to the horizon.
struct Poller {
    /// Where the rows are.
    client: Client,
    rows: &'static str,
    /// Where the horizon is asked for; `None` if the statement that reads the rows does it.
    asked: Option<Asked>,
}

enum Asked {
    Before(Client),
    After(Client),
}

impl Poller {
    fn read(mut self, done: &AtomicBool) -> Vec<i64> {
        const HORIZON: &str = "SELECT snowflake_horizon()";
        let mut got = Vec::new();
        let mut empty = 0;
        // A poll might have a horizon of before the last rows.
        while empty < 3 {
            let is_last = done.load(SeqCst);
            let last = got.last().copied().unwrap_or(0);
            let mut upto = |horizon: &str| {
                let query = format!(
                    "SELECT id FROM {} WHERE id > {last} AND id <= {horizon} ORDER BY id LIMIT 1000",
                    self.rows
                );
                bigints(&mut self.client, &query)
            };
            let ids = match &mut self.asked {
                None => upto("snowflake_horizon()"),
                Some(Asked::Before(client)) => upto(&bigint(client, HORIZON).to_string()),
                Some(Asked::After(client)) => {
                    let mut ids = upto(&i64::MAX.to_string());
                    let horizon = bigint(client, HORIZON);
                    ids.retain(|id| *id <= horizon);
                    ids
                }
            };
            empty = if is_last && ids.is_empty() { empty + 1 } else { 0 };
            got.extend(ids);
        }
        got
    }
}

#[track_caller]
fn assert_none_is_missed(by: By, with_shard: bool) {
    let Some(sides) = Sides::start(by, with_shard) else { return };
    let parent = |asked| Poller { client: sides.parent(), rows: by.rows(), asked };
    let far = |asked| Poller { client: sides.far(), rows: "orders", asked };
    let pollers = [
        parent(None),
        far((with_shard).then(|| Asked::Before(sides.parent()))),
        parent(Some(Asked::Before(sides.parent()))),
        far(Some(Asked::After(sides.parent()))),
    ];
    let [on_parent, on_far_side, asked_first, asked_late] = sides.missed(pollers);
    assert_eq!([on_parent, on_far_side, asked_first], [0; 3]);
    // Rows were there to be missed.
    assert!(asked_late > 0);
}

#[test]
fn no_row_of_postgres_fdw_in_the_same_server_is_missed() {
    assert_none_is_missed(By::PostgresFdw, false);
}

#[test]
fn no_row_of_postgres_fdw_on_a_shard_is_missed() {
    assert_none_is_missed(By::PostgresFdw, true);
}

#[test]
fn no_row_of_dblink_in_the_same_server_is_missed() {
    assert_none_is_missed(By::Dblink, false);
}

#[test]
fn no_row_of_dblink_on_a_shard_is_missed() {
    assert_none_is_missed(By::Dblink, true);
}
