//! One feed of the rows of several servers, in the order of their IDs, as docs/recipes.md makes it.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use snowflake_e2e::{Cluster, assert_increasing, bigint, bigints, eventually};

const SERVERS: usize = 3;

/// A server with the tables of the recipe.
fn server(number: usize) -> Cluster {
    let cluster = Cluster::builder()
        .set("wal_level", "logical")
        .set("snowflake.worker_id", &number.to_string())
        .set("max_worker_processes", "16")
        .set("wal_retrieve_retry_interval", "100ms")
        .start();
    cluster
        .connect()
        .batch_execute(
            "CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
             CREATE TABLE horizons (server integer PRIMARY KEY, horizon bigint NOT NULL);
             CREATE PUBLICATION jobs FOR TABLE jobs, horizons",
        )
        .expect("tables");
    cluster
}

/// Lets every server have the rows of every other one, and waits until the row with the horizon of each
/// has arrived. Before PostgreSQL 16, rows would come back, so only the first server has them all.
/// Returns how many servers do.
fn replicate(servers: &[Cluster]) -> usize {
    let has_origins = servers[0].programs().major() >= 16;
    let (complete, options) =
        if has_origins { (servers.len(), ", origin = none") } else { (1, "") };
    for subscriber in 0..complete {
        for publisher in (0..servers.len()).filter(|number| *number != subscriber) {
            let name = format!("s_{subscriber}_from_{publisher}");
            let rest = format!("PUBLICATION jobs WITH (copy_data = false{options})");
            servers[subscriber].subscribe(&servers[publisher], "postgres", &name, &rest);
        }
    }
    servers[..complete].iter().for_each(|server| server.wait_for_the_copy("postgres"));
    for (number, server) in servers.iter().enumerate() {
        let insert = format!("INSERT INTO horizons VALUES ({number}, 0)");
        server.connect().batch_execute(&insert).expect("a row");
    }
    for server in &servers[..complete] {
        let mut client = server.connect();
        eventually("the rows of all servers are there", || {
            bigint(&mut client, "SELECT count(*) FROM horizons") == SERVERS as i64
        });
    }
    complete
}

#[test]
fn a_feed_of_several_servers_is_complete_and_in_order() {
    let servers: Vec<Cluster> = (0..SERVERS).map(server).collect();
    let complete = replicate(&servers);
    let (written, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let feeds: Vec<Vec<i64>> = thread::scope(|scope| {
        let (servers, written, done) = (&servers, &written, &done);
        let writers: Vec<_> = (0..2 * SERVERS)
            .map(|writer| {
                let mut client = servers[writer % SERVERS].connect();
                scope.spawn(move || {
                    for round in 0..100 {
                        let mut transaction = client.transaction().expect("a transaction");
                        transaction
                            .batch_execute("INSERT INTO jobs DEFAULT VALUES")
                            .expect("a row");
                        thread::sleep(Duration::from_millis((round * 7 + writer as u64) % 11));
                        transaction.commit().expect("committed");
                    }
                })
            })
            .collect();
        for (number, server) in servers.iter().enumerate() {
            scope.spawn(move || {
                let mut client = server.connect();
                while !done.load(SeqCst) {
                    bigint(&mut client, "SELECT snowflake_nextval()");
                    client
                        .batch_execute(&format!(
                            "UPDATE horizons SET horizon = snowflake_horizon() WHERE server = {number}"
                        ))
                        .expect("a horizon");
                    thread::sleep(Duration::from_millis(50));
                }
            });
        }
        let consumers: Vec<_> = servers[..complete]
            .iter()
            .map(|server| {
                scope.spawn(move || {
                    let mut client = server.connect();
                    let mut feed: Vec<i64> = Vec::new();
                    let mut poll = |feed: &mut Vec<i64>| {
                        let last = feed.last().copied().unwrap_or(0);
                        feed.extend(bigints(
                            &mut client,
                            &format!(
                                "SELECT id FROM jobs WHERE id > {last}
                                 AND id <= (SELECT min(horizon) FROM horizons) ORDER BY id"
                            ),
                        ));
                    };
                    while !written.load(SeqCst) {
                        poll(&mut feed);
                    }
                    eventually("the feed has every row", || {
                        poll(&mut feed);
                        feed.len() == 2 * SERVERS * 100
                    });
                    feed
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        written.store(true, SeqCst);
        let feeds =
            consumers.into_iter().map(|consumer| consumer.join().expect("a feed")).collect();
        done.store(true, SeqCst);
        feeds
    });
    let all = bigints(&mut servers[0].connect(), "SELECT id FROM jobs ORDER BY id");
    for feed in feeds {
        assert_increasing(&feed);
        assert_eq!(feed, all);
    }
}
