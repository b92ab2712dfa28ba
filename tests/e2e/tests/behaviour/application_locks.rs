//! What a conversion of large tables locks, and what it reads and rewrites.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

use postgres::Client;
use snowflake_e2e::{Cluster, StopOnDrop, bigint, eventually};

const REFERENCING: [&str; 3] = ["copy", "rental", "review"];

/// The rows of each table. SNOWFLAKE_CONVERT_ROWS is for figures of larger ones.
fn rows() -> u32 {
    std::env::var("SNOWFLAKE_CONVERT_ROWS").map_or(400_000, |rows| rows.parse().expect("a number"))
}

/// Films, and three tables of as many rows that refer to them.
fn shop() -> Cluster {
    let cluster = Cluster::builder().set("max_wal_size", "8GB").set("autovacuum", "off").start();
    let mut client = cluster.connect();
    client.batch_execute("CREATE DATABASE shop").expect("a database");
    let rows = rows();
    let mut script = format!(
        "CREATE EXTENSION snowflake; CREATE EXTENSION snowflake_convert;
         CREATE TABLE film (id serial, title text);
         INSERT INTO film (title) SELECT 'Film ' || n FROM generate_series(1, {rows}) AS n;
         ALTER TABLE film ADD PRIMARY KEY (id);",
    );
    for table in REFERENCING {
        script += &format!(
            "CREATE TABLE {table} (film_id integer, day integer);
             INSERT INTO {table} SELECT n, n % 365 FROM generate_series(1, {rows}) AS n;
             CREATE INDEX ON {table} (film_id);
             ALTER TABLE {table} ADD FOREIGN KEY (film_id) REFERENCES film;"
        );
    }
    script += "CREATE VIEW rented AS
             SELECT film.id, title, day FROM film JOIN rental ON film_id = film.id;
         CREATE VIEW reviewed AS
             SELECT rented.*, review.day AS on_day FROM rented JOIN review ON film_id = id;
         VACUUM ANALYZE film;";
    let started = Instant::now();
    let mut shop = cluster.connect_to("shop");
    for statement in script.split_inclusive(";\n").flat_map(|lines| lines.split_inclusive(';')) {
        shop.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
    println!("made in {:.1} s", started.elapsed().as_secs_f64());
    cluster
}

/// A copy of the database, so that each way of conversion begins with the same tables.
fn copy_of(cluster: &Cluster, name: &str) -> Client {
    let create = format!("CREATE DATABASE {name} TEMPLATE shop STRATEGY file_copy");
    cluster.connect().batch_execute(&create).expect("a database");
    cluster.connect_to(name)
}

/// The locks of tables, from the weakest to the strongest.
const MODES: [&str; 8] = [
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
];

/// The strongest lock that this session holds on each table and view, as an index of `MODES`.
fn locks(client: &mut Client) -> BTreeMap<String, usize> {
    let query = "SELECT relation::regclass::text, mode FROM pg_locks
        JOIN pg_class ON pg_class.oid = relation AND relkind IN ('r', 'v') AND pg_class.oid >= 16384
        WHERE pid = pg_backend_pid() AND granted";
    let mut strongest = BTreeMap::new();
    for row in client.query(query, &[]).expect("locks") {
        let (table, mode): (String, String) = (row.get(0), row.get(1));
        let is_same = |name: &&str| name.replace(' ', "") + "LOCK" == mode.to_uppercase();
        let mode = MODES.iter().position(is_same).expect("a mode of tables");
        let most: &mut usize = strongest.entry(table).or_default();
        *most = (*most).max(mode);
    }
    strongest
}

/// The file of each table.
fn files(client: &mut Client) -> Vec<(String, i64)> {
    let query = "SELECT relname::text, relfilenode::bigint FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1";
    client.query(query, &[]).expect("files").iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Executes a statement, and says as a row of a table in Markdown what it has locked, and how long
/// it took.
fn measure(client: &mut Client, statement: &str) -> String {
    let before = locks(client);
    let started = Instant::now();
    client.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    let seconds = started.elapsed().as_secs_f64();
    let mut added = locks(client);
    added.retain(|table, mode| before.get(table).is_none_or(|held| *held < *mode));
    let mut by_mode: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (table, mode) in added {
        by_mode.entry(mode).or_default().push(table);
    }
    let said =
        by_mode.iter().rev().map(|(mode, on)| format!("{} on {}", MODES[*mode], on.join(", ")));
    let said: Vec<String> = said.collect();
    let said = if said.is_empty() { "no further one".into() } else { said.join("; ") };
    let short: Vec<&str> = statement.split_whitespace().collect();
    format!("| `{}` | {said} | {seconds:.2} |", short.join(" "))
}

fn statements(client: &mut Client, step: &str) -> Vec<String> {
    let query = "SELECT statement FROM snowflake_convert('film', dependents => 'recreate')
        WHERE step = $1";
    let rows = client.query(query, &[&step]).unwrap_or_else(|error| panic!("{error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

fn execute(client: &mut Client, statement: &str) {
    client.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
}

/// The same without the one that checks whose session it is.
fn changing_statements(client: &mut Client, step: &str) -> Vec<String> {
    let mut statements = statements(client, step);
    let check = statements.remove(0);
    assert!(check.contains("session_user"), "{check}");
    statements
}

/// Reads and writes of an application, which do not wait.
fn read_and_write(client: &mut Client) {
    let new = format!("> {}", rows());
    execute(client, "SET lock_timeout = '1s'");
    execute(client, "INSERT INTO film (title) VALUES ('new')");
    execute(client, &format!("UPDATE film SET title = 'newer' WHERE title = 'new' AND id {new}"));
    for table in REFERENCING {
        execute(client, &format!("INSERT INTO {table} SELECT max(id), 1 FROM film"));
        execute(client, &format!("UPDATE {table} SET day = 2 WHERE film_id {new}"));
        execute(client, &format!("DELETE FROM {table} WHERE film_id {new}"));
    }
    execute(client, &format!("DELETE FROM film WHERE id {new}"));
    execute(client, "SELECT FROM reviewed WHERE id = 1");
}

#[test]
fn each_table_is_rewritten_once() {
    let cluster = shop();
    let mut client = copy_of(&cluster, "by_steps");
    let (conversion, validation) =
        (changing_statements(&mut client, "convert"), changing_statements(&mut client, "validate"));
    let mut table = vec!["| Statement | Lock | Seconds |".to_owned(), "| - | - | - |".to_owned()];

    let mut rewrites = BTreeMap::<String, usize>::new();
    execute(&mut client, "BEGIN");
    for statement in &conversion {
        let old = files(&mut client);
        table.push(measure(&mut client, statement));
        for ((name, old), (_, new)) in old.into_iter().zip(files(&mut client)) {
            *rewrites.entry(name).or_default() += usize::from(old != new);
        }
    }
    let not_valid = "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND NOT convalidated";
    assert_eq!(bigint(&mut client, not_valid), 3, "foreign keys that are not checked now");
    execute(&mut client, "COMMIT");
    for name in ["film"].into_iter().chain(REFERENCING) {
        assert_eq!(rewrites[name], 1, "how often table {name} is rewritten");
    }

    let mut other = cluster.connect_to("by_steps");
    assert_eq!(validation.len(), 3, "{validation:?}");
    for statement in &validation {
        execute(&mut client, "BEGIN");
        table.push(measure(&mut client, statement));
        let name = REFERENCING.into_iter().find(|name| statement.contains(&format!(".{name} ")));
        let name = name.unwrap_or_else(|| panic!("a referencing table is validated: {statement}"));
        let held: Vec<_> =
            locks(&mut client).into_iter().map(|(name, mode)| (name, MODES[mode])).collect();
        let mut expected =
            [("film".to_owned(), "ROW SHARE"), (name.to_owned(), "SHARE UPDATE EXCLUSIVE")];
        expected.sort();
        assert_eq!(held, expected, "{statement}");
        read_and_write(&mut other);
        execute(&mut client, "COMMIT");
    }
    assert_eq!(bigint(&mut client, not_valid), 0, "foreign keys that are not valid");
    // While it runs, and not only afterwards.
    let not_yet = "UPDATE pg_constraint SET convalidated = false WHERE contype = 'f'";
    execute(&mut client, not_yet);
    std::thread::scope(|scope| {
        let validating = scope.spawn(|| {
            for statement in &validation {
                execute(&mut client, statement);
            }
        });
        let mut times = 0;
        while !validating.is_finished() {
            read_and_write(&mut other);
            times += 1;
        }
        println!("{times} rounds of reading and writing while the foreign keys were validated");
        assert!(times > 0, "the validation was too short");
    });

    table.push("| One call: | | |".into());
    for arguments in ["", ", validate => true"] {
        let database = if arguments.is_empty() { "at_once" } else { "validated" };
        let mut client = copy_of(&cluster, database);
        execute(&mut client, "BEGIN");
        table.push(measure(
            &mut client,
            &format!(
                "SELECT snowflake_convert('film', dependents => 'recreate', dry_run => \
                 false{arguments})"
            ),
        ));
        let expected = if arguments.is_empty() { 3 } else { 0 };
        assert_eq!(bigint(&mut client, not_valid), expected, "with {database}");
        execute(&mut client, "COMMIT");
    }
    println!("\n{}\n", table.join("\n"));
}

/// How often each table was read from its beginning, and its indexes were used.
fn scans(client: &mut Client, table: &str) -> (i64, i64) {
    execute(client, "SELECT pg_stat_force_next_flush()");
    let query = format!(
        "SELECT seq_scan, coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = '{table}'"
    );
    let row = client.query_one(&query, &[]).expect("statistics");
    (row.get(0), row.get(1))
}

/// A key that is bigint already: an index tells the largest key, and nothing is rewritten.
#[test]
fn a_bigint_key_is_neither_rewritten_nor_scanned() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    execute(
        &mut client,
        "CREATE TABLE film (id bigserial PRIMARY KEY, title text);
         CREATE TABLE review (
             id bigint GENERATED ALWAYS AS IDENTITY,
             film_id bigint REFERENCES film
         );
         INSERT INTO film (title) SELECT 'Film ' || n FROM generate_series(1, 100000) AS n;
         INSERT INTO review (film_id) SELECT id FROM film;",
    );
    execute(&mut client, "VACUUM ANALYZE film, review");
    let (old, before) = (files(&mut client), scans(&mut client, "film"));
    let (of_review, valid) = (
        scans(&mut client, "review"),
        "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND convalidated",
    );
    execute(&mut client, "SELECT snowflake_convert('film')");
    assert_eq!(scans(&mut client, "film").0, before.0, "a dry run scans nothing");
    execute(&mut client, "SELECT snowflake_convert('film', dry_run => false)");
    let after = scans(&mut client, "film");
    assert_eq!(after.0, before.0, "the table was scanned");
    assert!(after.1 > before.1, "no index told the largest key");
    assert_eq!(scans(&mut client, "review"), of_review, "the foreign key was checked");
    assert_eq!(files(&mut client), old, "a table was rewritten");
    assert_eq!(bigint(&mut client, valid), 1, "the foreign key was added again");

    // Without an index, it has to be scanned, but not by a dry run.
    let before = scans(&mut client, "review");
    execute(&mut client, "SELECT snowflake_convert('review')");
    assert_eq!(scans(&mut client, "review"), before, "a dry run scans nothing");
    execute(&mut client, "SELECT snowflake_convert('review', dry_run => false)");
    assert!(scans(&mut client, "review").0 > before.0, "nothing told the largest key");
    assert_eq!(files(&mut client), old, "a table was rewritten");
}

/// A query locks a view, and then its tables. It waits for the conversion, and the conversion does
/// not wait for it.
#[test]
fn queries_of_views_do_not_deadlock_with_a_conversion() {
    const SCHEMAS: usize = 5;
    let cluster = Cluster::builder().with_conversion().set("deadlock_timeout", "100ms").start();
    let mut client = cluster.connect();
    for number in 0..SCHEMAS {
        execute(
            &mut client,
            &format!(
                "CREATE SCHEMA s{number};
                 CREATE TABLE s{number}.film (id serial PRIMARY KEY, title text);
                 CREATE VIEW s{number}.titled AS SELECT id, title FROM s{number}.film;
                 CREATE VIEW s{number}.long AS
                     SELECT id FROM s{number}.titled WHERE length(title) > 10;
                 INSERT INTO s{number}.film (title) VALUES ('Metropolis'), ('Nosferatu the first')"
            ),
        );
    }
    let stop = AtomicBool::new(false);
    let queries = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for view in ["titled", "long"] {
            let (stop, queries, mut reader) = (&stop, &queries, cluster.connect());
            scope.spawn(move || {
                while !stop.load(SeqCst) {
                    for number in 0..SCHEMAS {
                        execute(&mut reader, &format!("SELECT count(*) FROM s{number}.{view}"));
                        queries.fetch_add(1, SeqCst);
                    }
                }
            });
        }
        for number in 0..SCHEMAS {
            let before = queries.load(SeqCst);
            eventually("queries", || queries.load(SeqCst) > before + 10);
            execute(
                &mut client,
                &format!(
                    "SELECT snowflake_convert(schema => 's{number}', dependents => 'recreate', \
                     dry_run => false)"
                ),
            );
        }
    });
}
