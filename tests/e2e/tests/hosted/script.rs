//! Effects of the script where objects are there already, and objects that it leaves alone.

use std::process::Command;
use std::thread;

use postgres::Client;
use postgres::error::{DbError, SqlState};
use snowflake_e2e::{
    Cluster, NEXT, Run, assert_increasing, bigint, dump_and_restore, error_of, eventually,
    hosted_script, output, process, value,
};

use snowflake_repository::{page, tree};

use super::{plain_server, script, start};

/// The number of objects with such a name.
const OBJECTS: &str = "
    SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'snowflake%')
         + (SELECT count(*) FROM pg_proc WHERE proname LIKE 'snowflake%')
         + (SELECT count(*) FROM pg_type WHERE typname LIKE 'snowflake%')";

/// The objects of the script, with the transaction that wrote each.
const STATE: &str = "
    SELECT string_agg(what, E'\\n' ORDER BY what) FROM (
        SELECT concat(oid::regprocedure, ' ', xmin, ' ', md5(prosrc)) FROM pg_proc
        WHERE proname LIKE 'snowflake%'
        UNION ALL SELECT concat(oid::regclass, ' ', xmin, ' ', relacl) FROM pg_class
        WHERE relname LIKE 'snowflake%') AS o (what)";

/// The OIDs of the script's objects.
const OIDS: &str = "
    SELECT string_agg(what, E'\\n' ORDER BY what) FROM (
        SELECT concat(oid::regprocedure, ' ', oid) FROM pg_proc WHERE proname LIKE 'snowflake%'
        UNION ALL SELECT concat(oid::regclass, ' ', oid) FROM pg_class
        WHERE relname LIKE 'snowflake%') AS o (what)";

/// Returns the version that the script names, which is that of the extension.
fn mark() -> String {
    let manifest = page("Cargo.toml").text;
    let (_, version) = manifest.split_once("[workspace.package]\nversion = \"").expect("a version");
    let (version, _) = version.split_once('"').expect("its end");
    format!("snowflake_pg {version}, datacenter 5, worker 9")
}

/// The error of a script.
#[track_caller]
fn refusal(client: &mut Client, script: &str) -> DbError {
    error_of(client.batch_execute(script))
}

