//! Writers at random, and pollers that go by the primary key alone: each gets every committed row
//! once.

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, INSERT, Run, StopOnDrop, assert_increasing, bigint, bigints, eventually, interruption,
    meanwhile, process,
};

use super::{Poller, start};

const WRITERS: u64 = 16;
const POLLERS: usize = 3;

/// One transaction, of a kind that a number chooses.
fn write(client: &mut Client, name: &str, random: &mut u64) -> Result<(), postgres::Error> {
    let mut below = |limit: u64| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random % limit
    };
    const INSERT: &str = "INSERT INTO orders DEFAULT VALUES";
    let wait = format!("SELECT pg_sleep({})", below(20) as f64 / 1000.0);
    match below(10) {
        0..3 => client.batch_execute(INSERT),
        3 => client.batch_execute(&format!("BEGIN; {INSERT}; {wait}; {INSERT}; COMMIT")),
        4 => client.batch_execute(&format!(
            "BEGIN; SAVEPOINT a; {INSERT}; ROLLBACK TO a; {wait}; SAVEPOINT b; {INSERT}; RELEASE b; COMMIT"
        )),
        5 => client.batch_execute(&format!("BEGIN; {INSERT}; {wait}; ROLLBACK")),
        6 => client.batch_execute(&format!(
            "BEGIN; CREATE TEMP TABLE IF NOT EXISTS taken (id bigint) ON COMMIT DELETE ROWS; {wait}; \
             INSERT INTO taken SELECT snowflake_nextval(3); {wait}; INSERT INTO orders SELECT id FROM taken; COMMIT"
        )),
        7 => {
            client.batch_execute(&format!("BEGIN; {INSERT}; PREPARE TRANSACTION '{name}'; {wait}"))?;
            let end = if below(3) == 0 { "ROLLBACK" } else { "COMMIT" };
            client.batch_execute(&format!("{end} PREPARED '{name}'"))
        }
        8 => client.batch_execute("CALL work()"),
        _ => client.batch_execute(
            "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; \
             BEGIN; CREATE TEMP TABLE of_workers ON COMMIT DROP AS SELECT snowflake_nextval() AS id FROM many; \
             INSERT INTO orders SELECT id FROM of_workers; COMMIT",
        ),
    }
}

fn session(cluster: &Cluster) -> Client {
    let mut client = cluster.connect();
    client.run("SET synchronous_commit = off");
    client
}

#[test]
fn pollers_by_the_primary_key_get_every_row_once() {
    let cluster = start(Cluster::builder(), "20");
    cluster.run(
        "CREATE TABLE many AS SELECT generate_series(1, 50) AS n;
         CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
         BEGIN
             INSERT INTO orders DEFAULT VALUES; COMMIT;
             PERFORM pg_sleep(0.002);
             INSERT INTO orders DEFAULT VALUES; COMMIT;
         END $$",
    );
    let done = AtomicBool::new(false);
    // SNOWFLAKE_HORIZON_SECONDS, or a few seconds.
    let seconds = env::var("SNOWFLAKE_HORIZON_SECONDS").ok();
    let seconds = seconds.map_or(5, |seconds| seconds.parse().expect("a number of seconds"));
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let pids = Mutex::new(Vec::new());
    let got: Vec<Vec<i64>> = thread::scope(|scope| {
        let (cluster, done, pids) = (&cluster, &done, &pids);
        // The pollers end, whatever happens to the writers.
        let stop = StopOnDrop(done);
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                scope.spawn(move || {
                    let name = format!("writer {number}");
                    let mut random = 0x9e37_79b9_7f4a_7c15 ^ (number + 1);
                    let mut client = session(cluster);
                    while Instant::now() < deadline {
                        let pid = process(&mut client);
                        pids.lock().expect("no panic").push(pid);
                        let mut killed = false;
                        while !killed && Instant::now() < deadline {
                            if let Err(error) = write(&mut client, &name, &mut random) {
                                let why = interruption(&error);
                                assert_eq!(*why, SqlState::ADMIN_SHUTDOWN, "{error:?}");
                                killed = true;
                            }
                        }
                        client = session(cluster);
                        let runs = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND pid <> pg_backend_pid()");
                        eventually("it is gone", || !killed || bigint(&mut client, &runs) == 0);
                        // Transactions that it had prepared when it was killed.
                        let left = "SELECT count(*) FROM pg_prepared_xacts WHERE gid = '$'";
                        if bigint(&mut client, &left.replace('$', &name)) == 1 {
                            client.run(&format!("COMMIT PREPARED '{name}'"));
                        }
                    }
                })
            })
            .collect();
        let pollers: Vec<_> = (0..POLLERS)
            .map(|number| {
                scope.spawn(move || {
                    let mut poller = Poller::new(cluster);
                    let old =
                        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT; SELECT pg_sleep(0.01)";
                    let mut got = Vec::new();
                    loop {
                        let is_last = done.load(SeqCst);
                        if is_last {
                            // Then the next snapshot is later than all transactions of the writers.
                            poller.client.run("SELECT");
                        }
                        if number == 0 {
                            // One that reads in snapshots that are older than its reading.
                            poller.client.run(old);
                        }
                        let ids = poller.poll();
                        if number == 0 {
                            poller.client.run("COMMIT");
                        }
                        if is_last && ids.is_empty() {
                            return got;
                        }
                        got.extend(ids);
                    }
                })
            })
            .collect();
        let mut killer = cluster.connect();
        while Instant::now() < deadline {
            thread::sleep(Duration::from_millis(300));
            if let Some(pid) = pids.lock().expect("no panic").pop() {
                killer.run(&format!("SELECT pg_terminate_backend({pid})"));
            }
        }
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        let open = "SELECT count(*) FROM snowflake_horizon_holders";
        eventually("all have ended", || bigint(&mut killer, open) == 0);
        drop(stop);
        pollers.into_iter().map(|poller| poller.join().expect("a poller")).collect()
    });
    let all = bigints(&mut cluster.connect(), "SELECT id FROM orders ORDER BY id");
    println!("{} rows", all.len());
    assert!(all.len() > 100);
    for (number, ids) in got.iter().enumerate() {
        assert_increasing(ids);
        let missed: Vec<&i64> = all.iter().filter(|id| ids.binary_search(id).is_err()).collect();
        assert!(missed.is_empty(), "poller {number} missed {} of {}", missed.len(), all.len());
        assert_eq!(ids.len(), all.len());
    }
}

/// A filter is evaluated for each row, and a wrapped call plans a query of its own: within one
/// statement there is one answer.
#[test]
fn a_statement_has_one_horizon() {
    let cluster = start(Cluster::builder(), "20");
    let mut client = cluster.connect();
    client.run(
        "CREATE FUNCTION wrapped() RETURNS bigint LANGUAGE plpgsql STABLE
         AS 'BEGIN RETURN snowflake_horizon(); END'",
    );
    let write = |_| {
        let mut writer = cluster.connect();
        (0..500).for_each(|_| _ = bigint(&mut writer, INSERT));
    };
    meanwhile(2, write, || {
        let horizons = "SELECT count(DISTINCT h) FROM (
            SELECT snowflake_horizon() AS h FROM generate_series(1, 20000)
            UNION ALL SELECT wrapped() FROM generate_series(1, 2000)) AS horizons";
        assert_eq!(bigint(&mut client, horizons), 1);
    });
}
