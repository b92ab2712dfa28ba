//! The functions that decode, compared with those of the extension in another database.

use postgres::{Client, SimpleQueryMessage};
use snowflake_e2e::{Cluster, Run, bigint, explain};

use super::{install, plain_server, start};

/// IDs at the ends of every field, one that is known, and others; and what is none.
fn ids() -> Vec<String> {
    let ends = [0, 12, 17, 22].map(|bits| [(1i64 << bits) - 1, 1 << bits]).concat();
    let others = [i64::MIN, -1, 1_268_118_639_732_232_192, i64::MAX - 4_194_303, i64::MAX];
    let ids = ends.into_iter().chain(others).map(|id| id.to_string());
    ids.chain(["NULL".into()]).collect()
}

/// Times at the ends of the timestamp field, within milliseconds, and those that are none.
const TIMES: [&str; 17] = [
    "NULL",
    "-infinity",
    "4713-01-01 00:00:00+00 BC",
    "1969-12-31 23:59:59.9999+00",
    "2010-11-04 01:42:54.656999+00",
    "2010-11-04 01:42:54.657+00",
    "2010-11-04 01:42:54.657001+00",
    "2020-06-03 09:53:38.873999+00",
    "2020-06-03 09:53:38.874+00",
    "2020-06-03 09:53:38.874001+00",
    "2080-07-10 17:30:30.207999+00",
    "2080-07-10 17:30:30.208+00",
    "2080-07-10 17:30:30.208001+00",
    "2080-07-10 17:30:30.208999+00",
    "2080-07-10 17:30:30.209+00",
    "294276-12-31 23:59:59.999999+00",
    "infinity",
];

/// Returns the result of a query as text, or the error.
fn result(client: &mut Client, query: &str) -> String {
    match client.simple_query(query) {
        Ok(messages) => {
            let rows = messages.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL")),
                _ => None,
            });
            rows.collect::<Vec<_>>().join("\n")
        }
        Err(error) => {
            let error = error.as_db_error().expect("an error of the server");
            format!("{} {}: {:?}", error.code().code(), error.message(), error.detail())
        }
    }
}

fn queries() -> Vec<String> {
    let ids = ids();
    let times = TIMES.map(|time| if time == "NULL" { time.into() } else { format!("'{time}'") });
    let mut queries = Vec::new();
    for id in &ids {
        for function in ["parse", "timestamp", "json"] {
            queries.push(format!("SELECT snowflake_{function}({id})"));
        }
        queries.push(format!("SELECT p.* IS NULL FROM snowflake_parse({id}) AS p"));
    }
    for time in &times {
        queries.push(format!("SELECT snowflake_min({time})"));
        queries.push(format!("SELECT snowflake_max({time})"));
        for before in &times {
            for id in &ids {
                queries.push(format!("SELECT snowflake_within({id}, {time}, {before})"));
            }
        }
    }
    // Many IDs at once: of every bit, and of every part of a second.
    for function in [
        "snowflake_parse(id)",
        "snowflake_json(id)",
        "snowflake_min(snowflake_timestamp(id))",
        "snowflake_max(snowflake_timestamp(id))",
    ] {
        let ids = "SELECT id & 9223372036854775807 FROM generate_series(-9223372036854775000, 9223372036854775000, 922337203685477777) AS id
                   UNION ALL SELECT 1268118639732232192 + (i << 22) FROM generate_series(0, 1000) AS i
                   UNION ALL SELECT 9223372036854775807 - (i << 22) FROM generate_series(0, 1000) AS i
                   UNION ALL SELECT (hashint8extended(i, 1) & 9223372036854775807) FROM generate_series(1, 5000) AS i";
        queries.push(format!("SELECT {function} FROM ({ids}) AS ids (id)"));
    }
    queries.push(
        "SELECT format('%s(%s) %s %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid),
                       provolatile)
         FROM pg_proc WHERE proname IN ('snowflake_parse', 'snowflake_timestamp', 'snowflake_json', 'snowflake_min',
             'snowflake_max', 'snowflake_within', 'snowflake_nextval') AND pronargs = CASE proname
             WHEN 'snowflake_nextval' THEN 0 WHEN 'snowflake_within' THEN 3 ELSE 1 END
         ORDER BY 1"
            .into(),
    );
    queries
}

#[test]
fn every_result_and_error_is_that_of_the_extension() {
    let cluster = Cluster::start();
    cluster.run("CREATE DATABASE hosted");
    install(&cluster, "hosted");
    let (mut extension, mut hosted) = (cluster.connect(), cluster.connect_to("hosted"));
    let queries = queries();
    for zone in ["UTC", "America/St_Johns"] {
        for client in [&mut extension, &mut hosted] {
            client.run(&format!("SET TimeZone = '{zone}'"));
        }
        for query in &queries {
            let expected = result(&mut extension, query);
            assert_eq!(result(&mut hosted, query), expected, "{query}");
        }
    }
    println!("{} queries", queries.len());
    let types = "SELECT string_agg(format('%s %s', attname, atttypid::regtype), ', ' ORDER BY attnum) FROM pg_attribute
                 WHERE attrelid = 'snowflake_parts'::regclass";
    assert_eq!(result(&mut hosted, types), result(&mut extension, types));
}

#[test]
fn an_index_serves_within() {
    let cluster = start(plain_server());
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item integer,
             day date GENERATED ALWAYS AS ((snowflake_timestamp(id) AT TIME ZONE 'UTC')::date) STORED);
         CREATE INDEX by_time ON orders (snowflake_timestamp(id));
         INSERT INTO orders (item) SELECT generate_series(1, 10000);
         ANALYZE orders;
         SET enable_seqscan = off; SET enable_bitmapscan = off;
         PREPARE since (timestamptz) AS SELECT * FROM orders WHERE snowflake_within(id, $1, 'infinity');
         SET plan_cache_mode = force_generic_plan;",
    );
    for query in [
        "SELECT * FROM orders WHERE snowflake_within(id, '2020-01-01', '2021-01-01')",
        "SELECT * FROM orders WHERE snowflake_within(id, now() - interval '1 day', now())",
        "EXECUTE since('2026-01-01')",
    ] {
        let plan = explain(&mut client, query);
        let condition = plan.lines().find(|line| line.contains("Index Cond:"));
        let condition = condition.unwrap_or_else(|| panic!("{query}: {plan}"));
        assert!(condition.contains("id >= ") && condition.contains("id <= "), "{plan}");
        assert!(!plan.contains("Filter:"), "{plan}");
    }
    let by_time = "SELECT * FROM orders WHERE snowflake_timestamp(id) > '2026-01-01'";
    assert!(explain(&mut client, by_time).contains("by_time"));
    let count = "SELECT count(*) FROM orders WHERE snowflake_within(id, now() - interval '1 hour', 'infinity')";
    assert_eq!(bigint(&mut client, count), 10_000);
}