/// Runs the script, and returns what it says.
#[track_caller]
fn notice(cluster: &Cluster, database: &str, script: &str) -> String {
    let (mut client, notices) = cluster.connect_with_notices(database);
    client.run(script);
    drop(client);
    notices.iter().map(|notice| notice.message().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_wrong_number_is_an_error_before_anything_is_created() {
    let cluster = plain_server().start_bare();
    let mut client = cluster.connect();
    let numbers = ["NULL", "32", "-1", "1.5", "'01'", "''", "' 1'", "'1 1'", "E'1\\n'"];
    for pair in numbers.map(|number| [number, "1"]).into_iter().chain([["1", "32"], ["1", "NULL"]])
    {
        let error = refusal(&mut client, &hosted_script(pair[0], pair[1]));
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{pair:?}");
        assert_eq!(error.message(), "datacenter_id and worker_id go from 0 to 31");
        assert_eq!(error.hint(), Some("Write them at the top of the script."));
    }
    let error = refusal(&mut client, &hosted_script("one", "1"));
    assert_eq!(error.code(), &SqlState::UNDEFINED_COLUMN, "{error:?}");
    assert_eq!(bigint(&mut client, OBJECTS), 0);
}

#[test]
fn where_it_ran_it_does_nothing_and_with_other_numbers_only_these_change() {
    let cluster = start(plain_server());
    let mut client = cluster.connect();
    let mut ids = vec![bigint(&mut client, NEXT)];
    let (state, oids): (String, String) = (value(&mut client, STATE), value(&mut client, OIDS));
    let said = notice(&cluster, "postgres", &script());
    assert_eq!(said, format!("this database has functions of {}", mark()));
    assert_eq!(value::<String>(&mut client, STATE), state);
    let said = notice(&cluster, "postgres", &hosted_script("31", "0"));
    assert_eq!(said, format!("replaced functions of {}", mark()));
    assert_eq!(value::<String>(&mut client, OIDS), oids);
    let parts = "SELECT concat(p.id, ' ', datacenter_id, ' ', worker_id)
                 FROM snowflake_parse(snowflake_nextval()) AS p";
    let parts = value::<String>(&mut client, parts);
    let (id, identity) = parts.split_once(' ').expect("an ID");
    assert_eq!(identity, "31 0");
    ids.push(id.parse().expect("an ID"));
    assert_increasing(&ids);
}

/// An older version did other things, and had no comment and no list of its objects.
#[test]
fn functions_of_an_older_version_are_replaced_and_those_of_a_newer_one_stay() {
    let cluster = start(plain_server());
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
                 at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
             CREATE INDEX by_time ON orders (snowflake_timestamp(id));
             CREATE VIEW seen AS SELECT snowflake_parse(id) FROM orders",
    );
    let insert = "INSERT INTO orders DEFAULT VALUES RETURNING id";
    let mut ids = vec![bigint(&mut client, insert)];
    let oids: String = value(&mut client, OIDS);
    let age = "CREATE OR REPLACE FUNCTION snowflake_max(ts timestamptz) RETURNS bigint
                   LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN -1;
               COMMENT ON SEQUENCE snowflake_counter IS";
    let max = "SELECT snowflake_max('2020-06-03 09:53:38.874+00')";
    for (comment, is_older, said) in [
        ("NULL", true, "replaced functions of an old script"),
        (
            "'snowflake_pg 0.4.10, datacenter 5, worker 9'",
            true,
            "replaced functions of snowflake_pg 0.4.10, datacenter 5, worker 9",
        ),
        ("'mine'", true, "replaced functions of mine"),
        (
            "'snowflake_pg 10.10.0, datacenter 5, worker 9'",
            false,
            "this database has functions of snowflake_pg 10.10.0, datacenter 5, worker 9",
        ),
    ] {
        client.run(&format!("{age} {comment}"));
        assert_eq!(notice(&cluster, "postgres", &script()), said);
        let expected = if is_older { 1_268_118_639_735_734_271 } else { -1 };
        assert_eq!(bigint(&mut client, max), expected, "{comment}");
        assert_eq!(value::<String>(&mut client, OIDS), oids);
        ids.push(bigint(&mut client, insert));
    }
    assert_increasing(&ids);
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM seen"), 5);
}

#[test]
fn where_the_extension_is_it_does_nothing_and_where_it_is_preloaded_it_creates_it() {
    let mut cluster = Cluster::start();
    let mut client = cluster.connect();
    for database in ["preloaded", "tools", "guarded"] {
        cluster.create_database("postgres", database);
    }
    let said = "this database has extension snowflake, so the script has nothing to do";
    let before: i64 = bigint(&mut client, OBJECTS);
    assert_eq!(notice(&cluster, "postgres", &script()), said);
    assert_eq!(bigint(&mut client, OBJECTS), before);
    for _ in 0..2 {
        assert_eq!(notice(&cluster, "preloaded", &script()), said);
        assert_eq!(bigint(&mut cluster.connect_to("preloaded"), OBJECTS), before);
    }
    let mut tools = cluster.connect_to("tools");
    let create = "CREATE SCHEMA tools; CREATE EXTENSION snowflake SCHEMA tools";
    tools.run(create);
    assert_eq!(notice(&cluster, "tools", &script()), said);
    assert_eq!(bigint(&mut tools, OBJECTS), before);

    // A role that may not take IDs can migrate nevertheless.
    tools.run(
        "CREATE ROLE migrator; REVOKE EXECUTE ON FUNCTION tools.snowflake_nextval() FROM PUBLIC;
             SET ROLE migrator",
    );
    tools.run(&script());
    // One that may not create the extension gets that error, and nothing instead.
    let mut guarded = cluster.connect_to("guarded");
    guarded.run("GRANT ALL ON SCHEMA public TO migrator; SET ROLE migrator");
    let error = refusal(&mut guarded, &script());
    assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error:?}");
    assert_eq!(bigint(&mut guarded, OBJECTS), 0);
    drop((client, tools, guarded));

    // Where the library is not preloaded, or the server has no identity, the error says what to do.
    for (library, worker, advice) in [
        ("", "9", "Add snowflake_pg to shared_preload_libraries"),
        ("snowflake_pg", "-1", "Set both"),
    ] {
        let settings = [("shared_preload_libraries", library), ("snowflake.worker_id", worker)];
        cluster.restart_with(&settings);
        let error = refusal(&mut cluster.connect(), &script());
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error:?}");
        assert!(error.hint().expect("a hint").starts_with(advice), "{error:?}");
        assert_eq!(cluster.bigint(OBJECTS), before);
    }
}

