//! Rows with a primary key: in bulk by one session, and in small statements by many sessions.

use std::fs;
use std::time::Instant;

use postgres::Client;
use snowflake_e2e::{Cluster, bigint, output};

use crate::copies;
use crate::effort::Effort;
use crate::keys::{FREE, KEYS, Key, NEXTVAL, SNOWFLAKE};
use crate::quantiles::{median, quantiles};
use crate::report::{Bound, Report, Table};
use crate::server::{POSITION, cluster, empty};

/// Sessions that insert at the same time.
const SESSIONS: [u32; 3] = [2, 8, 32];

/// Rows per statement, and the part of the statement that follows the table's name.
const STATEMENTS: [(u32, &str); 2] =
    [(1, "(item) VALUES (1)"), (100, "(item) SELECT generate_series(1, 100)")];

/// What was measured.
pub struct Inserts {
    /// Rows of a bulk insert.
    pub rows: u32,
    /// What it took, for each kind of key.
    pub bulk: Vec<Bulk>,
    /// What sessions inserted at the same time.
    pub small: Vec<Small>,
}

/// What a bulk insert took.
pub struct Bulk {
    /// The kind of key.
    pub key: &'static str,
    /// Seconds.
    pub seconds: f64,
    wal: f64,
    /// Bytes of the primary key's index.
    pub index: f64,
}

/// What sessions inserted that commit after each statement.
pub struct Small {
    /// The kind of key.
    pub key: &'static str,
    /// How many sessions.
    pub sessions: u32,
    /// Rows of a statement.
    pub rows: u32,
    /// Rows per second, of all sessions together.
    pub per_second: f64,
}

/// Measures both, and COPY, and prints tables.
pub fn measure(effort: &Effort, report: &mut Report) -> Inserts {
    let cluster = cluster().start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE SEQUENCE plain; CREATE SEQUENCE cache_32 CACHE 32; SELECT snowflake_nextval()",
        )
        .expect("set up");
    let major = cluster.programs().major();
    let keys: Vec<(String, &Key)> = KEYS
        .iter()
        .filter(|key| key.since <= major)
        .enumerate()
        .map(|(index, key)| (format!("t{index}"), key))
        .collect();
    for (table, key) in &keys {
        let create = format!("CREATE TABLE {table} (id {} PRIMARY KEY, item int)", key.column);
        client.batch_execute(&create).expect("a table");
    }
    let bulk = bulk(&mut client, &keys, effort, report);
    copies::measure(&cluster, &mut client, &keys, effort, report);
    // Without the free key, which is the number of a row: several sessions would need to agree.
    let small = small(&cluster, &mut client, &keys[1..], effort);
    Inserts { rows: effort.rows, bulk, small }
}

fn bulk(
    client: &mut Client,
    keys: &[(String, &Key)],
    effort: &Effort,
    report: &mut Report,
) -> Vec<Bulk> {
    let rows = effort.rows;
    let mut measured: Vec<[Vec<f64>; 3]> = keys.iter().map(|_| Default::default()).collect();
    for round in 0..=effort.rounds {
        eprintln!("    bulk inserts, round {round} of {}", effort.rounds);
        for ((table, key), [seconds, wal, index]) in keys.iter().zip(&mut measured) {
            empty(client, table);
            let columns =
                if key.name == FREE { "(id, item) SELECT n, n" } else { "(item) SELECT n" };
            let insert = format!(
                "INSERT INTO {table} {columns} FROM (SELECT generate_series(1, {rows}) AS n) AS r"
            );
            let before = bigint(client, POSITION);
            let started = Instant::now();
            client.batch_execute(&insert).expect("rows");
            let took = started.elapsed().as_secs_f64();
            if round > 0 {
                seconds.push(took);
                wal.push((bigint(client, POSITION) - before) as f64);
                index.push(
                    bigint(client, &format!("SELECT pg_relation_size('{table}_pkey')")) as f64
                );
            }
            let stored = bigint(client, &format!("SELECT count(*) FROM {table}"));
            assert_eq!(stored, i64::from(rows), "{}", key.name);
        }
    }
    let bulk: Vec<Bulk> = keys
        .iter()
        .zip(measured)
        .map(|((_, key), figures)| {
            let [seconds, wal, index] = figures.map(median);
            Bulk { key: key.name, seconds, wal, index }
        })
        .collect();
    let of = |name: &str| bulk.iter().find(|bulk| bulk.key == name).expect("measured");
    let title = format!(
        "Bulk insert of {rows} rows into a table with a primary key; medians of {} rounds",
        effort.rounds
    );
    let mut table =
        Table::new(&title, &["key", "seconds", "of the free key", "WAL, MB", "index, MB"]);
    for Bulk { key, seconds, wal, index } in &bulk {
        table.row(&[
            format!("`{key}`"),
            format!("{seconds:.2}"),
            format!("{:.2}", seconds / of(FREE).seconds),
            format!("{:.1}", wal / 1e6),
            format!("{:.1}", index / 1e6),
        ]);
    }
    table.print();
    let own = of(SNOWFLAKE);
    report.expect(
        "bulk insert, time / that with nextval()",
        own.seconds / of(NEXTVAL).seconds,
        Bound::AtMost(0.9),
    );
    report.expect(
        "bulk insert, time / that with a free key",
        own.seconds / of(FREE).seconds,
        Bound::AtMost(1.05),
    );
    report.expect(
        "bulk insert, index / that with nextval()",
        own.index / of(NEXTVAL).index,
        Bound::AtMost(1.0),
    );
    bulk
}

