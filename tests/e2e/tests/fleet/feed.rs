//! One feed of the rows of several servers, in the order of their IDs, as docs/recipes.md makes it.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use snowflake_e2e::{
    Cluster, NEXT, Run, assert_increasing, bigint, bigints, eventually, publishing,
};

const SERVERS: usize = 3;

/// A server with the tables of the recipe.
fn server(number: usize) -> Cluster {
    let cluster = publishing(&number.to_string()).start();
    cluster.run(
        "CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
         CREATE TABLE horizons (server integer PRIMARY KEY, horizon bigint NOT NULL);
         CREATE PUBLICATION jobs FOR TABLE jobs, horizons",
    );
    cluster
}

/// Lets every server have the rows of every other one, and waits until the row with the horizon of
/// each has arrived. Before PostgreSQL 16, rows would come back, so only the first server has them
/// all. Returns how many servers do.
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
        server.run(&format!("INSERT INTO horizons VALUES ({number}, 0)"));
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
        let write = |writer: usize| {
            let mut client = servers[writer % SERVERS].connect();
            for round in 0..100 {
                client.run("BEGIN; INSERT INTO jobs DEFAULT VALUES");
                thread::sleep(Duration::from_millis((round * 7 + writer as u64) % 11));
                client.run("COMMIT");
            }
        };
        let consume = |server: &Cluster| {
            let (mut client, mut feed) = (server.connect(), Vec::new());
            let mut poll = |feed: &mut Vec<i64>| {
                let last = feed.last().copied().unwrap_or(0);
                let next = format!(
                    "SELECT id FROM jobs WHERE id > {last}
                     AND id <= (SELECT min(horizon) FROM horizons) ORDER BY id"
                );
                feed.extend(bigints(&mut client, &next));
            };
            while !written.load(SeqCst) {
                poll(&mut feed);
            }
            eventually("the feed has every row", || {
                poll(&mut feed);
                feed.len() == 2 * SERVERS * 100
            });
            feed
        };
        let writers: Vec<_> =
            (0..2 * SERVERS).map(|writer| scope.spawn(move || write(writer))).collect();
        for (number, server) in servers.iter().enumerate() {
            scope.spawn(move || {
                let horizon = "UPDATE horizons SET horizon = snowflake_horizon() WHERE server =";
                let mut client = server.connect();
                while !done.load(SeqCst) {
                    bigint(&mut client, NEXT);
                    client.run(&format!("{horizon} {number}"));
                    thread::sleep(Duration::from_millis(50));
                }
            });
        }
        let consumers: Vec<_> =
            servers[..complete].iter().map(|server| scope.spawn(move || consume(server))).collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        written.store(true, SeqCst);
        let feeds = consumers.into_iter().map(|feed| feed.join().expect("a feed")).collect();
        done.store(true, SeqCst);
        feeds
    });
    let all = bigints(&mut servers[0].connect(), "SELECT id FROM jobs ORDER BY id");
    for feed in feeds {
        assert_increasing(&feed);
        assert_eq!(feed, all);
    }
}
