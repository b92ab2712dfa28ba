//! Rows with a primary key, in bulk by one session: with INSERT and with COPY. PostgreSQL copies
//! many rows at a time only where no default is volatile, `nextval()` excepted, and
//! `snowflake_nextval()`, for which another function stands in.

use std::time::Instant;

use postgres::Client;
use snowflake_e2e::{Run, bigint};

use crate::effort::Effort;
use crate::keys::{self, FREE, Key, NEW_ID, NEXTVAL, NEXTVAL_CACHED, SNOWFLAKE};
use crate::quantiles::{median, ratio};
use crate::report::{Report, Table};
use crate::server::{POSITION, cluster, copy_out, empty};

/// The figures of inserts.
pub struct Inserts {
    /// Rows of an insert.
    pub rows: u32,
    /// The times of INSERT.
    pub insert: Vec<Bulk>,
    /// The times of COPY.
    pub copy: Vec<Bulk>,
}

/// The times of rows with a kind of key.
pub struct Bulk {
    /// The kind of key.
    pub key: &'static str,
    /// Seconds.
    pub seconds: f64,
    /// Bytes of the primary key's index.
    pub index: f64,
}

/// A figure of each round.
#[derive(Default)]
struct Figures {
    seconds: Vec<f64>,
    wal: Vec<f64>,
    index: Vec<f64>,
}

/// Measures both, and prints tables.
pub fn measure(effort: &Effort, report: &mut Report) -> Inserts {
    let (cluster, keys) = keys::start(cluster());
    let mut client = cluster.connect();
    let keys: Vec<(String, Key)> =
        keys.into_iter().enumerate().map(|(index, key)| (format!("t{index}"), key)).collect();
    for (table, key) in &keys {
        key.create_table(&mut client, table);
    }
    let rows = effort.rows;
    let items = copy_out(&cluster, "n", rows);
    let keyed = copy_out(&cluster, "n, n", rows);
    let insert = |table: &str, columns: &str, values: &str| {
        let numbers = format!("(SELECT generate_series(1, {rows}) AS n) AS rows");
        format!("INSERT INTO {table} ({columns}) SELECT {values} FROM {numbers}")
    };
    let copy = |table: &str, columns: &str, values: &str| {
        let file = if values == "n" { &items } else { &keyed };
        format!("COPY {table} ({columns}) FROM '{file}'")
    };
    let insert = fill(&mut client, &keys, "INSERT ... SELECT", insert, effort, report);
    let copy = fill(&mut client, &keys, "COPY", copy, effort, report);
    Inserts { rows, insert, copy }
}

/// Fills the tables, with a statement of a table, its columns and their values.
fn fill(
    client: &mut Client,
    keys: &[(String, Key)],
    what: &str,
    statement: impl Fn(&str, &str, &str) -> String,
    effort: &Effort,
    report: &mut Report,
) -> Vec<Bulk> {
    let rows = effort.rows;
    let mut measured: Vec<Figures> = keys.iter().map(|_| Figures::default()).collect();
    for round in 0..=effort.rounds {
        eprintln!("    {what}, round {round} of {}", effort.rounds);
        for ((table, key), figures) in keys.iter().zip(&mut measured) {
            empty(client, table);
            let (columns, values) =
                if key.name == FREE { ("id, item", "n, n") } else { ("item", "n") };
            let statement = statement(table, columns, values);
            let before = bigint(client, POSITION);
            let started = Instant::now();
            client.run(&statement);
            let took = started.elapsed().as_secs_f64();
            if round > 0 {
                figures.seconds.push(took);
                figures.wal.push((bigint(client, POSITION) - before) as f64);
                let size = format!("SELECT pg_relation_size('{table}_pkey')");
                figures.index.push(bigint(client, &size) as f64);
            }
            let stored = bigint(client, &format!("SELECT count(*) FROM {table}"));
            assert_eq!(stored, i64::from(rows), "{}", key.name);
        }
    }
    let of = |name: &str| {
        let index = keys.iter().position(|(_, key)| key.name == name).expect("measured");
        &measured[index]
    };
    let title = format!(
        "{what} of {rows} rows into a table with a primary key; medians of {} rounds",
        effort.rounds
    );
    let mut table = Table::new(
        &title,
        &["key", "seconds", "of the free key", "of nextval()", "WAL, MB", "index, MB"],
    );
    let mut bulk = Vec::new();
    for (_, Key { name, .. }) in keys {
        let Figures { seconds, wal, index } = of(name);
        let of_key = |key| format!("{:.2}", ratio(seconds, &of(key).seconds));
        let [free, nextval] = [FREE, NEXTVAL].map(of_key);
        let [seconds, wal, index] = [seconds, wal, index].map(|figure| median(figure.clone()));
        let megabytes = |bytes| format!("{:.1}", bytes / 1e6);
        let cells = [format!("{seconds:.2}"), free, nextval, megabytes(wal), megabytes(index)];
        table.row(format!("`{name}`"), cells);
        // It is the one of SNOWFLAKE, which the picture has.
        if *name != NEW_ID {
            bulk.push(Bulk { key: name, seconds, index });
        }
    }
    table.print();
    let own = of(SNOWFLAKE);
    for (figure, of_own, key, of_key, limit) in [
        ("time", &own.seconds, FREE, &of(FREE).seconds, 1.05),
        ("time", &own.seconds, NEXTVAL, &of(NEXTVAL).seconds, 1.0),
        ("time", &own.seconds, NEXTVAL_CACHED, &of(NEXTVAL_CACHED).seconds, 1.0),
        ("WAL", &own.wal, FREE, &of(FREE).wal, 1.02),
        ("index", &own.index, NEXTVAL, &of(NEXTVAL).index, 1.0),
    ] {
        let what = format!("{what} with {SNOWFLAKE} / with {key}, {figure}");
        report.at_most(what, ratio(of_own, of_key), limit);
    }
    let what = format!("{what} with {NEW_ID} / with {SNOWFLAKE}, time");
    report.at_most(what, ratio(&of(NEW_ID).seconds, &own.seconds), 1.05);
    bulk
}
