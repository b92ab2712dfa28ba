//! Nothing of the extension calls an operator or function that somebody else has put into its way.
//!
//! The script of an extension looks names up in the schema of the extension, and it runs as
//! superuser. PostgreSQL searches `pg_catalog` first, but takes what has exactly the types of the
//! arguments before what they have to be converted for: where a script compares an `oid` with a
//! `regclass`, an operator in that schema for these two types takes the place of PostgreSQL's own.
//! The queries of the library could meet such a trap in the `search_path` of the caller.
//!
//! So these tests set all of these traps, and do everything that the extension can do.

use std::process::Command;

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint, error_of, output, value, values};

use crate::extension_update::releases;

/// The schema `ids` of the extension, and the schema `first` of the caller's path; all of it
/// belongs to a role that is no superuser.
const SCHEMAS: &str = "
    SET ROLE app;
    CREATE SCHEMA ids;
    CREATE SCHEMA first;
    CREATE SCHEMA shop;
    CREATE SCHEMA traps;
    CREATE FUNCTION traps.spring(trap text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        RAISE LOG 'trap sprung: % as %', trap, current_user;
        RAISE EXCEPTION 'trap sprung: % as %', trap, current_user;
    END $$;
    RESET ROLE";

/// Arguments that a parameter of each type takes without a cast: values of the types that are
/// converted to it, and a literal, which is a text as soon as a function takes one there.
const ACCEPTED: &str = r#"
    CREATE TEMP TABLE accepted AS
    WITH several(type) AS (SELECT unnest('{bool, "\"char\"", name, text, varchar, bpchar, int2, int4, int8, numeric, float8, oid, regclass,
        regproc, regtype, regrole, regnamespace, timestamptz, timestamp, date, interval, aclitem}'::regtype[])::oid),
    plain(parameter, argument) AS (
        SELECT oid, oid FROM pg_type WHERE typtype IN ('b', 'r', 'm')
        UNION SELECT casttarget, castsource FROM pg_cast WHERE castcontext = 'i')
    SELECT * FROM plain
    UNION SELECT p.typarray, a.typarray FROM plain JOIN pg_type AS p ON p.oid = parameter JOIN pg_type AS a ON a.oid = argument
    WHERE p.typarray <> 0 AND a.typarray <> 0
    UNION SELECT oid, 'text'::regtype FROM pg_type WHERE typtype <> 'p'
    UNION SELECT pseudo, type
    FROM several, unnest('{"\"any\"", anyelement, anynonarray, anycompatible, anycompatiblenonarray}'::regtype[]::oid[]) AS pseudo
    UNION SELECT pseudo, typarray
    FROM several JOIN pg_type ON oid = type, unnest('{anyarray, anycompatiblearray}'::regtype[]::oid[]) AS pseudo;
    ANALYZE accepted"#;

/// All operators of `pg_catalog`, and the functions among these words. The traps are the same names
/// with all types that PostgreSQL's own accept inexactly, of up to three arguments; for VARIADIC,
/// of up to six, where those after the first are of one type.
const SIGNATURES: &str = r#"
    CREATE TEMP TABLE signatures AS
    SELECT true AS is_operator, oprname AS name, array_remove(ARRAY[oprleft, oprright], 0::oid) AS types,
           oprresult AS result, NULL::int AS repeated, 0 AS defaults
    FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace
    UNION ALL
    SELECT false, proname, ARRAY(SELECT unnest(proargtypes)), prorettype, CASE WHEN provariadic <> 0 AND prokind = 'f' THEN pronargs END, pronargdefaults
    FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY (string_to_array('$words', ' '));
    DELETE FROM signatures WHERE types && '{internal, cstring, record}'::regtype[]::oid[];
    CREATE TEMP TABLE traps AS
    WITH RECURSIVE calls AS (
        SELECT s.*, number, '{}'::oid[] AS arguments
        FROM signatures AS s,
             generate_series(greatest(cardinality(types) - defaults, 1), CASE WHEN repeated IS NULL THEN least(cardinality(types), 3) ELSE 6 END) AS number
        UNION
        SELECT is_operator, name, types, result, repeated, defaults, number, arguments || argument
        FROM calls JOIN accepted ON parameter = types[least(cardinality(arguments) + 1, repeated)]
        WHERE cardinality(arguments) < number AND (cardinality(arguments) < 3 OR argument = ALL (arguments[2:])))
    SELECT is_operator, name, arguments, min(result) AS result, false AS is_exact FROM calls
    WHERE cardinality(arguments) = number AND (is_operator, name, arguments) NOT IN (SELECT is_operator, name, types FROM signatures)
    GROUP BY is_operator, name, arguments
    UNION ALL
    SELECT is_operator, name, types, min(result), true FROM signatures
    WHERE NOT types && '{"\"any\""}'::regtype[]::oid[]
    GROUP BY is_operator, name, types;
    GRANT SELECT ON traps TO app"#;

/// Sets the traps in a schema. The planner looks into such a function, and springs it where no row
/// does. The statements are made before, since each operator makes PostgreSQL plan queries again.
const SET_TRAPS: &str = r#"
    SET ROLE app;
    SET check_function_bodies = off;
    DO $set$
    DECLARE
        creation text;
    BEGIN
        FOREACH creation IN ARRAY (
            WITH named AS (
                SELECT *, CASE WHEN is_operator THEN 'trap ' || row_number() OVER () ELSE name END AS function,
                       ARRAY(SELECT format_type(type, NULL) FROM unnest(arguments) AS type) AS types,
                       CASE typtype WHEN 'p' THEN 'boolean' ELSE format_type(result, NULL) END AS returned
                FROM traps JOIN pg_type ON oid = result WHERE NOT is_exact OR $with_exact)
            SELECT array_agg(format('CREATE FUNCTION $schema.%I(%s) RETURNS %s LANGUAGE sql IMMUTABLE AS %L', function,
                array_to_string(types, ', '), returned, format('SELECT CASE WHEN traps.spring(%L::pg_catalog.text) THEN NULL::%s END',
                format('$schema.%s(%s)', name, array_to_string(types, ', ')), returned)))
                || array_agg(format('CREATE OPERATOR $schema.%s (FUNCTION = $schema.%I, %s RIGHTARG = %s)', name, function,
                'LEFTARG = ' || types[cardinality(types) - 1] || ',', types[cardinality(types)])) FILTER (WHERE is_operator)
            FROM named)
        LOOP
            EXECUTE creation;
        END LOOP;
    END $set$;
    RESET check_function_bodies;
    RESET ROLE"#;

/// Tables that a conversion changes. Its types are those that PostgreSQL's operators take exactly,
/// before it and after it: an inexact expression of a user is the user's own affair.
const SHOP: &str = "
    SET ROLE app;
    CREATE TABLE shop.orders (id serial PRIMARY KEY CHECK (id > 0), item text CHECK (length(item) < 100));
    CREATE TABLE shop.lines (id serial PRIMARY KEY, order_id int NOT NULL REFERENCES shop.orders);
    CREATE INDEX ON shop.orders (abs(id), lower(item));
    CREATE TABLE shop.later (item text);
    INSERT INTO shop.orders (item) VALUES ('book'), ('pen');
    INSERT INTO shop.lines (order_id) SELECT id FROM shop.orders;
    RESET ROLE";

/// In the path of the caller, everything of PostgreSQL's own is behind the traps.
const PATH: &str = "SET search_path = first, ids, pg_catalog";

/// Statements that every role may execute.
const USE: &str = "
    SELECT ids.snowflake_nextval(), ids.snowflake_nextval(3), ids.snowflake_currval(), ids.snowflake_floor();
    SELECT ids.snowflake_parse(id), ids.snowflake_timestamp(id), ids.snowflake_datacenter_id(id), ids.snowflake_worker_id(id),
           ids.snowflake_sequence(id), ids.snowflake_json(id), ids.snowflake_from_base62(ids.snowflake_to_base62(id)),
           ids.snowflake_within(id, '2026-01-01 00:00:00+00', 'infinity'),
           ids.snowflake_parse(id, '2026-01-01 00:00:00+00'), ids.snowflake_timestamp(id, '2026-01-01 00:00:00+00')
    FROM ids.snowflake_nextval() AS id;
    SELECT ids.snowflake_make('2026-01-01 00:00:00+00', 5, 9, 0), ids.snowflake_min('2026-01-01 00:00:00+00'),
           ids.snowflake_max('2026-01-01 00:00:00+00');
    SELECT ids.snowflake_claim_node('db-1');
    SELECT ids.snowflake_claim_node('db-1');
    SELECT ids.snowflake_claim_node('db-2', 3, 4);
    SELECT ids.snowflake_release_node('db-1', 'now');
    SELECT ids.snowflake_claim_node('db-3');
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (7, 7, 'db-7', '2026-01-01 00:00:00+00');
    INSERT INTO snowflake_internal.snowflake_layout SELECT * FROM snowflake_internal.snowflake_layout;
    TABLE ids.snowflake_nodes;
    TABLE ids.snowflake_status;
    TABLE ids.pg_stat_snowflake;
    SELECT * FROM ids.snowflake_check();
    CREATE TABLE shop.visits (id bigint DEFAULT ids.snowflake_nextval());
    CREATE TRIGGER watch AFTER INSERT ON shop.visits FOR EACH ROW EXECUTE FUNCTION ids.snowflake_watch_twins('id');
    INSERT INTO shop.visits DEFAULT VALUES;
    SELECT * FROM ids.snowflake_check();
    SELECT ids.snowflake_conversion('{shop.orders}');
    SELECT ids.snowflake_reversion(schema => 'shop')";

/// Statements that a superuser may execute. The row that is replicated carries the identity of the
/// server.
const ADMINISTER: &str = "
    SELECT ids.snowflake_confirm('layout'), ids.snowflake_confirm('clock'), ids.snowflake_set_floor(ids.snowflake_floor());
    ALTER TABLE shop.visits ENABLE REPLICA TRIGGER watch;
    SET session_replication_role = replica;
    INSERT INTO shop.visits VALUES (ids.snowflake_make('2026-01-01 00:00:00+00', 5, 9, 1));
    RESET session_replication_role;
    SELECT * FROM ids.snowflake_check();
    SELECT ids.snowflake_stat_reset()";

/// Tables that statements create in an adopted schema. The last table belongs to `app`, also if a
/// superuser changes it.
const ADOPT: &str = "
    SET snowflake.adopted_schemas = 'shop, news';
    CREATE SCHEMA news;
    CREATE TABLE news.users (id bigserial PRIMARY KEY);
    CREATE TABLE news.posts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id int REFERENCES news.users);
    ALTER TABLE news.posts ADD COLUMN parent_id int REFERENCES news.posts;
    CREATE TABLE news.narrow (id serial PRIMARY KEY, user_id int REFERENCES news.users);
    CREATE TABLE news.checked (id bigserial PRIMARY KEY CHECK (id OPERATOR(pg_catalog.>) 0));
    ALTER TABLE shop.later ADD COLUMN id bigserial PRIMARY KEY;
    RESET snowflake.adopted_schemas";

/// True if the keys of [`ADOPT`] take snowflake IDs.
const ADOPTED: &str = "
    SELECT count(*) = 4
    FROM pg_attrdef JOIN pg_class AS c ON c.oid = adrelid
    WHERE pg_get_expr(adbin, adrelid) = 'ids.snowflake_nextval()'
    AND (relnamespace = 'news'::regnamespace OR c.oid = 'shop.later'::regclass)";

/// A conversion, and the way back, each by the lines that are printed.
const CONVERT: [&str; 2] = [
    "SELECT ids.snowflake_conversion('{shop.lines}')",
    "SELECT ids.snowflake_reversion('{shop.lines}')",
];

/// The words of all scripts and queries, those of former releases included.
const WORDS: &str = "find sql src tests/upgrade -type f -exec cat {} + |
    tr A-Z a-z | tr -cs a-z0-9_ '\\n' | sort -u";

/// A cluster whose database `app` has traps in `ids` and in `first`, and the extension if it is one
/// of a former release.
fn start(release: Option<&str>) -> Cluster {
    let cluster = Cluster::start();
    cluster.run("CREATE ROLE app LOGIN");
    cluster.run("CREATE DATABASE app OWNER app");
    let mut client = cluster.connect_to("app");
    client.run(SCHEMAS);
    client.run(SHOP);
    if let Some(release) = release {
        let create = format!("CREATE EXTENSION snowflake SCHEMA ids VERSION '{release}'");
        client.run(&format!("SET ROLE app; {create}; RESET ROLE"));
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let words = output(Command::new("sh").args(["-c", WORDS]).current_dir(root));
    client.run(ACCEPTED);
    client.run(&SIGNATURES.replace("$words", &words.replace('\n', " ")));
    for (schema, with_exact) in [("ids", "false"), ("first", "true")] {
        let set = SET_TRAPS.replace("$schema", schema).replace("$with_exact", with_exact);
        client.run(&set);
    }
    // As autovacuum would, in time: some queries join large parts of the catalog.
    client.run("ANALYZE");
    let traps = "SELECT count(*) * 2 - count(*) FILTER (WHERE is_exact) FROM traps";
    let traps = bigint(&mut client, traps);
    assert!(traps > 70_000, "{traps} traps");
    cluster
}

fn session(cluster: &Cluster, user: &str, database: &str) -> Client {
    let mut client = cluster.connect_as(user, database);
    client.run(PATH);
    client
}

fn sprung(cluster: &Cluster) -> Vec<String> {
    let log = cluster.log();
    let sprung = log.lines().filter_map(|line| line.split_once("LOG:  trap sprung: "));
    sprung.map(|(_, trap)| trap.to_owned()).collect()
}

#[test]
fn nothing_of_a_new_extension_springs_a_trap() {
    check(None, "CREATE EXTENSION snowflake SCHEMA ids");
}

#[test]
fn nothing_of_an_updated_extension_springs_a_trap() {
    // The update from the oldest release executes the scripts of all later ones.
    check(releases().first().map(String::as_str), "ALTER EXTENSION snowflake UPDATE");
}

/// Does everything, as a role that is no superuser and as one, with the extension as a statement
/// installs it, or updates it from a release.
fn check(release: Option<&str>, install: &str) {
    /// Objects that have a trap in their definition, and might not have sprung it yet.
    const CAUGHT: &str = "
        SELECT string_agg(pg_describe_object(classid, objid, objsubid), ', ') FROM pg_depend
        WHERE classid <> 'pg_operator'::regclass
        AND (refclassid = 'pg_operator'::regclass AND refobjid IN (SELECT oid FROM pg_operator WHERE oprnamespace <> 11)
             OR refclassid = 'pg_proc'::regclass AND refobjid IN (SELECT oid FROM pg_proc WHERE prosrc LIKE '%traps.spring(%'))";
    let cluster = start(release);
    cluster.run("CREATE DATABASE copy OWNER app TEMPLATE app");
    for (user, database) in [("app", "app"), ("postgres", "copy")] {
        let mut client = session(&cluster, user, database);
        let act = |client: &mut Client, statements: &str| {
            statements.split(';').for_each(|statement| client.run(statement));
        };
        act(&mut client, install);
        act(&mut client, USE);
        if user == "postgres" {
            act(&mut client, "ALTER TABLE shop.visits OWNER TO app");
            act(&mut client, ADMINISTER);
        }
        for print in CONVERT {
            let mut script: Vec<String> = values(&mut client, print);
            // A superuser trusts the owner of the table here.
            script.retain(|line| !line.contains("session_user"));
            assert!(script.len() > 4, "{script:?}");
            client.run(&format!("BEGIN; {}\nCOMMIT", script.join("\n")));
        }
        act(&mut client, ADOPT);
        let mut plain = cluster.connect_to(database);
        assert!(value::<bool>(&mut plain, ADOPTED), "{user}");
        assert_eq!(value::<Option<String>>(&mut plain, CAUGHT), None, "{user}");
        client.run("DROP EXTENSION snowflake CASCADE");
    }
    assert_eq!(sprung(&cluster), [""; 0]);
}

/// Without this, the tests above could not fail.
#[test]
fn a_trap_takes_the_place_of_postgresqls_own() {
    let cluster = start(None);
    let mut client = session(&cluster, "postgres", "app");
    let (script, caller) = ("SET search_path = ids, pg_temp", PATH);
    let of_class = "FROM pg_class WHERE oid";
    for (path, query, trap) in [
        (script, &*format!("SELECT {of_class} = 'pg_class'::regclass"), "ids.=(oid, regclass)"),
        (script, "SELECT FROM pg_roles WHERE pg_get_userbyid(oid) = rolname::text AND false", ""),
        (
            script,
            &format!("SELECT format('%s', relnamespace, relname) {of_class} > 4294967294"),
            "ids.format(text, oid, name)",
        ),
        (
            script,
            "SELECT pg_describe_object('pg_class'::regclass, 1259, 0)",
            "ids.pg_describe_object(regclass, integer, integer)",
        ),
        (script, "SELECT 1 = 1", ""),
        (caller, "SELECT 1 = 1", "first.=(integer, integer)"),
        (caller, "SELECT now()", "first.now()"),
    ] {
        let before = sprung(&cluster).len();
        client.run(path);
        let result = client.batch_execute(query);
        let sprung = sprung(&cluster).split_off(before);
        if trap.is_empty() {
            result.unwrap_or_else(|error| panic!("{query}: {error}"));
            assert_eq!(sprung, [""; 0], "{query}");
        } else {
            let mark = format!("{trap} as postgres");
            assert_eq!(error_of(result).message(), format!("trap sprung: {mark}"), "{query}");
            assert_eq!(sprung, [mark], "{query}");
        }
    }
}
