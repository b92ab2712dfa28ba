//! A throwaway cluster to look at: `throwaway demo` shows what the extension does, `throwaway psql`
//! opens psql.

use std::env;
use std::fs;
use std::io::IsTerminal;
use std::process::{Command, ExitCode};

use postgres::Client;
use snowflake_e2e::Cluster;

const CLIENTS: u32 = 8;
const ORDERS_PER_CLIENT: u32 = 2500;
const ITEMS_PER_ORDER: i64 = 2;

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some("demo") => demo(),
        Some("psql") => psql(),
        _ => {
            eprintln!("usage: throwaway demo|psql");
            ExitCode::FAILURE
        }
    }
}

/// psql on a new cluster; the cluster goes when psql ends.
fn psql() -> ExitCode {
    // Ctrl-C is for psql, which cancels its query.
    ctrlc::set_handler(|| {}).expect("a signal handler");
    let cluster = Cluster::start();
    let mut psql = cluster.client_program("psql");
    // What is pasted must not end up in a pager.
    psql.env("PSQL_PAGER", "");
    if std::io::stdin().is_terminal() {
        eprintln!("A throwaway cluster: datacenter 5, worker 9. It is gone when you leave. Try:");
        eprintln!("    SELECT * FROM snowflake_parse(snowflake_nextval());");
    } else {
        psql.args(["--no-psqlrc", "--set=ON_ERROR_STOP=1"]);
    }
    let status = psql.status().expect("psql runs");
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Real tables, real concurrent clients, and a look at what came of it.
fn demo() -> ExitCode {
    let mut demo = Demo { cluster: Cluster::start(), failures: 0 };
    demo.run();
    if demo.failures == 0 {
        heading("Everything shown is true. The cluster is stopped and removed.");
        ExitCode::SUCCESS
    } else {
        heading(&format!("{} of the above is not true.", demo.failures));
        ExitCode::FAILURE
    }
}

struct Demo {
    cluster: Cluster,
    failures: u32,
}

impl Demo {
    fn run(&mut self) {
        let version: String = self.one("SHOW server_version");
        heading(&format!("A throwaway PostgreSQL {version}, configured with"));
        println!("    shared_preload_libraries = 'snowflake_pg'");
        println!("    snowflake.datacenter_id = 5");
        println!("    snowflake.worker_id = 9");

        heading("Two tables whose keys are Snowflake IDs");
        self.psql(
            "CREATE TABLE orders (
    started  timestamptz NOT NULL DEFAULT clock_timestamp(),  -- a little before the ID is taken
    id       bigint PRIMARY KEY DEFAULT snowflake_nextval(),
    finished timestamptz NOT NULL DEFAULT clock_timestamp(),  -- a little after
    client   int NOT NULL
);
CREATE TABLE items (
    id       bigint PRIMARY KEY DEFAULT snowflake_nextval(),
    order_id bigint NOT NULL REFERENCES orders,
    name     text NOT NULL
);",
        );

        heading(&format!(
            "{CLIENTS} concurrent clients insert {ORDERS_PER_CLIENT} orders each, with \
             {ITEMS_PER_ORDER} items"
        ));
        self.load();

        heading("The latest orders, and what their keys say");
        self.psql(
            "SELECT o.id, p.timestamp, p.datacenter_id, p.worker_id, p.sequence, o.client
FROM orders o, snowflake_parse(o.id) p
ORDER BY o.id DESC LIMIT 8;",
        );

        heading("The milliseconds with the most keys");
        self.psql(
            "SELECT snowflake_timestamp(id) AS millisecond, count(*) AS keys, count(DISTINCT \
             client) AS clients,
       max(snowflake_sequence(id)) AS last_sequence
FROM orders GROUP BY millisecond ORDER BY keys DESC, millisecond LIMIT 3;",
        );

        heading("What must be true");
        let orders = i64::from(CLIENTS * ORDERS_PER_CLIENT);
        let rows = orders * (1 + ITEMS_PER_ORDER);
        let all = "(SELECT id FROM orders UNION ALL SELECT id FROM items) AS keys";
        let count: i64 = self.one(&format!("SELECT count(*) FROM {all}"));
        let distinct: i64 = self.one(&format!("SELECT count(DISTINCT id) FROM {all}"));
        self.check(
            &format!("{count} rows in both tables have {distinct} distinct keys"),
            count == rows && distinct == rows,
        );
        let clients: i64 = self.one("SELECT count(DISTINCT client) FROM orders");
        self.check(
            &format!("{clients} clients inserted at the same time"),
            clients == i64::from(CLIENTS),
        );
        let misplaced: i64 = self.one(
            "SELECT count(*) FROM (
                SELECT started > min(finished) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS misplaced
                FROM orders) AS o WHERE misplaced",
        );
        self.check(
            &format!(
                "order by id is order by time: {misplaced} orders have a smaller key than \
                one that was finished before they started"
            ),
            misplaced == 0,
        );
        let dishonest: i64 = self.one(
            "SELECT count(*) FROM orders
             WHERE snowflake_timestamp(id) NOT BETWEEN date_trunc('milliseconds', started) AND finished",
        );
        self.check(
            &format!(
                "{dishonest} keys carry a time that is not between start and finish of their order"
            ),
            dishonest == 0,
        );
        let strangers: i64 = self.one(
            "SELECT count(*) FROM orders WHERE (snowflake_datacenter_id(id), \
             snowflake_worker_id(id)) <> (5, 9)",
        );
        self.check(
            &format!("{strangers} keys name another datacenter or worker than 5 and 9"),
            strangers == 0,
        );
        let remade: i64 = self.one(
            "SELECT count(*) FROM orders o, snowflake_parse(o.id) p
             WHERE snowflake_make(p.timestamp, p.datacenter_id, p.worker_id, p.sequence) = o.id",
        );
        self.check(
            &format!("{remade} keys of {orders} orders can be made again from their parts"),
            remade == orders,
        );
    }

    fn load(&self) {
        let script = self.cluster.directory().join("load.sql");
        fs::write(
            &script,
            format!(
                "WITH new_order AS (INSERT INTO orders (client) VALUES (:client_id) RETURNING id)
INSERT INTO items (order_id, name) SELECT id, 'item ' || n FROM new_order, generate_series(1, {ITEMS_PER_ORDER}) n;\n"
            ),
        )
        .expect("a directory to write to");
        let mut pgbench = self.cluster.client_program("pgbench");
        pgbench.args(["--no-vacuum", "--jobs=2", "--protocol=prepared"]);
        pgbench
            .arg(format!("--client={CLIENTS}"))
            .arg(format!("--transactions={ORDERS_PER_CLIENT}"));
        pgbench.arg("--file").arg(&script);
        run(&mut pgbench);
    }

    /// Shows a command and what it prints.
    fn psql(&self, command: &str) {
        for line in command.lines() {
            println!("    {line}");
        }
        println!();
        let mut psql = self.cluster.client_program("psql");
        run(psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--command", command]));
    }

    fn one<T: for<'a> postgres::types::FromSql<'a>>(&self, query: &str) -> T {
        let mut client: Client = self.cluster.connect();
        client.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}")).get(0)
    }

    fn check(&mut self, statement: &str, holds: bool) {
        println!("    {} {statement}", if holds { "yes:" } else { "NO: " });
        self.failures += u32::from(!holds);
    }
}

fn heading(text: &str) {
    println!("\n\x1b[1m{text}\x1b[0m");
}

fn run(command: &mut Command) {
    let status = command.status().expect("the program is there");
    assert!(status.success(), "{command:?} failed");
}
