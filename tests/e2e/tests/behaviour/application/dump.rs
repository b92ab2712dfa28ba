//! What the schema is, as texts that are compared: a dump, what no dump says, and files.

use postgres::Client;
use snowflake_e2e::{Cluster, dump_text};

use super::shop::WIDENED;

/// Sequences that were integer or smallint and are bigint after a reversion. That of an identity
/// has its column's type, which a dump does not repeat.
const WIDENED_SEQUENCES: [&str; 8] = [
    "artist_id_seq",
    "category_id_seq",
    "inventory_inventory_id_seq",
    "loan_loan_id_seq",
    "note_id_seq",
    "payment_payment_id_seq",
    "rental_rental_id_seq",
    "review_id_seq",
];

/// What else differs after a conversion and its reversion: what it was, and what it is.
const CHANGED: [(&str, &str); 3] = [
    // The type of a literal follows that of the column beside it.
    ("sequel_of, 0) AS sequel_of,", "sequel_of, (0)::bigint) AS sequel_of,"),
    // Sequences go on above snowflake IDs.
    ("    MAXVALUE 1000000", "    NO MAXVALUE"),
    ("    MAXVALUE 9000000000", "    NO MAXVALUE"),
];

/// The lines of a dump without its rows.
pub fn dump(cluster: &Cluster) -> Vec<String> {
    dump_text(cluster, &["--schema-only"]).lines().map(str::to_owned).collect()
}

/// What no dump of a schema says: whether triggers of foreign keys fire, whether materialized views
/// are filled, who owns what and granted it to whom, and from where columns take their values.
pub fn beside_the_dump(client: &mut Client) -> Vec<String> {
    let query = "
        WITH relations AS (
            SELECT * FROM pg_class WHERE relnamespace = '\"Film Shop\"'::regnamespace
        ),
        columns AS (
            SELECT relations.oid, attname, attnum, attacl, relkind
            FROM relations
            JOIN pg_attribute ON attrelid = relations.oid AND attnum > 0 AND NOT attisdropped
        ),
        functions AS (
            SELECT * FROM pg_proc WHERE pronamespace = '\"Film Shop\"'::regnamespace
        ),
        acls(class, object, number, acls) AS (
            SELECT 'pg_class'::regclass, oid, 0, coalesce(relacl, acldefault(
                CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\", relowner))
            FROM relations WHERE relkind <> 'i'
            UNION ALL
            SELECT 'pg_class'::regclass, oid, attnum, attacl FROM columns
            UNION ALL
            SELECT 'pg_proc'::regclass, oid, 0, coalesce(proacl, acldefault('f', proowner))
            FROM functions
        )
        SELECT format('%s of %s on %s: %s', tgfoid::regproc, conname, tgrelid::regclass, tgenabled)
        FROM pg_trigger JOIN pg_constraint ON pg_constraint.oid = tgconstraint
        WHERE tgisinternal AND tgrelid >= 16384
        UNION ALL
        SELECT format('%s %s of %s: %s', relkind, oid::regclass, relowner::regrole, relispopulated)
        FROM relations
        UNION ALL
        SELECT format('%s: %s', pg_describe_object(class, object, number), acl)
        FROM acls, unnest(acls) AS acl
        UNION ALL
        SELECT format('%s.%s: %s', oid::regclass, attname,
                      pg_get_serial_sequence(oid::regclass::text, attname))
        FROM columns WHERE relkind IN ('r', 'p')
        UNION ALL
        SELECT format('%s of %s', oid::regprocedure, proowner::regrole) FROM functions
        ORDER BY 1";
    let rows = client.query(query, &[]).expect("the catalog");
    rows.iter().map(|row| row.get(0)).collect()
}

/// The files of tables and indexes.
pub fn files(client: &mut Client) -> Vec<String> {
    let query = "SELECT format('%s %s', oid, relfilenode) FROM pg_class
        WHERE relnamespace = '\"Film Shop\"'::regnamespace ORDER BY 1";
    client.query(query, &[]).expect("the catalog").iter().map(|row| row.get(0)).collect()
}

/// Asserts that texts are the same, and shows the first line that is not.
#[track_caller]
pub fn assert_same(what: &str, found: &[String], expected: &[String]) {
    let missing: Vec<_> = expected.iter().filter(|line| !found.contains(line)).collect();
    let more: Vec<_> = found.iter().filter(|line| !expected.contains(line)).collect();
    assert!(missing.is_empty() && more.is_empty(), "{what}: no {missing:#?}, but {more:#?}");
    let other = found.iter().zip(expected).position(|(one, other)| one != other);
    assert!(
        found == expected,
        "{what}: another order at {:?}",
        other.map(|at| (&found[at], &expected[at]))
    );
}

/// What a dump is to be after a conversion and its reversion: as before, but for what stays changed.
pub fn expected_after(before: &[String]) -> Vec<String> {
    let mut done = Vec::new();
    let mut inside = String::new();
    let mut after = Vec::new();
    for line in before {
        if let Some(object) = line.strip_prefix("CREATE ") {
            inside = object.trim_end_matches(" (").replace("\"Film Shop\".", "");
        }
        let widened = WIDENED.iter().flat_map(|(table, columns)| {
            columns.iter().map(move |column| (format!("TABLE {table}"), *column))
        });
        let widened = widened.filter(|(table, _)| *table == inside);
        let mut new = Some(line.clone());
        for (table, column) in widened {
            for narrow in ["integer", "smallint"] {
                let start = format!("    {column} {narrow}");
                if let Some(rest) = line.strip_prefix(&start) {
                    new = Some(format!("    {column} bigint{rest}"));
                    done.push(format!("{table}.{column}"));
                }
            }
        }
        let is_narrow = line == "    AS integer" || line == "    AS smallint";
        if is_narrow && WIDENED_SEQUENCES.iter().any(|name| inside == format!("SEQUENCE {name}")) {
            new = None;
            done.push(inside.clone());
        }
        if let Some((old, changed)) = CHANGED.iter().find(|(old, _)| line.ends_with(old)) {
            new = Some(line.replace(old, changed));
            done.push((*old).into());
        }
        after.extend(new);
    }
    let columns: usize = WIDENED.iter().map(|(_, columns)| columns.len()).sum();
    let all = columns + WIDENED_SEQUENCES.len() + CHANGED.len();
    assert_eq!(done.len(), all, "the dump was to have each of these once: {done:#?}");
    after
}
