//! Whether views can be created again, for a report: their texts are parsed as if keys were bigint
//! already.

use std::collections::BTreeMap;

use snowflake_server::settings::Path;
use snowflake_server::spi::{Argument, PlannedQuery, query_of_users};
use snowflake_server::subtransaction::by_itself;
use snowflake_server::user;

use super::calls::Calls;
use super::finding::Finding;
use super::rows::fields;
use super::trust::Owner;

/// The query that finds views, and what stands in for the tables that they read.
const VIEWS: &str = concat!(
    include_str!("keys.sql"),
    include_str!("depending.sql"),
    include_str!("objects.sql"),
    include_str!("stand_ins.sql"),
    include_str!("views.sql")
);

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(VIEWS) };
}

/// A view, and the tables that it reads.
#[derive(Default)]
struct View {
    name: String,
    schemas: Vec<String>,
    /// Queries to begin with, by the names of the tables: with the new types, and with the former.
    stand_ins: BTreeMap<String, [String; 2]>,
}

/// A risk for each view whose text PostgreSQL does not take with bigint columns, and an obstacle for
/// each that calls something else then. A conversion creates the views in any case, and might find
/// more: a view that reads another is parsed as if that one stayed as it is.
pub fn findings(owner: &Owner, arguments: &[Argument]) -> Vec<Finding> {
    let mut views = BTreeMap::<String, View>::new();
    for row in QUERY.with(|query| query.rows_of(arguments)) {
        let [object, view, table, schema, stand_in, former] =
            fields(row).map(|field| field.expect("a text"));
        let of_view = views.entry(object).or_default();
        of_view.name = view;
        // The first of two tables with one name is the one that needs no schema.
        of_view.stand_ins.entry(table).or_insert([stand_in, former]);
        if of_view.schemas.last() != Some(&schema) {
            of_view.schemas.push(schema);
        }
    }
    let findings = views.iter().filter_map(|(object, view)| view.finding(object, owner));
    let mut findings: Vec<Finding> = findings.collect();
    findings.sort_by(|one, other| one.object.cmp(&other.object));
    findings
}

impl View {
    fn finding(&self, object: &str, owner: &Owner) -> Option<Finding> {
        // With this path, PostgreSQL writes the names of tables without their schemas, so that they
        // mean the queries that stand in for the tables.
        let path = Path::through(&self.schemas);
        let parse = || {
            let definition = format!("SELECT pg_catalog.pg_get_viewdef({object}::pg_catalog.oid)");
            let [text] = fields(query_of_users(&definition, &path).swap_remove(0));
            let text = text.expect("a view");
            if !is_comparable(&text) {
                return None;
            }
            let text = text.trim_end_matches(';');
            let [now, former] = [0, 1].map(|of| {
                let stand_ins = self.stand_ins.values().map(|forms| forms[of].as_str());
                let stand_ins: Vec<&str> = stand_ins.collect();
                format!("WITH {} SELECT FROM ({text}) AS v", stand_ins.join(", "))
            });
            Calls::changed(&self.name, &former, &now, &path)
        };
        match by_itself(|| Ok(user::as_owner(owner.role, parse)), Err) {
            Ok(changed) => changed.map(|changed| Finding::of("obstacle", changed)),
            Err(error) => Some(self.risk(&error)),
        }
    }

    fn risk(&self, error: &str) -> Finding {
        Finding {
            kind: "risk".into(),
            object: self.name.clone(),
            reason: format!(
                "It probably cannot be created again when keys are bigint. PostgreSQL says: {error}."
            ),
            remedy: Some("Change its definition, or drop it first.".into()),
            rewritten: None,
            lock: None,
        }
    }
}

/// Whether the text means the same of a query as of a table: it has no row of the table's row type,
/// samples nothing and locks nothing.
fn is_comparable(text: &str) -> bool {
    ![".*", " TABLESAMPLE ", " FOR UPDATE", " FOR NO KEY UPDATE", " FOR SHARE", " FOR KEY SHARE"]
        .iter()
        .any(|part| text.contains(part))
}
