//! The cost of following the IDs of other servers: of a call, and of the rows that replication
//! applies.

use std::thread::sleep;
use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint, eventually};

use crate::effort::Effort;
use crate::quantiles::{median, ratio};
use crate::report::{Report, Table};
use crate::server::cluster;

/// A table without the trigger, and one with it.
const TABLES: [&str; 2] = ["plain", "observed"];

/// Measures how long it takes to apply rows with and without the trigger, from the commit on the
/// publisher until they are visible on the subscriber.
pub fn measure(effort: &Effort, report: &mut Report) {
    let start = || cluster().set("wal_level", "logical").start();
    let (publisher, subscriber) = (start(), start());
    let [mut from, mut to] = [&publisher, &subscriber].map(Cluster::connect);
    for table in TABLES {
        let create = format!("CREATE TABLE {table} (id bigint PRIMARY KEY, item text)");
        for client in [&mut from, &mut to] {
            client.run(&create);
        }
    }
    to.run(
        "CREATE TRIGGER observe BEFORE INSERT OR UPDATE OF id ON observed
             FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
         ALTER TABLE observed ENABLE REPLICA TRIGGER observe",
    );
    for table in TABLES {
        from.run(&format!("CREATE PUBLICATION {table} FOR TABLE {table}"));
        let rest = format!("PUBLICATION {table}");
        subscriber.subscribe(&publisher, "postgres", table, &rest);
    }
    subscriber.wait_for_the_copy("postgres");

    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=effort.rounds {
        eprintln!("    applied rows, round {round} of {}", effort.rounds);
        for (table, times) in TABLES.into_iter().zip(&mut times) {
            let seconds = apply(&mut from, &mut to, table, effort.rows);
            if round > 0 {
                times.push(seconds);
            }
        }
    }
    let refused = bigint(&mut to, "SELECT observations_refused FROM pg_stat_snowflake");
    assert_eq!(refused, 0, "an ID was not followed");
    let ratio = ratio(&times[1], &times[0]);
    let [without, with] = times.map(median);
    let title = format!(
        "Replication of {} rows that are inserted at once, from the commit until they are visible; \
         medians of {} rounds",
        effort.rows, effort.rounds
    );
    let mut table = Table::new(title, &["trigger", "seconds", "of those without"]);
    table.row("none", [format!("{without:.2}"), "1.00".into()]);
    table.row("`snowflake_observe_rows('id')`", [with, ratio].map(|f| format!("{f:.2}")));
    table.print();
    report.at_most("applying rows with the trigger / without", ratio, 1.1);
}

/// Inserts so many rows at once, and returns how long it takes until they are on the other server.
fn apply(from: &mut Client, to: &mut Client, table: &str, rows: u32) -> f64 {
    from.run(&format!("TRUNCATE {table}"));
    eventually("it is empty there, too", || {
        bigint(to, &format!("SELECT count(*) FROM {table}")) == 0
    });
    let insert = format!("INSERT INTO {table} SELECT snowflake_nextval({rows}), 'book'");
    from.run(&insert);
    let committed = Instant::now();
    let newest = bigint(from, &format!("SELECT max(id) FROM {table}"));
    let arrived = format!("SELECT count(*) FROM {table} WHERE id = {newest}");
    while bigint(to, &arrived) == 0 {
        sleep(Duration::from_millis(2));
    }
    committed.elapsed().as_secs_f64()
}
