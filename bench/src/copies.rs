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
    let mut measured: Vec<[Vec<f64>; 3]> = candidates.iter().map(|_| Default::default()).collect();
    for round in 0..=effort.rounds {
        eprintln!("    COPY, round {round} of {}", effort.rounds);
        for ((name, table), [made, copied, wal]) in candidates.iter().zip(&mut measured) {
            client.batch_execute(&format!("TRUNCATE {table}; CHECKPOINT")).expect("an empty table");
            let keys = match *name {
                FREE => Some(format!("n, n FROM generate_series(1, {rows}) AS n")),
                PASTED => Some(format!("snowflake_nextval({rows}), generate_series(1, {rows})")),
                _ => None,
            };
            let before = bigint(client, POSITION);
            let making = Instant::now();
            if let Some(keys) = &keys {
                client
                    .batch_execute(&format!("COPY (SELECT {keys}) TO '{pasted}'"))
                    .expect("a file");
            }
            let making = making.elapsed().as_secs_f64();
            let copying = Instant::now();
            let copy = match keys {
                Some(_) => format!("COPY {table} (id, item) FROM '{pasted}'"),
                None => format!("COPY {table} (item) FROM '{items}'"),
            };
            client.batch_execute(&copy).expect("rows");
            let copying = copying.elapsed().as_secs_f64();
            if round > 0 {
                made.push(making);
                copied.push(copying);
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
    let columns = ["key", "a file with keys, seconds", "COPY, seconds", "WAL, MB"];
    let mut report = Table::new(&title, &columns);
    for ((name, _), figures) in candidates.iter().zip(measured) {
        let [made, copied, wal] = figures.map(median);
        report.row(&[
            format!("`{name}`"),
            format!("{made:.2}"),
            format!("{copied:.2}"),
            format!("{:.1}", wal / 1e6),
        ]);
    }
    report.print();
}

/// Where the WAL is.
pub const POSITION: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
