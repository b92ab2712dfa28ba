//! IDs as short texts: how they sort, and which index serves that.

use postgres::Client;
use snowflake_e2e::{Cluster, Means, bigint, explain, skip};

/// A thousand IDs, whose texts end in digits and in letters of both cases, with two indexes.
const LINKS: &str = "
    CREATE TABLE links (id bigint PRIMARY KEY, url text DEFAULT 'https://example.com');
    INSERT INTO links SELECT snowflake_nextval(1000);
    INSERT INTO links SELECT snowflake_from_base62('1Vfznn0WL' || a || b)
        FROM unnest(string_to_array('0,9,A,B,Z,a,b,z', ',')) AS a,
             unnest(string_to_array('0,9,A,B,Z,a,b,z', ',')) AS b;
    CREATE INDEX by_text ON links (snowflake_to_base62(id) COLLATE \"C\");
    ANALYZE links;
    SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off";

/// Whether the texts sort as the IDs do with this collation.
fn sorts_as_ids(client: &mut Client, collation: &str) -> bool {
    let query = format!(
        "SELECT (array_agg(id ORDER BY id)
                 = array_agg(id ORDER BY snowflake_to_base62(id) COLLATE \"{collation}\"))::int::bigint
         FROM links"
    );
    bigint(client, &query) == 1
}

#[test]
fn texts_sort_as_ids_with_collation_c_only() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.batch_execute(LINKS).expect("links");
    assert!(sorts_as_ids(&mut client, "C"));
    let others = "SELECT collname::text FROM pg_collation
                  WHERE collname IN ('en-x-icu', 'en_US.utf8', 'en_US')
                    AND collencoding IN (-1, (SELECT encoding FROM pg_database
                                              WHERE datname = current_database()))";
    let others: Vec<String> =
        client.query(others, &[]).expect("collations").iter().map(|row| row.get(0)).collect();
    if others.is_empty() {
        skip(Means::Other("collation of a language"));
    }
    for collation in others {
        assert!(!sorts_as_ids(&mut client, &collation), "{collation}");
    }

    const TEXT: &str = "snowflake_to_base62(id)";
    for (rest, is_served) in [
        (format!("ORDER BY {TEXT} COLLATE \"C\""), true),
        (format!("WHERE {TEXT} COLLATE \"C\" < '1Vfznn0WL9z'"), true),
        (format!("WHERE {TEXT} COLLATE \"C\" BETWEEN '1Vfznn0WLA' AND '1Vfznn0WLa'"), true),
        (format!("WHERE {TEXT} COLLATE \"C\" = '1Vfznn0WLaB'"), true),
        (format!("ORDER BY {TEXT}"), false),
        (format!("WHERE {TEXT} < '1Vfznn0WL9z'"), false),
    ] {
        let plan = explain(&mut client, &format!("SELECT url FROM links {rest}"));
        assert_eq!(plan.contains("using by_text"), is_served, "{rest}: {plan}");
        assert!(!is_served || !plan.contains("Sort"), "{rest}: {plan}");
    }
    let [texts, ids] = [
        "snowflake_to_base62(id) COLLATE \"C\" > '1Vfznn0WLZZ'",
        "id > snowflake_from_base62('1Vfznn0WLZZ')",
    ]
    .map(|condition| bigint(&mut client, &format!("SELECT count(*) FROM links WHERE {condition}")));
    assert_eq!((texts, ids), (1027, 1027));
}
