//! docs/migrate.md: each part is followed to the letter, on a server of its own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, Run, beside, bigint, bigints, eventually, failing, value};
use snowflake_repository::{Page, page};

use super::documents::{MIGRATIONS, offset_to, run_block};

/// The parts of the page, each with its heading: what comes up to the next heading of any level.
fn parts() -> Vec<(String, Page)> {
    let mut parts: Vec<(String, Page)> = Vec::new();
    let mut within_block = false;
    for line in page(MIGRATIONS).text.split_inclusive('\n') {
        within_block ^= line.starts_with("```");
        let heading = line.trim_start_matches('#').trim();
        if !within_block && line.starts_with('#') {
            parts.push((heading.into(), Page { name: MIGRATIONS.into(), text: String::new() }));
        } else if let Some((_, part)) = parts.last_mut() {
            part.text += line;
        }
    }
    parts
}

/// Does what a part of the page says, in its order: runs the SQL and compares what it prints, puts
/// configurations into postgresql.conf, and restarts the server for them.
#[track_caller]
fn follow(heading: &str, cluster: &mut Cluster) {
    let (_, part) = parts().into_iter().find(|(other, _)| other == heading).expect("a part");
    let blocks = part.blocks();
    for (index, block) in blocks.iter().enumerate() {
        match &*block.language {
            "sql" => _ = run_block(&part, index, cluster, cluster.directory()),
            "ini" => {
                let lines = block.text.lines().map(|line| line.split_once(" = "));
                let settings: Vec<_> = lines.map(|line| line.expect("name = value")).collect();
                let unquoted =
                    settings.iter().map(|(name, value)| (*name, value.trim_matches('\'')));
                cluster.configure(&unquoted.collect::<Vec<_>>());
                cluster.restart();
            }
            _ => {}
        }
    }
}

/// A server that has never had the extension.
fn server_before() -> Cluster {
    let builder = Cluster::builder().fake_clock().without_identity();
    builder.unset("shared_preload_libraries").start_bare()
}

#[test]
fn every_part_with_statements_is_followed() {
    for (heading, part) in parts() {
        if part.blocks().iter().any(|block| ["sql", "ini"].contains(&&*block.language)) {
            let call = format!("follow(\"{heading}\", ");
            assert!(include_str!("migrations.rs").contains(&call), "{heading}");
        }
    }
}

/// A client that knows only UUIDs inserts while everything is done that the page says of it.
#[test]
fn uuid_keys_are_replaced_while_a_client_inserts() {
    let mut cluster = Cluster::start();
    follow("From UUID keys", &mut cluster);
    let written = AtomicUsize::new(0);
    let config = cluster.config();
    let insert = |_, stop: &AtomicBool| {
        let mut unchanged = config.connect(NoTls).expect("a session");
        let insert = "INSERT INTO customers (name) VALUES ('unchanged') RETURNING id::text";
        while !stop.load(Ordering::Relaxed) {
            let id: String = value(&mut unchanged, insert);
            unchanged.run(&format!("INSERT INTO invoices VALUES ('{id}', 40)"));
            written.fetch_add(1, Ordering::Relaxed);
        }
    };
    beside(1, insert, || {
        let writes = || {
            let before = written.load(Ordering::Relaxed);
            eventually("it writes", || written.load(Ordering::Relaxed) > before + 10);
        };
        writes();
        follow("Add the second key", &mut cluster);
        writes();
        follow("Fill the second key", &mut cluster);
        writes();
    });
    let mut client = cluster.connect();
    let right = "SELECT count(*) FROM invoices JOIN customers
        ON (customers.id, customers.key) = (customer_id, customer_key)
        WHERE amount = 40 AND snowflake_timestamp(key) BETWEEN created_at - interval '1 ms' AND now()";
    assert_eq!(bigint(&mut client, right), written.into_inner() as i64);
    client.run("DELETE FROM invoices WHERE amount = 40");
    // A client that was not changed, and one that was.
    client.run(
        "INSERT INTO invoices (customer_id, amount) SELECT id, 20 FROM customers LIMIT 1;
         INSERT INTO invoices (customer_key, amount) SELECT key, 30 FROM customers LIMIT 1",
    );
    let joined = "SELECT count(*) FROM invoices
        JOIN customers ON (customers.id, customers.key) = (customer_id, customer_key)";
    assert_eq!(bigint(&mut client, joined), 5);
    follow("Make it the primary key", &mut cluster);
    let joined = "SELECT count(*) FROM invoices JOIN customers ON customer_key = key";
    assert_eq!(bigint(&mut client, joined), 5);
}

/// More rows of one time than a millisecond has IDs, and rows from before the epoch, get keys of
/// their own in the order of their times.
#[test]
fn the_second_key_differs_whatever_the_times_are() {
    let mut cluster = Cluster::start();
    follow("From UUID keys", &mut cluster);
    follow("Add the second key", &mut cluster);
    let mut client = cluster.connect();
    client.run(
        "INSERT INTO customers (created_at, key)
             SELECT '2001-01-01+00'::timestamptz + n % 7 * interval '1 day', NULL
             FROM generate_series(1, 5000) AS n;
         INSERT INTO customers (created_at, key)
             SELECT '2020-06-03 12:00:00+00', NULL FROM generate_series(1, 10000)",
    );
    // The unique index is built.
    follow("Fill the second key", &mut cluster);
    let times = "SELECT count(*) FROM customers
        WHERE snowflake_timestamp(key) - created_at BETWEEN '-1 ms' AND '2 ms'";
    assert_eq!(bigint(&mut client, times), 10_003);
    let back = "SELECT count(*) FROM
        (SELECT created_at < lag(created_at) OVER (ORDER BY key) AS is_back FROM customers) AS c
        WHERE is_back";
    assert_eq!(bigint(&mut client, back), 0);
}