/// Who may create objects in the schema could wait for the script with objects of these names.
#[test]
fn no_object_of_others_is_used_or_replaced() {
    let cluster = plain_server().start_bare();
    let mut owner = cluster.connect();
    owner.run("CREATE ROLE other LOGIN; GRANT CREATE ON SCHEMA public TO other");
    let mut other = cluster.connect_as("other", "postgres");
    let function = "FUNCTION snowflake_id(value bigint)";
    for (kind, definition) in [
        ("SEQUENCE snowflake_counter", "MINVALUE 0"),
        ("SEQUENCE snowflake_reserved", "MINVALUE 0"),
        ("TABLE snowflake_counter", "()"),
        ("TYPE snowflake_parts", "AS (id bigint)"),
        (function, "RETURNS bigint LANGUAGE sql RETURN 1"),
        ("FUNCTION snowflake_script()", "RETURNS SETOF text LANGUAGE sql AS 'SELECT ''x'''"),
    ] {
        for of_others in [true, false] {
            let creator = if of_others { &mut other } else { &mut owner };
            creator.run(&format!("CREATE {kind} {definition}"));
            let before: String = value(creator, STATE);
            let error = refusal(&mut owner, &script());
            assert!(error.message().contains("already exists"), "{error:?}");
            assert_eq!(value::<String>(&mut owner, STATE), before, "{kind}");
            owner.run(&format!("DROP {}", kind.replace("value ", "")));
        }
    }
    // Both sequences are there, but those of somebody else.
    other.run("CREATE SEQUENCE snowflake_counter; CREATE SEQUENCE snowflake_reserved");
    let error = refusal(&mut owner, &script());
    assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error:?}");
    assert!(error.message().starts_with("must be owner of public.snowflake_"), "{error:?}");
    owner.run("DROP SEQUENCE snowflake_counter, snowflake_reserved");

    // A function that a newer version adds: its owner could give it another body later.
    owner.run(&script());
    owner.run("DROP FUNCTION snowflake_script; COMMENT ON SEQUENCE snowflake_counter IS NULL");
    other.run(
        "CREATE FUNCTION snowflake_script() RETURNS SETOF text LANGUAGE sql AS 'SELECT ''x'''",
    );
    let error = refusal(&mut owner, &script());
    assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error:?}");
    assert_eq!(error.message(), "must be owner of public.snowflake_script()");

    // Objects with other names or arguments stay.
    owner.run(
        "DROP FUNCTION snowflake_script;
             CREATE FUNCTION snowflake_to_text(bigint) RETURNS text LANGUAGE sql RETURN $1::text;
             CREATE FUNCTION snowflake_timestamp(text) RETURNS text LANGUAGE sql RETURN $1",
    );
    owner.run(&script());
    assert_eq!(value::<String>(&mut owner, "SELECT snowflake_timestamp('x'::text)"), "x");
}

