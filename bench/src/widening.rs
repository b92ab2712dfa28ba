//! How widening a key grows with its rows, beside a plain ALTER, which locks everything as long as it
//! takes.

use std::time::Instant;

use snowflake_e2e::{Cluster, output};

use crate::effort::Effort;
use crate::report::{Bound, Report, Table};
use crate::server::{POSITION, cluster};

/// Measures both with each number of rows, the largest of which is three times that of a bulk insert.
pub fn measure(effort: &Effort, report: &mut Report) {
    let cluster = cluster().with_conversion().start();
    let mut table = Table::new(
        "Widening a key and one column that refers to it, without other load",
        &["rows", "prepare, s", "us a row", "WAL, bytes a row", "swap, s", "plain ALTER, s", "WAL"],
    );
    let sizes = [effort.rows / 10, effort.rows * 3 / 10, effort.rows, effort.rows * 3];
    let per_row = sizes.map(|rows| {
        let create = format!(
            "DROP TABLE IF EXISTS lines; DROP TABLE IF EXISTS orders;
             CREATE TABLE orders (id serial PRIMARY KEY, item text);
             INSERT INTO orders (item) SELECT repeat('x', 60) FROM generate_series(1, {rows});
             CREATE TABLE lines (order_id integer REFERENCES orders, note text);
             INSERT INTO lines SELECT id, repeat('x', 60) FROM orders;
             CREATE INDEX ON lines (order_id); ANALYZE orders, lines"
        );
        let fill = |cluster: &Cluster| {
            let mut client = cluster.connect();
            client.batch_execute(&create).expect("tables");
            client.batch_execute("VACUUM orders, lines").expect("vacuumed");
            client.batch_execute("CHECKPOINT").expect("a checkpoint");
        };
        fill(&cluster);
        let [prepare, swap] = ["prepare", "swap"].map(|goal| {
            time(&cluster, || {
                output(cluster.client_program("snowflake-widen").args([goal, "orders"]));
            })
        });
        fill(&cluster);
        let plain = time(&cluster, || {
            let alter = "BEGIN; ALTER TABLE orders ALTER id TYPE bigint;
                         ALTER TABLE lines ALTER order_id TYPE bigint; COMMIT";
            cluster.connect().batch_execute(alter).expect("altered");
        });
        let rows = f64::from(rows);
        table.row(&[
            rows.to_string(),
            format!("{:.1}", prepare.0),
            format!("{:.1}", prepare.0 * 1e6 / rows),
            format!("{:.0}", prepare.1 / rows),
            format!("{:.2}", swap.0),
            format!("{:.1}", plain.0),
            format!("{:.0}", plain.1 / rows),
        ]);
        prepare.0 / rows
    });
    table.print();
    report.expect(
        "time for a row of a key that is widened, times that with a tenth of the rows",
        per_row[3] / per_row[1],
        Bound::AtMost(1.5),
    );
}

/// Seconds, and bytes of WAL.
fn time(cluster: &Cluster, act: impl FnOnce()) -> (f64, f64) {
    let mut client = cluster.connect();
    let mut position = || client.query_one(POSITION, &[]).expect("a position").get::<_, i64>(0);
    let (before, begin) = (position(), Instant::now());
    act();
    (begin.elapsed().as_secs_f64(), (position() - before) as f64)
}
