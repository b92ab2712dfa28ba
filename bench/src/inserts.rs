//! Rows with a primary key: in bulk, and one by one by many clients.

use std::fs;
use std::process::Stdio;
use std::time::Instant;

use postgres::Client;
use snowflake_e2e::{Cluster, bigint};

use crate::copies::{self, POSITION};
use crate::report::{Bound, Report, Table};
use crate::{Effort, cluster, median};

/// A kind of key: its name, the type and default of its column, and the oldest server that has it.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    column: &'static str,
    since: u32,
}

/// Costs nothing to make: the number of the row, which the row is made of anyway.
pub const FREE: &str = "free";
/// The default key.
pub const SNOWFLAKE: &str = "snowflake_nextval()";
const NEXTVAL: &str = "nextval()";

const KEYS: [Key; 6] = [
    Key { name: FREE, column: "bigint", since: 0 },
    Key { name: SNOWFLAKE, column: "bigint DEFAULT snowflake_nextval()", since: 0 },
    Key { name: NEXTVAL, column: "bigint DEFAULT nextval('plain')", since: 0 },
    Key { name: "nextval(), cache 32", column: "bigint DEFAULT nextval('cache_32')", since: 0 },
    Key { name: "gen_random_uuid()", column: "uuid DEFAULT gen_random_uuid()", since: 0 },
    Key { name: "uuidv7()", column: "uuid DEFAULT uuidv7()", since: 18 },
];

/// Clients that insert at the same time.
const CLIENTS: [u32; 3] = [1, 8, 32];

/// What a bulk insert took.
pub struct Bulk {
    /// The kind of key.
    pub key: &'static str,
    /// Seconds.
    pub seconds: f64,
    wal: f64,
    index: f64,
}

/// Measures both, prints tables, and returns what bulk inserts took.
pub fn measure(effort: &Effort, report: &mut Report) -> Vec<Bulk> {
    let cluster = cluster().start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE SEQUENCE plain; CREATE SEQUENCE cache_32 CACHE 32; SELECT snowflake_nextval()",
        )
        .expect("set up");
    let major = cluster.server().major();
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
    copies::measure(&cluster, &mut client, &keys, effort);
    single(&cluster, &keys[1..], effort);
    bulk
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
            client.batch_execute(&format!("TRUNCATE {table}; CHECKPOINT")).expect("an empty table");
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

fn single(cluster: &Cluster, keys: &[(String, &Key)], effort: &Effort) {
    let mut measured = vec![Vec::new(); CLIENTS.len() * keys.len()];
    for round in 0..effort.rounds {
        eprintln!("    single inserts, round {} of {}", round + 1, effort.rounds);
        for (index, figures) in measured.iter_mut().enumerate() {
            let (clients, (table, _)) = (CLIENTS[index / keys.len()], &keys[index % keys.len()]);
            figures.push(pgbench(cluster, table, clients, effort.insert_seconds));
        }
    }
    let title = format!(
        "Single inserts, each a transaction; medians of {} rounds of {} s",
        effort.rounds, effort.insert_seconds
    );
    let columns = ["clients", "key", "rows per second", "median, ms", "99th percentile, ms"];
    let mut report = Table::new(&title, &columns);
    for (index, figures) in measured.iter().enumerate() {
        let (clients, (_, key)) = (CLIENTS[index / keys.len()], &keys[index % keys.len()]);
        let middle = |figure: fn(&Inserts) -> f64| median(figures.iter().map(figure).collect());
        report.row(&[
            clients.to_string(),
            format!("`{}`", key.name),
            format!("{:.0}", middle(|inserts| inserts.per_second)),
            format!("{:.2}", middle(|inserts| inserts.median)),
            format!("{:.2}", middle(|inserts| inserts.percentile_99)),
        ]);
    }
    report.print();
}

/// One run of pgbench.
#[derive(Clone)]
struct Inserts {
    per_second: f64,
    median: f64,
    percentile_99: f64,
}

fn pgbench(cluster: &Cluster, table: &str, clients: u32, seconds: u32) -> Inserts {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let script = directory.path().join("insert.sql");
    fs::write(&script, format!("INSERT INTO {table} (item) VALUES (1);\n")).expect("a file");
    let mut pgbench = cluster.client_program("pgbench");
    pgbench
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=1", "--log"])
        .arg(format!("--log-prefix={}", directory.path().join("log").display()))
        .arg(format!("--client={clients}"))
        .arg(format!("--time={seconds}"))
        .arg("--file")
        .arg(&script)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    assert!(pgbench.status().expect("pgbench runs").success());
    // Each line of the log: client, transaction, latency in microseconds ...
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
    latencies.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share).round() as usize];
    Inserts {
        per_second: latencies.len() as f64 / f64::from(seconds),
        median: at(0.5),
        percentile_99: at(0.99),
    }
}