fn small(
    cluster: &Cluster,
    client: &mut Client,
    keys: &[(String, &Key)],
    effort: &Effort,
) -> Vec<Small> {
    let mut candidates = Vec::new();
    for sessions in SESSIONS {
        for (rows, statement) in STATEMENTS {
            for (table, key) in keys {
                candidates.push((sessions, rows, statement, table, key.name));
            }
        }
    }
    let mut measured: Vec<[Vec<f64>; 3]> = candidates.iter().map(|_| Default::default()).collect();
    for round in 0..effort.small_rounds {
        eprintln!("    small inserts, round {} of {}", round + 1, effort.small_rounds);
        for ((sessions, rows, statement, table, key), figures) in
            candidates.iter().zip(&mut measured)
        {
            // Each run begins with no rows: the rows of all runs together would fill the disk.
            empty(client, table);
            let statement = format!("INSERT INTO {table} {statement}");
            let run = pgbench(cluster, &statement, *sessions, effort.insert_seconds);
            let stored = bigint(client, &format!("SELECT count(*) FROM {table}"));
            assert_eq!(stored, run.latencies.len() as i64 * i64::from(*rows), "{key}");
            let at = quantiles(run.latencies);
            let run = [run.per_second * f64::from(*rows), at(0.5), at(0.99)];
            for (figures, figure) in figures.iter_mut().zip(run) {
                figures.push(figure);
            }
        }
    }
    let title = format!(
        "Inserts of several sessions at the same time, each statement a transaction; medians of \
         {} rounds of {} s",
        effort.small_rounds, effort.insert_seconds
    );
    let columns = [
        "sessions",
        "rows per statement",
        "key",
        "rows per second",
        "median, ms",
        "99th percentile, ms",
    ];
    let mut report = Table::new(&title, &columns);
    let mut small = Vec::new();
    for ((sessions, rows, _, _, key), figures) in candidates.into_iter().zip(measured) {
        let [per_second, middle, percentile_99] = figures.map(median);
        report.row(&[
            sessions.to_string(),
            rows.to_string(),
            format!("`{key}`"),
            format!("{per_second:.0}"),
            format!("{middle:.2}"),
            format!("{percentile_99:.2}"),
        ]);
        small.push(Small { key, sessions, rows, per_second });
    }
    report.print();
    small
}

/// One run of pgbench.
struct Run {
    /// Statements per second.
    per_second: f64,
    /// Milliseconds that each took.
    latencies: Vec<f64>,
}

/// Runs a statement in so many sessions, again and again.
fn pgbench(cluster: &Cluster, statement: &str, sessions: u32, seconds: u32) -> Run {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let script = directory.path().join("insert.sql");
    fs::write(&script, format!("{statement};\n")).expect("a file");
    let mut pgbench = cluster.client_program("pgbench");
    pgbench
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=1", "--log"])
        .arg(format!("--log-prefix={}", directory.path().join("log").display()))
        .arg(format!("--client={sessions}"))
        .arg(format!("--time={seconds}"))
        .arg("--file")
        .arg(&script);
    // A line of its summary: tps = 4538.123456 (without initial connection time)
    let summary = output(&mut pgbench);
    let per_second = summary
        .lines()
        .find_map(|line| line.strip_prefix("tps = "))
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .expect("a rate");
    // Each line of the log: session, transaction, latency in microseconds ...
    let mut latencies = Vec::new();
    for file in fs::read_dir(directory.path()).expect("logs") {
        let path = file.expect("a log").path();
        if path != script {
            let log = fs::read_to_string(path).expect("a log");
            latencies.extend(log.lines().map(|line| {
                line.split(' ')
                    .nth(2)
                    .and_then(|field| field.parse::<f64>().ok())
                    .expect("a latency")
                    / 1000.0
            }));
        }
    }
    Run { per_second, latencies }
}