/// Two sessions run it at once, as two instances of an application do that migrate when they start.
#[test]
fn two_sessions_at_once_are_one_after_the_other() {
    let cluster = plain_server().start_bare();
    for (round, isolation) in ["READ COMMITTED", "REPEATABLE READ"].into_iter().enumerate() {
        let database = format!("round{round}");
        cluster.run(&format!("CREATE DATABASE {database}"));
        let mut first = cluster.connect_to(&database);
        let mut second = cluster.connect_to(&database);
        let begin = format!("BEGIN ISOLATION LEVEL {isolation}; SELECT 1");
        for client in [&mut first, &mut second] {
            client.run(&begin);
        }
        first.run(&script());
        let mut ids = vec![bigint(&mut first, NEXT)];
        let pid = process(&mut second);
        let second = thread::spawn(move || {
            second.run(&script());
            let id = bigint(&mut second, NEXT);
            second.run("COMMIT");
            id
        });
        let waits = format!(
            "SELECT count(*) FROM pg_locks WHERE pid = {pid} AND locktype = 'advisory' AND NOT granted"
        );
        eventually("it waits", || cluster.bigint(&waits) == 1);
        first.run("COMMIT");
        ids.push(second.join().expect("the second session"));
        assert_increasing(&ids);
    }
}

/// The transaction of a migration, which can also fail, of an owner who may do nothing but create
/// objects in the schema.
#[test]
fn it_is_part_of_the_transaction_of_a_migration() {
    let cluster = plain_server().start_bare();
    cluster.run(
        "CREATE ROLE app LOGIN; GRANT CREATE ON SCHEMA public TO app;
         REVOKE ALL ON DATABASE postgres FROM PUBLIC; GRANT CONNECT ON DATABASE postgres TO app",
    );
    let mut app = cluster.connect_as("app", "postgres");
    app.run("SET search_path = \"$user\", public, pg_catalog");
    let table = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
                 INSERT INTO orders SELECT FROM generate_series(1, 100)";
    for end in ["ROLLBACK", "COMMIT"] {
        app.run("BEGIN");
        app.run(&script());
        let path = value::<String>(&mut app, "SHOW search_path");
        assert_eq!(path, "\"$user\", public, pg_catalog");
        app.run(table);
        app.run(end);
        assert_eq!(bigint(&mut app, OBJECTS) > 0, end == "COMMIT");
    }
    assert_eq!(bigint(&mut app, "SELECT count(DISTINCT id) FROM orders"), 100);
    assert!(bigint(&mut app, NEXT) > bigint(&mut app, "SELECT max(id) FROM orders"));
}

/// A dump has the functions, the numbers, and where the sequences are.
#[test]
fn a_restored_database_goes_on_above_the_ids_of_its_dump() {
    let cluster = start(plain_server());
    cluster.run("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())");
    let last = cluster.bigint(NEXT);
    dump_and_restore(&cluster, "postgres", "restored");
    let said = notice(&cluster, "restored", &script());
    assert_eq!(said, format!("this database has functions of {}", mark()));
    assert!(bigint(&mut cluster.connect_to("restored"), NEXT) > last);
}

/// The command of the page that writes the numbers.
#[test]
fn the_page_writes_the_numbers_into_a_copy() {
    let text = page("docs/hosted.md").text;
    let (_, command) = text.split_once("$ sed ").expect("a command");
    let (command, _) = command.split_once(" > snowflake.sql\n").expect("the copy");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("sed {command}")]).current_dir(tree());
    assert_eq!(output(&mut shell), hosted_script("1", "2"));
}

/// The script has nothing that a client could take for a parameter, an escape or a placeholder of
/// its own.
#[test]
fn it_has_nothing_that_clients_replace() {
    let text = script();
    for mark in ["%", "?", "\\", "${", "\t", "\nGO", "\n/"] {
        assert!(!text.contains(mark), "{mark}");
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let named: Vec<&str> = text
        .match_indices(':')
        .filter(|(at, _)| {
            let before = text[..*at].chars().next_back().expect("text");
            text[at + 1..].starts_with(is_name) && !is_name(before) && before != ':'
        })
        .map(|(at, _)| &text[at..at + 20])
        .collect();
    assert_eq!(named, [""; 0]);
}
