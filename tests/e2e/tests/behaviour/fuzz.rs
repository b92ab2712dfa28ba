//! Every function of the extension with extreme and random arguments: errors that say what is
//! wrong, and no other.

use snowflake_e2e::{Cluster, Run, seed};

/// Calls of each function.
const CALLS: usize = 10_000;

/// Calls that one query makes.
const BATCH: usize = 500;

/// Literals of a type that are unusual.
fn extremes(of: &str) -> Vec<&'static str> {
    let literals = match of {
        "bigint" => {
            "NULL | 0 | 1 | -1 | 9223372036854775807 | -9223372036854775808 | 4194303 |
             1268118639732232192"
        }
        "integer" => "NULL | 0 | 1 | -1 | 2147483647 | '-2147483648' | 5 | 12 | 24 | 31 | 63 | 64",
        "boolean" => "NULL | true | false",
        "timestamp with time zone" => {
            "NULL | 'infinity' | '-infinity' | 'epoch' | '4713-01-01 BC' | now() |
             '294276-12-31 23:59:59.999999+00' | '1969-12-31 23:59:59.999999+00' |
             '2010-11-04 01:42:54.657+00' | '2080-07-10 17:30:30.208999+00'"
        }
        "text" => {
            "NULL | '' | ' ' | 'layout' | 'clock' | 'system_identifier' | 'AzL8n0Y58m7' |
             'zzzzzzzzzzz' | repeat('9', 100000) | repeat('ß', 11) | '日本語日本語日本語日本' |
             E'\\u0001\\u202e' | '%s%n%1$I' | '😀'"
        }
        "name" => {
            "NULL | '' | 'id' | 'Id\"\"' | repeat('ü', 40) | '%I' | 'ctid' | 'xmin' | 'note' |
             '\"; DROP'"
        }
        "regclass" => {
            "NULL | 0 | 1 | 4294967295 | 'pg_class' | 'plain' | '\"Odd \"\"Name%s\"' | 'parted' |
             'a_view' | 'a_sequence' | 'an_index' | 'a_matview' | 'kept'"
        }
        "regclass[]" => {
            "NULL | '{}' | '{NULL}' | '{0,1,4294967295}' | '{{1},{2}}' | ARRAY['plain'::regclass] |
             ARRAY['pg_class'::regclass, 'kept', 'parted', 'a_view', 'a_sequence', 'an_index']"
        }
        "jsonb" => {
            r#"NULL | '[]' | '[{}]' | '[{"owner": 1, "step": 2, "kind": "", "rel": 4294967295}]' |
             '[{"owner": 10, "step": 1, "kind": "DO", "text": "$do$", "rel": 1259}]'"#
        }
        "regnamespace" => "NULL | 0 | 1 | 4294967295 | 'public' | 'pg_catalog'",
        other => panic!("no extremes of {other}"),
    };
    literals.split(" |").map(str::trim_start).collect()
}

fn random(random: &mut fastrand::Rng, of: &str) -> String {
    match of {
        _ if random.bool() => random.choice(extremes(of)).expect("some").to_owned(),
        "bigint" => format!("({}::bigint)", random.i64(..) >> random.u32(0..64))
            .replace("(-9223372036854775808", "(-9223372036854775807"),
        "integer" => format!("'{}'", random.i32(..) >> random.u32(0..32)),
        "timestamp with time zone" => {
            format!("to_timestamp({})", random.i64(..) >> random.u32(24..64))
        }
        "text" => {
            let length = random.usize(0..20);
            let text: String = (0..length)
                .map(|_| if random.bool() { random.alphanumeric() } else { random.char('!'..) })
                .collect();
            format!("'{}'", text.replace('\'', "''").replace('\\', "/"))
        }
        _ => random.choice(extremes(of)).expect("some").to_owned(),
    }
}

