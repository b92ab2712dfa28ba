//! Databases move to a server with the extension, and back, by the commands of the page.

use snowflake_e2e::{
    Cluster, NEXT, Run, bigint, bigints, create_directory, explain, hosted_script, output, value,
};
use snowflake_repository::page;

use super::plain_server;

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

/// Objects of the user whose names could be taken for those of the script, and a trigger that calls
/// one of them.
const OWN: &str = "
    CREATE TYPE snowflake_colour AS ENUM ('white', 'blue');
    CREATE TYPE snowflake_parts_of_mine AS (id bigint);
    CREATE SEQUENCE snowflake_counter_of_mine;
    CREATE FUNCTION snowflake_to_text(id bigint) RETURNS text LANGUAGE sql RETURN 'ID ' || id;
    CREATE FUNCTION snowflake_timestamp(id text) RETURNS text LANGUAGE sql RETURN 'at ' || id;
    CREATE FUNCTION snowflake_script(id bigint) RETURNS text LANGUAGE sql RETURN id;
    CREATE TABLE named (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), name text,
        colour snowflake_colour DEFAULT 'blue', number bigint DEFAULT nextval('snowflake_counter_of_mine'));
    CREATE FUNCTION name_it() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN NEW.name := snowflake_to_text(NEW.id); RETURN NEW; END';
    CREATE TRIGGER name_it BEFORE INSERT ON named FOR EACH ROW EXECUTE FUNCTION name_it();
    INSERT INTO named DEFAULT VALUES;
    REVOKE EXECUTE ON FUNCTION snowflake_nextval(), snowflake_to_text FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION snowflake_nextval(), snowflake_to_text TO app;
    GRANT INSERT ON named TO app;
    GRANT USAGE ON SEQUENCE snowflake_counter_of_mine TO app;
    COMMENT ON FUNCTION snowflake_json(bigint) IS 'of mine'";

/// Every ID, and what the functions say of it.
const CONTENT: &str = "
    SELECT string_agg(format('%s %s %s %s', id, at, parts, snowflake_parse(id)), E'\\n' ORDER BY id)
    FROM orders";

/// The greatest ID of all tables.
const LAST: &str = "SELECT greatest((SELECT max(id) FROM orders), (SELECT max(id) FROM parted),
    (SELECT max(id) FROM named))";

/// Runs the commands of a section of the page, on the database of this name.
fn run_section(heading: &str, old: &Cluster, new: &Cluster, database: &str) {
    let blocks = page("docs/hosted.md").section(heading).blocks();
    let [commands] = &blocks[..] else { panic!("{heading} has one block") };
    let commands: String = commands
        .text
        .lines()
        .map(|line| line.strip_prefix("$ ").unwrap_or(line).to_owned() + "\n")
        .collect();
    let directory = new.directory().join(format!("{database}-{}", heading.replace(' ', "-")));
    create_directory(&directory);
    std::fs::write(directory.join("snowflake.sql"), hosted_script("5", "9")).expect("the script");
    let of = |cluster: &Cluster| cluster.connection(database) + " user=postgres";
    let mut shell = new.programs().shell(&commands);
    output(shell.env("OLD", of(old)).env("NEW", of(new)).current_dir(&directory));
}

/// Asserts that the new database has what the old one has, that its IDs are above those, and that
/// what is the user's and his privileges are there. Returns the next ID.
#[track_caller]
fn assert_moved(old: &Cluster, new: &Cluster, database: &str) -> i64 {
    let (mut before, mut client) = (old.connect_to(database), new.connect_to(database));
    assert_eq!(value::<String>(&mut client, CONTENT), value::<String>(&mut before, CONTENT));
    let last = bigint(&mut before, LAST);
    assert_eq!(bigint(&mut client, LAST), last);
    let next = bigint(&mut client, NEXT);
    assert!(next > last, "{next} after {last}");
    for table in ["orders", "parted", "named"] {
        let insert = format!("INSERT INTO {table} DEFAULT VALUES RETURNING id");
        assert!(bigint(&mut client, &insert) > next);
    }
    assert!(bigint(&mut client, "SELECT next_order()") > next);
    client.run("SET enable_seqscan = off; SET enable_bitmapscan = off");
    let query = "SELECT * FROM orders WHERE snowflake_timestamp(id) > '2020-01-01+00'";
    assert!(explain(&mut client, query).contains("by_time"));
    let count = "SELECT count(*) FROM seen";
    assert_eq!(bigint(&mut client, count), bigint(&mut before, count) + 1);

    let mut app = new.connect_as("app", database);
    app.run("INSERT INTO named DEFAULT VALUES");
    let named =
        "SELECT bool_and(name = 'ID ' || id AND colour = 'blue' AND number > 0)::int::bigint
                 FROM named";
    assert_eq!(bigint(&mut client, named), 1);
    let mut other = new.connect_as("other", database);
    let error = other.query_one(NEXT, &[]).expect_err("no privilege");
    assert_eq!(error.code().map(|code| code.code()), Some("42501"));
    next
}

/// Objects of the script that are there, without those that have the names of the user's.
const OF_SCRIPT: &str = "
    SELECT oid::bigint FROM pg_proc AS p WHERE proname LIKE 'snowflake%'
        AND oid::regprocedure::text NOT IN ('snowflake_to_text(bigint)', 'snowflake_timestamp(text)',
            'snowflake_script(bigint)')
        AND NOT EXISTS (SELECT FROM pg_depend
            WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
    UNION ALL SELECT oid::bigint FROM pg_class WHERE relname ~ '^snowflake_(counter|reserved)$'";

/// Two databases, with the same numbers as the new server, whose clock is behind, and which has
/// issued IDs; and then back, to a server whose clock is behind once more.
#[test]
fn databases_move_to_the_extension_and_back() {
    let hosted = plain_server().start_bare();
    let new = Cluster::builder().fake_clock().start();
    new.set_clock("-1h");
    let last = plain_server().fake_clock().start_bare();
    last.set_clock("-2h");
    let databases = ["shop", "bar"];
    for cluster in [&hosted, &new, &last] {
        cluster.run("CREATE ROLE app LOGIN; CREATE ROLE other LOGIN");
        for database in databases {
            cluster.create_database("postgres", database);
        }
    }
    let mut issued = vec![new.bigint(NEXT)];
    for database in databases {
        hosted.run_in(database, &hosted_script("5", "9"));
        hosted.run_in(database, SHOP);
        hosted.run_in(database, OWN);
        run_section("Move to the extension", &hosted, &new, database);
        issued.push(assert_moved(&hosted, &new, database));
        // Nothing is left of the script, and everything calls the extension.
        assert_eq!(bigints(&mut new.connect_to(database), OF_SCRIPT), []);
    }
    assert!(issued.is_sorted(), "{issued:?}");
    for database in databases {
        run_section("Move back", &new, &last, database);
        assert_moved(&new, &last, database);
        let mut client = last.connect_to(database);
        let extensions = "SELECT count(*) FROM pg_extension WHERE extname <> 'plpgsql'";
        assert_eq!(bigint(&mut client, extensions), 0);
    }
}
