//! COPY into a table with a primary key. PostgreSQL inserts many rows at a time only where no
//! default is volatile, `nextval()` excepted.

use std::time::Instant;

use postgres::Client;
use snowflake_e2e::{Cluster, bigint};

use crate::inserts::{FREE, Key, SNOWFLAKE};
use crate::report::Table;
use crate::{Effort, median};

/// IDs that are taken before, and pasted in front of the rows.
const PASTED: &str = "snowflake_nextval(count), pasted";

/// Measures, and prints a table.
pub fn measure(cluster: &Cluster, client: &mut Client, keys: &[(String, &Key)], effort: &Effort) {
    let rows = effort.rows;
    let file = |name: &str| cluster.data().join(name).display().to_string();
    let (items, pasted) = (file("items"), file("pasted"));
    client
        .batch_execute(&format!(
            "COPY (SELECT n FROM generate_series(1, {rows}) AS n) TO '{items}'"
        ))
        .expect("a file");
    let mut candidates: Vec<(&str, &str)> =
        keys.iter().map(|(table, key)| (key.name, table.as_str())).collect();
    let (table, _) = keys.iter().find(|(_, key)| key.name == SNOWFLAKE).expect("a table");
    candidates.push((PASTED, table));
    let mut measured: Vec<[Vec<f64>; 2]> = candidates.iter().map(|_| Default::default()).collect();
    for round in 0..=effort.rounds {
        eprintln!("    COPY, round {round} of {}", effort.rounds);
        for ((name, table), [seconds, wal]) in candidates.iter().zip(&mut measured) {
            client.batch_execute(&format!("TRUNCATE {table}; CHECKPOINT")).expect("an empty table");
            let before = bigint(client, POSITION);
            let started = Instant::now();
            // Making the keys counts, where they do not come from a default.
            let copy = match *name {
                FREE => format!(
                    "COPY (SELECT n, n FROM generate_series(1, {rows}) AS n) TO '{pasted}';
                     COPY {table} (id, item) FROM '{pasted}'"
                ),
                PASTED => format!(
                    "COPY (SELECT snowflake_nextval({rows}), generate_series(1, {rows})) TO '{pasted}';
                     COPY {table} (id, item) FROM '{pasted}'"
                ),
                _ => format!("COPY {table} (item) FROM '{items}'"),
            };
            client.batch_execute(&copy).expect("rows");
            let took = started.elapsed().as_secs_f64();
            if round > 0 {
                seconds.push(took);
                wal.push((bigint(client, POSITION) - before) as f64);
            }
            let stored = bigint(client, &format!("SELECT count(*) FROM {table}"));
            assert_eq!(stored, i64::from(rows), "{name}");
        }
    }
    let title = format!(
        "COPY of {rows} rows into a table with a primary key; medians of {} rounds",
        effort.rounds
    );
    let mut report = Table::new(&title, &["key", "seconds", "WAL, MB"]);
    for ((name, _), figures) in candidates.iter().zip(measured) {
        let [seconds, wal] = figures.map(median);
        report.row(&[format!("`{name}`"), format!("{seconds:.2}"), format!("{:.1}", wal / 1e6)]);
    }
    report.print();
}

/// Where the WAL is.
pub const POSITION: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
