//! A database moves to a server with the extension, by the commands of the page.

use std::process::Command;

use snowflake_e2e::{Cluster, NEXT, bigint, bigints, create_directory, explain, output, value};
use snowflake_repository::pages;

use super::{install, plain_server, script, start_without};

const SHOP: &str = "
    CREATE TABLE orders (
        id bigint PRIMARY KEY DEFAULT snowflake_nextval()
            CHECK (snowflake_within(id, '2020-01-01+00', 'infinity')),
        at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
        parts jsonb GENERATED ALWAYS AS (snowflake_json(id)) STORED
    );
    CREATE INDEX by_time ON orders (snowflake_timestamp(id));
    CREATE VIEW seen AS SELECT id, snowflake_parse(id) AS parts FROM orders
        WHERE snowflake_within(id, '2020-01-01+00', 'infinity');
    CREATE TABLE parted (id bigint PRIMARY KEY DEFAULT snowflake_nextval()) PARTITION BY RANGE (id);
    CREATE TABLE parted_new PARTITION OF parted
        FOR VALUES FROM (snowflake_min('2020-01-01+00')) TO (snowflake_max('2070-01-01+00'));
    CREATE FUNCTION next_order() RETURNS bigint LANGUAGE sql RETURN public.snowflake_nextval();
    INSERT INTO orders SELECT FROM generate_series(1, 5000);
    INSERT INTO parted SELECT FROM generate_series(1, 5000);";

/// Every ID, and what the functions say of it.
const CONTENT: &str = "
    SELECT string_agg(format('%s %s %s %s', id, at, parts, snowflake_parse(id)), E'\\n' ORDER BY id)
    FROM orders";

/// The commands that move a database, of the page that has them.
fn commands() -> String {
    let blocks = pages().into_iter().flat_map(|page| page.blocks());
    let moves: Vec<_> =
        blocks.filter(|block| block.text.contains("DROP SEQUENCE snowflake_counter")).collect();
    assert_eq!(moves.len(), 1);
    let lines = moves[0].text.lines();
    lines.map(|line| line.strip_prefix("$ ").unwrap_or(line).to_owned() + "\n").collect()
}

/// The clock of the new server is behind.
#[test]
fn a_dump_becomes_one_of_the_extension_in_one_transaction() {
    let hosted = start_without(plain_server());
    let new = Cluster::builder().fake_clock().start();
    new.set_clock("-1h");
    for cluster in [&hosted, &new] {
        cluster.connect().batch_execute("CREATE DATABASE shop").expect("a database");
    }
    install(&hosted, "shop");
    let mut old = hosted.connect_to("shop");
    old.batch_execute(SHOP).expect("a schema");
    let last = bigint(&mut old, NEXT);

    let directory = new.directory().join("move");
    create_directory(&directory);
    let of = |cluster: &Cluster| cluster.connection("shop") + " user=postgres";
    let mut shell = Command::new("sh");
    let bin = new.programs().bin().display().to_string();
    let path = std::env::var("PATH").expect("a path");
    shell.env("PATH", format!("{bin}:{path}")).env("PSQLRC", "/dev/null");
    if let Some(libraries) = new.programs().own_libraries() {
        shell.env("LD_LIBRARY_PATH", libraries);
    }
    shell.env("OLD", of(&hosted)).env("NEW", of(&new)).current_dir(&directory);
    output(shell.args(["-e", "-c", &commands()]));

    let content = |cluster: &Cluster| value::<String>(&mut cluster.connect_to("shop"), CONTENT);
    assert_eq!(content(&new), content(&hosted));
    let mut client = new.connect_to("shop");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM parted"), 5000);
    let next = bigint(&mut client, NEXT);
    assert!(next > last, "{next} after {last}");
    for table in ["orders", "parted"] {
        let insert = format!("INSERT INTO {table} DEFAULT VALUES RETURNING id");
        assert!(bigint(&mut client, &insert) > last);
    }
    assert!(bigint(&mut client, "SELECT next_order()") > last);
    // Nothing is left of the script, and everything calls the extension.
    let strange = bigints(
        &mut client,
        "SELECT oid::bigint FROM pg_proc AS p WHERE proname LIKE 'snowflake%' AND NOT EXISTS (
             SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
         UNION ALL SELECT oid::bigint FROM pg_class WHERE relname ~ '^snowflake_(counter|reserved)$'",
    );
    assert_eq!(strange, []);
    client.batch_execute("SET enable_seqscan = off; SET enable_bitmapscan = off").expect("set");
    let query = "SELECT * FROM orders WHERE snowflake_timestamp(id) > '2020-01-01+00'";
    assert!(explain(&mut client, query).contains("by_time"));
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM seen"), 5001);
}
