//! What the report of a conversion says of the application.

use postgres::Client;
use snowflake_e2e::bigint;

use super::dump::{assert_same, files};
use super::shop::{WIDENED, application, fail};

struct Finding {
    kind: String,
    object: String,
    text: String,
    rewritten: Option<i64>,
    lock: Option<String>,
}

#[track_caller]
fn report(client: &mut Client, arguments: &str) -> Vec<Finding> {
    let query = format!("SELECT * FROM snowflake_convert_report({arguments})");
    let rows = client.query(&query, &[]).unwrap_or_else(|error| fail(&query, error));
    let findings = rows.iter().map(|row| {
        let remedy: Option<String> = row.get("remedy");
        Finding {
            kind: row.get("kind"),
            object: row.get("object"),
            text: row.get::<_, String>("reason") + " " + &remedy.unwrap_or_default(),
            rewritten: row.get("rewritten"),
            lock: row.get("lock"),
        }
    });
    findings.collect()
}

/// A word of each object that is at risk, and one of why.
const RISKS: [(&str, &str); 21] = [
    // Integer parameters, results and variables.
    ("inc_ref_count(text,integer,integer)", "integer"),
    ("film_in_stock(integer)", "integer"),
    ("first_of(text)", "integer"),
    // The last value of a sequence.
    ("new_artist(text)", "currval"),
    ("new_category(text)", "lastval"),
    ("new_loan(text)", "pg_get_serial_sequence"),
    // Columns that might hold keys.
    ("edit_log.film_id", "guess"),
    ("edit_log.artist_id", "guess"),
    ("loan", "loan_of_old_discs"),
    // A key that is a foreign key.
    ("artist_meta.id", "artist"),
    // Who goes on to use the sequence.
    ("\"Store Numbers\"", "shop_clerk"),
    ("artist_id_seq", "shop_clerk"),
    ("category_id_seq", "shop_clerk"),
    ("edit_log_id_seq", "\"till-1\""),
    ("inventory_inventory_id_seq", "\"till-1\""),
    ("film_film_id_seq", "shop_clerk"),
    ("payment_payment_id_seq", "\"till-1\""),
    // Keys that nobody could choose.
    ("store.store_id", "GENERATED ALWAYS"),
    ("\"Track Id\"", "GENERATED ALWAYS"),
    ("category", "newsletter"),
    ("Film Shop", "DEALLOCATE ALL"),
];

#[test]
fn the_report_names_every_risk() {
    let cluster = application();
    let mut client = cluster.connect();
    let old = files(&mut client);
    client.batch_execute("BEGIN").expect("begun");
    let findings = report(&mut client, "schema => '\"Film Shop\"'");
    let locks = "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE pid = pg_backend_pid() AND pg_class.oid >= 16384 AND mode <> 'AccessShareLock'";
    assert_eq!(bigint(&mut client, locks), 0, "the report takes more than ACCESS SHARE locks");
    client.batch_execute("COMMIT").expect("committed");
    assert_same("the files", &files(&mut client), &old);
    for finding in &findings {
        println!("{}: {}: {}", finding.kind, finding.object, finding.text);
    }

    let of_kind = |kind: &'static str| findings.iter().filter(move |finding| finding.kind == kind);
    for (object, reason) in RISKS {
        let found = of_kind("risk")
            .filter(|risk| risk.object.contains(object) && risk.text.contains(reason))
            .count();
        assert_eq!(found, 1, "risks of {object} for {reason}");
    }
    for harmless in ["in_days", "with_tax", "cheapest", "accept", "setting", "counter", "stars"] {
        let mut risks = of_kind("risk");
        assert!(!risks.any(|risk| risk.object.contains(harmless)), "{harmless} is at no risk");
    }

    // With 'recreate', nothing is an obstacle but the triggers that a superuser has disabled.
    let obstacles: Vec<_> =
        of_kind("obstacle").map(|finding| (&finding.object, &finding.text)).collect();
    let others: Vec<_> = obstacles.iter().filter(|(_, text)| !text.contains("recreate")).collect();
    assert_eq!(others.len(), 1, "{others:#?}");
    assert!(
        others[0].1.starts_with("Triggers of foreign key loan_inventory_id_fkey"),
        "{others:?}"
    );

    let size = bigint(&mut client, "SELECT pg_total_relation_size('film')");
    let changes: Vec<_> = of_kind("change").filter(|change| change.rewritten.is_some()).collect();
    let film: Vec<_> = changes.iter().filter(|change| change.object.ends_with(".film")).collect();
    assert_eq!(film.len(), 1, "table film is rewritten once");
    assert_eq!(film[0].rewritten, Some(size));
    assert_eq!(film[0].lock.as_deref(), Some("ACCESS EXCLUSIVE"));
    for (table, columns) in WIDENED {
        let changes = changes.iter().filter(|change| change.object.ends_with(&format!(".{table}")));
        // A partitioned table has no file itself.
        let expected = usize::from(!columns.is_empty() && table != "rental");
        assert_eq!(changes.count(), expected, "changes of {table}");
    }
    let unwidened = of_kind("change").filter(|change| change.object.ends_with(".customer"));
    let unwidened: Vec<_> = unwidened.map(|change| change.rewritten).collect();
    assert_eq!(unwidened, [None], "table customer has a bigint key, and is not rewritten");
}
