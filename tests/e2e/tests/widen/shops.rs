//! Clusters with tables whose keys are to be widened.

use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, ClusterBuilder, dump_text};

use super::shop::{DEPENDENTS, PLAIN, ROWS, SHOP, WRITES};

/// What the shop has beside foreign keys.
pub const ALSO: [&str; 2] = ["--also", "log.order_id"];

/// A session of the owner of the tables.
pub fn owner(cluster: &Cluster, database: &str) -> Client {
    cluster.config().user("app").dbname(database).connect(NoTls).expect("a session")
}

/// A cluster with a schema of role app in database postgres.
pub fn cluster(builder: ClusterBuilder) -> Cluster {
    let cluster = builder.with_conversion().start();
    cluster
        .connect()
        .batch_execute(
            "CREATE ROLE reader; CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app",
        )
        .expect("a schema");
    cluster
}

/// The same with one of everything that a key can have.
pub fn with_shop(builder: ClusterBuilder) -> Cluster {
    let cluster = cluster(builder);
    let mut client = owner(&cluster, "postgres");
    for part in [SHOP, DEPENDENTS, ROWS, "ANALYZE orders, lines, \"In Voices\", log"] {
        client.batch_execute(part).expect("a shop");
    }
    cluster
}

/// The same shop after plain ALTERs, in a database of its own.
pub fn add_altered_shop(cluster: &Cluster) {
    cluster.connect().batch_execute("CREATE DATABASE plain").expect("a database");
    let create = "CREATE SCHEMA app AUTHORIZATION app";
    cluster.connect_to("plain").batch_execute(create).expect("a schema");
    let mut plain = owner(cluster, "plain");
    for part in [SHOP, PLAIN, DEPENDENTS, ROWS] {
        plain.batch_execute(part).expect("a shop");
    }
}

/// A cluster with a key alone, and rows of about 100 bytes.
pub fn with_orders(builder: ClusterBuilder, rows: u32) -> Cluster {
    let cluster = cluster(builder);
    let create = format!(
        "CREATE TABLE orders (id serial PRIMARY KEY, item text);
         INSERT INTO orders (item) SELECT repeat('x', 60) FROM generate_series(1, {rows});
         VACUUM ANALYZE orders"
    );
    let mut client = owner(&cluster, "postgres");
    for statement in create.split(';') {
        client.batch_execute(statement).expect("a table");
    }
    cluster
}

/// What the application writes.
pub fn write(client: &mut Client, number: usize) {
    let writes = WRITES.replace("{}", &number.to_string());
    client.batch_execute(&writes).unwrap_or_else(|error| panic!("{number}: {error:?}"));
}

/// A dump without the rows.
pub fn schema(cluster: &Cluster, database: &str) -> String {
    dump_text(cluster, &["--schema-only", "--schema=app", database])
}

/// The lines of such a dump, in which the order of columns does not count.
pub fn sorted(schema: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        schema.lines().map(|line| line.trim_end_matches(',').to_owned()).collect();
    lines.sort();
    lines
}

/// All rows of the shop, in which the order of columns does not count.
pub fn content(client: &mut Client) -> String {
    let tables = ["orders", "lines", "\"In Voices\"", "log"];
    let rows = tables.map(|table| {
        let query = format!(
            "SELECT coalesce(string_agg(r, E'\\n' ORDER BY r), '')
             FROM {table} AS t, LATERAL (SELECT to_jsonb(t)::text) AS j (r)"
        );
        client.query_one(&query, &[]).expect("rows").get::<_, String>(0)
    });
    rows.join("\n\n")
}