/// Objects of pgEdge's extension in a database: the schema, a function in the place of its own, and
/// a table with IDs that it has issued (136169504773246976 is the documentation's example in the
/// order of bits of later versions; 413334082185859072 is one of Supabase's pull request 2050).
const PGEDGE: &str = "
    CREATE SCHEMA snowflake;
    CREATE FUNCTION snowflake.nextval(regclass) RETURNS bigint LANGUAGE sql
        AS 'SELECT pg_catalog.nextval($1)';
    CREATE TABLE orders (id bigserial PRIMARY KEY, item text);
    ALTER TABLE orders ALTER COLUMN id SET DEFAULT snowflake.nextval('orders_id_seq');
    INSERT INTO orders VALUES (1, 'from before'), (136169504773246976, 'tea');
    SELECT setval('orders_id_seq', 413334082185859071);
    INSERT INTO orders (item) VALUES ('milk')";

/// The time in the last ID of the other extension, 2026-02-14 14:02:04+00, as Unix time in s.
const LAST_OF_PGEDGE: u64 = 1_771_077_724;

/// The clock is 50 s behind that time.
#[test]
fn ids_of_pgedges_extension_and_ours_stay_apart() {
    let mut cluster = server_before();
    cluster.configure(&[("snowflake.node", "1")]);
    cluster.run(PGEDGE);
    follow("Stop the old generator", &mut cluster);
    cluster.set_clock(&offset_to(LAST_OF_PGEDGE - 50));
    follow("Start the new one", &mut cluster);
    assert_eq!(failing(&mut cluster.connect()), [""; 0]);
    let mut client = cluster.connect();
    let ids = bigints(&mut client, "SELECT id FROM orders ORDER BY id");
    assert_eq!(ids[..3], [1, 136169504773246976, 413334082185859072]);
    // Where their setting was left, the server starts, but a reload reports it.
    cluster.assert_logged("invalid configuration parameter name \"snowflake.node\"");
    cluster.reload();
    eventually("the reload reports an error", || cluster.log().contains("contains errors"));

    // Another server goes on with the other extension, as node 2.
    let both = "INSERT INTO orders (id, item)
        SELECT snowflake_make(clock_timestamp(), 0, 2, count), 'theirs' FROM generate_series(0, 4095) AS count;
        INSERT INTO orders (item) SELECT 'ours' FROM generate_series(1, 10000);";
    (0..3).for_each(|_| client.run(both));
}

const INSTAGRAM: &str = "
    CREATE SCHEMA shard5;
    CREATE SEQUENCE shard5.photos_id_seq;
    CREATE FUNCTION shard5.next_id() RETURNS bigint LANGUAGE sql AS $$
        SELECT ((floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1314220021721) << 23)
             | (5 << 10)
             | (nextval('shard5.photos_id_seq') % 1024)
    $$;
    CREATE TABLE shard5.photos (id bigint PRIMARY KEY DEFAULT shard5.next_id(), title text);
    INSERT INTO shard5.photos VALUES (11637205501278089, 'harbor');
    INSERT INTO shard5.photos (title) VALUES ('bridge')";

#[test]
fn ids_of_instagrams_functions_and_ours_stay_apart() {
    let mut cluster = server_before();
    cluster.run(INSTAGRAM);
    follow("From functions like Instagram's", &mut cluster);
    assert_eq!(failing(&mut cluster.connect()), [""; 0]);
    cluster.run(
        "INSERT INTO shard5.photos SELECT shard5.next_id(), 'old' FROM generate_series(1, 500);
         INSERT INTO shard5.photos (title) SELECT 'new' FROM generate_series(1, 500)",
    );
    let until = "SELECT extract(year FROM ends)::bigint FROM snowflake_status";
    assert_eq!(cluster.bigint(until), 2046);
}

/// A process of an application that makes IDs of Discord's layout itself, as datacenter 1 and
/// worker 0, and inserts them.
fn insert_own_ids(client: &mut Client, stop: &AtomicBool) {
    const DISCORDS_EPOCH: u64 = 1_420_070_400_000;
    let (mut last, mut sequence) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
        let time = since_1970.as_millis() as u64 - DISCORDS_EPOCH;
        sequence = if time > last { 0 } else { sequence + 1 };
        last = time;
        let id = (time << 22 | 1 << 17 | sequence) as i64;
        client.execute("INSERT INTO messages VALUES ($1, 'own')", &[&id]).expect("a new ID");
    }
}

#[test]
fn ids_of_applications_and_ours_stay_apart() {
    let mut cluster = server_before();
    cluster.run(
        "CREATE TABLE messages (id bigint PRIMARY KEY, body text);
         INSERT INTO messages VALUES (175928847299117063, 'hello')",
    );
    follow("From generators in applications", &mut cluster);
    assert_eq!(failing(&mut cluster.connect()), [""; 0]);
    let insert = |_, stop: &AtomicBool| insert_own_ids(&mut cluster.connect(), stop);
    beside(1, insert, || {
        let mut client = cluster.connect();
        let insert = "INSERT INTO messages (body) VALUES ('default')";
        (0..1000).for_each(|_| client.run(insert));
    });
    let count = "SELECT count(*) FROM messages WHERE body = 'own'";
    assert!(cluster.bigint(count) > 100);
}