/// The functions of the extension, and the types of their arguments. Only PostgreSQL itself can
/// call what takes an internal.
const FUNCTIONS: &str = "
    SELECT p.oid::regproc::text,
        ARRAY(SELECT format_type(of, NULL) FROM unnest(proargtypes) WITH ORDINALITY AS a (of, n) ORDER BY n)
    FROM pg_depend JOIN pg_proc AS p ON classid = 'pg_proc'::regclass AND objid = p.oid
    JOIN pg_extension ON refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid
        AND extname LIKE 'snowflake%'
    WHERE prorettype <> 'internal'::regtype ORDER BY p.oid";

#[test]
fn no_argument_leads_to_an_unexpected_error() {
    let mut rng = fastrand::Rng::with_seed(seed());
    let cluster = Cluster::builder()
        .set("snowflake.max_wait", "0")
        .set("snowflake.max_burst", "-1")
        .set("fsync", "off")
        .start();
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE plain (id serial PRIMARY KEY, note text);
         CREATE TABLE kept (id bigint DEFAULT snowflake_nextval(), note text);
         CREATE TABLE \"Odd \"\"Name%s\" (id int, \"Id\"\"\" int GENERATED ALWAYS AS IDENTITY);
         CREATE TABLE parted (id int) PARTITION BY LIST (id);
         CREATE VIEW a_view AS SELECT * FROM plain;
         CREATE MATERIALIZED VIEW a_matview AS SELECT * FROM plain;
         CREATE SEQUENCE a_sequence;
         CREATE INDEX an_index ON plain (note);
         -- The SQLSTATE of a call; its rows are read up to a limit.
         CREATE FUNCTION attempt(call text) RETURNS text LANGUAGE plpgsql AS $$
         BEGIN
             EXECUTE 'SELECT count(f) FROM (SELECT ' || call || ' AS f LIMIT 3) AS calls';
             RETURN '00000';
         EXCEPTION WHEN OTHERS THEN
             RETURN SQLSTATE || ' ' || SQLERRM;
         END $$",
    );
    let attempt = "SELECT call, attempt(call) FROM unnest($1::text[]) AS call";
    let functions = client.query(FUNCTIONS, &[]).expect("members");
    assert!(functions.iter().any(|row| row.get::<_, &str>(0) == "snowflake_conversion"));
    assert!(functions.len() > 40, "{}", functions.len());
    for function in functions {
        let (name, arguments): (String, Vec<String>) = (function.get(0), function.get(1));
        let mut succeeded = 0;
        // Conversions read the catalog, and without arguments, all calls are the same.
        let is_slow = name.contains("version") || arguments.is_empty();
        let calls = if is_slow { BATCH } else { CALLS };
        for batch in 0..calls / BATCH {
            let calls: Vec<String> = (0..BATCH)
                .map(|number| {
                    let number = batch * BATCH + number;
                    let values = arguments.iter().enumerate().map(|(place, of)| {
                        // Each extreme once with the others at random, then all at random.
                        let value = extremes(of)
                            .get(number.wrapping_sub(place * 20))
                            .map_or_else(|| random(&mut rng, of), |value| (*value).to_owned());
                        format!("{value}::{of}")
                    });
                    format!("{name}({})", values.collect::<Vec<_>>().join(", "))
                })
                .collect();
            // A crash would end the session, and the test.
            let outcomes = client.query(attempt, &[&calls]);
            let fail = |error| panic!("{error}\n{}", cluster.log());
            for row in outcomes.unwrap_or_else(fail) {
                let (call, outcome): (String, String) = (row.get(0), row.get(1));
                assert!(!outcome.starts_with("XX"), "{call}: {outcome}");
                assert!(!outcome.starts_with("42883"), "{call}: {outcome}");
                succeeded += usize::from(outcome == "00000");
            }
        }
        println!("{name}({}): {succeeded} of {calls} succeeded", arguments.join(", "));
    }
    cluster.assert_not_logged("PANIC");
    cluster.assert_not_logged("was terminated by signal");
}
