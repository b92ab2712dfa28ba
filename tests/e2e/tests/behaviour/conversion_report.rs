//! Where a report can be asked for, and what it begins with.

use postgres::Client;
use snowflake_e2e::{Cluster, bigint, eventually};

type Rows = Vec<[Option<String>; 6]>;

fn report(client: &mut Client, arguments: &str) -> Rows {
    let query = format!(
        "SELECT kind, object, reason, remedy, rewritten::text, lock
         FROM snowflake_convert_report({arguments})"
    );
    let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.iter().map(|row| [0, 1, 2, 3, 4, 5].map(|column| row.get(column))).collect()
}

/// A report goes by the time of now: a key above that is an obstacle, on a standby too.
#[test]
fn a_report_takes_no_id_and_runs_on_a_standby() {
    let primary = Cluster::start_with_conversion();
    let mut client = primary.connect();
    client
        .batch_execute(
            "CREATE TABLE orders (id serial PRIMARY KEY, CONSTRAINT small CHECK (id < 1000000));
             CREATE TABLE items (id bigserial PRIMARY KEY, order_id integer);
             INSERT INTO orders DEFAULT VALUES; INSERT INTO items VALUES (9223372036854775807);
             CREATE VIEW all_orders AS SELECT id FROM orders;",
        )
        .expect("tables");
    let issued = "SELECT issued FROM pg_stat_snowflake";
    let before = bigint(&mut client, issued);
    let on_primary = report(&mut client, "schema => 'public'");
    assert_eq!(bigint(&mut client, issued), before, "the report has taken an ID");
    let is_named = |word: &str| {
        let mut reasons = on_primary.iter().filter_map(|row| row[2].as_deref());
        reasons.any(|reason| reason.contains(word))
    };
    for word in ["check constraint small", "holds values that are not below", "all_orders"] {
        assert!(is_named(word), "{word} is not named: {on_primary:#?}");
    }

    let standby = primary.standby();
    let mut reader = standby.connect();
    eventually("the rows reach the standby", || {
        bigint(&mut reader, "SELECT count(*) FROM pg_class WHERE relname = 'all_orders'") == 1
    });
    // The ID that a reason names is that of its time.
    let without_ids = |rows: Rows| -> Vec<String> {
        let text = rows.into_iter().map(|row| row.map(Option::unwrap_or_default).join(" | "));
        text.map(|text| text.split(|c: char| c.is_ascii_digit()).collect()).collect()
    };
    let on_standby = report(&mut reader, "schema => 'public'");
    assert_eq!(without_ids(on_standby), without_ids(on_primary));
    let one_table = report(&mut reader, "'orders'");
    assert!(one_table.iter().any(|row| row[0].as_deref() == Some("change")), "{one_table:?}");
}

/// Where IDs are ahead of the clock, the next one is above the last, and so above this key.
#[test]
fn a_report_goes_by_the_last_id_if_that_is_ahead_of_the_clock() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "SELECT snowflake_set_floor(now() + interval '1 hour'); SELECT snowflake_nextval();
             CREATE TABLE items (id bigserial PRIMARY KEY);
             INSERT INTO items VALUES (snowflake_min(now() + interval '30 minutes'))",
        )
        .expect("a table");
    let rows = report(&mut client, "schema => 'public'");
    assert!(rows.iter().all(|row| row[0].as_deref() != Some("obstacle")), "{rows:#?}");
    let later = "INSERT INTO items VALUES (snowflake_min(now() + interval '2 hours'))";
    client.batch_execute(later).expect("a row");
    let rows = report(&mut client, "schema => 'public'");
    assert!(rows.iter().any(|row| row[0].as_deref() == Some("obstacle")), "{rows:#?}");
}

#[test]
fn a_report_needs_no_preloading() {
    let cluster = Cluster::builder().with_conversion().unset("shared_preload_libraries").start();
    let mut client = cluster.connect();
    client.batch_execute("CREATE TABLE orders (id serial PRIMARY KEY)").expect("a table");
    let rows = report(&mut client, "'orders'");
    assert!(rows.iter().any(|row| row[0].as_deref() == Some("change")), "{rows:?}");
}

/// Hundreds of tables that belong to several owners are one row for each of the other owners, before
/// everything else.
#[test]
fn a_report_begins_with_each_of_the_other_owners() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE ROLE most; CREATE ROLE few; CREATE ROLE fewer;
             CREATE SCHEMA music; GRANT ALL ON SCHEMA music TO most, few, fewer;
             DO $$
             BEGIN
                 FOR n IN 1..60 LOOP
                     EXECUTE format('CREATE TABLE music.t%s (id serial PRIMARY KEY, t%s_id integer)', n, n + 1);
                     EXECUTE format('CREATE VIEW music.v%s AS SELECT id FROM music.t%1$s', n);
                     EXECUTE format('ALTER TABLE music.t%s OWNER TO %I', n,
                                    CASE WHEN n % 6 = 0 THEN 'few' WHEN n % 6 = 1 THEN 'fewer' ELSE 'most' END);
                     EXECUTE format('ALTER VIEW music.v%s OWNER TO %I', n, CASE WHEN n % 6 = 0 THEN 'few' ELSE 'most' END);
                 END LOOP;
             END $$;
             ALTER SCHEMA music OWNER TO most;",
        )
        .expect("tables");
    let rows = report(&mut client, "schema => 'music'");
    assert!(rows.len() > 150, "{}", rows.len());
    let of_owner = |owner: &str| {
        let rows = rows.iter().enumerate();
        let said = rows.filter(|(_, row)| row[2].as_deref().is_some_and(|why| why.contains(owner)));
        said.map(|(place, row)| (place, row[1].clone().unwrap_or_default())).collect::<Vec<_>>()
    };
    assert_eq!(of_owner(" to few."), [(0, "role few".into())]);
    assert_eq!(of_owner(" to fewer."), [(1, "role fewer".into())]);
}
