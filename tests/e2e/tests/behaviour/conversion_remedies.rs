//! What a report advises for columns that might hold keys can be executed, in its order, unless it names
//! what is in the way.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, error_of};

const TABLES: &str = "
    CREATE SCHEMA s; SET search_path = s, public;
    CREATE TABLE posts (id serial PRIMARY KEY);
    CREATE DOMAIN zero AS integer; CREATE DOMAIN above AS zero NOT NULL;
    CREATE TABLE of_domain (post_id above);
    CREATE TYPE of_table AS (post_id integer, title text); CREATE TABLE typed OF of_table;
    CREATE TYPE in_domain AS (post_id integer); CREATE DOMAIN over AS in_domain;
    CREATE TABLE of_composite (pair over);
    CREATE TABLE generated (post_id integer, twice integer GENERATED ALWAYS AS (2 * post_id) STORED);
    CREATE TABLE parted (post_id integer) PARTITION BY LIST (post_id);
    CREATE TABLE indexed (post_id integer);
    CREATE INDEX of_brin ON indexed USING brin (post_id int4_minmax_multi_ops);
    CREATE INDEX ON indexed (post_id); CREATE INDEX ON indexed USING brin (post_id);
    CREATE TABLE listed (post_ids integer[]); CREATE INDEX ON listed USING gin (post_ids);
    CREATE TABLE viewed (post_id integer); CREATE VIEW seen AS SELECT post_id FROM viewed;
    CREATE TABLE nested (post_id integer, n integer, above integer, UNIQUE (post_id, n),
        FOREIGN KEY (post_id, above) REFERENCES nested (post_id, n));
    CREATE TABLE twice (post_id integer, n integer, UNIQUE (post_id, n),
        FOREIGN KEY (post_id, post_id) REFERENCES twice (post_id, n));";

/// An object of the report, what its reason says is in the way, and the remedy.
const REMEDIES: [(&str, &str, &str); 11] = [
    ("s.zero", "", "CREATE DOMAIN s.zero_bigint AS bigint;"),
    ("s.above", "", "CREATE DOMAIN s.above_bigint AS s.zero_bigint NOT NULL;"),
    (
        "s.generated.post_id",
        "column twice of table s.generated",
        "ALTER TABLE s.generated ALTER COLUMN post_id TYPE bigint;",
    ),
    (
        "s.in_domain.post_id",
        "",
        "Create another type with bigint, and change to it: column pair of table s.of_composite.",
    ),
    (
        "s.indexed.post_id",
        "index s.of_brin",
        "ALTER TABLE s.indexed ALTER COLUMN post_id TYPE bigint;",
    ),
    ("s.listed.post_ids", "", "ALTER TABLE s.listed ALTER COLUMN post_ids TYPE bigint[];"),
    // The foreign key refers to the column itself. That of twice also refers to another one.
    ("s.nested.post_id", "", "ALTER TABLE s.nested ALTER COLUMN post_id TYPE bigint;"),
    (
        "s.of_domain.post_id",
        "",
        "ALTER TABLE s.of_domain ALTER COLUMN post_id TYPE s.above_bigint;",
    ),
    (
        "s.of_table.post_id",
        "",
        "ALTER TYPE s.of_table ALTER ATTRIBUTE post_id TYPE bigint CASCADE;",
    ),
    (
        "s.parted.post_id",
        "",
        "Create another table that is partitioned by a column of type bigint, and move the rows.",
    ),
    ("s.viewed.post_id", "view s.seen", "ALTER TABLE s.viewed ALTER COLUMN post_id TYPE bigint;"),
];

#[test]
fn a_remedy_can_be_executed_unless_the_reason_says_what_is_in_the_way() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(TABLES).expect("tables");
    let report =
        "SELECT object, split_part(rtrim(reason, '.'), 'created again afterwards: ', 2), remedy
        FROM snowflake_convert_report(schema => 's') WHERE reason LIKE '%This is a guess.%'";
    let rows = client.query(report, &[]).expect("a report");
    let rows: Vec<(String, String, String)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let found: Vec<(&str, &str, &str)> =
        rows.iter().map(|(object, used_by, remedy)| (&**object, &**used_by, &**remedy)).collect();
    assert_eq!(found, REMEDIES);

    client.batch_execute("BEGIN").expect("begun");
    for (object, used_by, remedy) in REMEDIES {
        if !remedy.ends_with(';') {
            continue;
        }
        client.batch_execute("SAVEPOINT before").expect("a savepoint");
        let done = client.batch_execute(remedy);
        if used_by.is_empty() {
            done.unwrap_or_else(|error| panic!("{object}: {error:?}"));
        } else {
            assert_ne!(error_of(done).code(), &SqlState::SYNTAX_ERROR, "{object}");
            client.batch_execute("ROLLBACK TO before").expect("rolled back");
            let kind_and_name = used_by.split(" of ").next().expect("a name");
            let drop = match kind_and_name.split_once(' ').expect("two words") {
                ("column", name) => format!(
                    "ALTER TABLE {} DROP COLUMN {name}",
                    &object[..object.rfind('.').expect("a column")]
                ),
                (kind, name) => format!("DROP {kind} {name}"),
            };
            client
                .batch_execute(&format!("{drop}; {remedy}"))
                .unwrap_or_else(|error| panic!("{object}: {error:?}"));
        }
    }
}
