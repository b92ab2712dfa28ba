//! What expressions call before a conversion, and after it: PostgreSQL finds functions, operators and
//! casts by the types of their arguments, so an expression that it parses again might mean something
//! else.

use std::collections::BTreeMap;

use pgrx::prelude::*;
use snowflake_server::settings::Path;
use snowflake_server::spi::{self, Argument, PlannedQuery, Row, query, text};

use super::obstacle::Obstacle;
use super::rows::fields;
use super::trust::oids;

/// The query that finds functions, operators and casts in trees of nodes.
const CALLS: &str = include_str!("calls.sql");

/// The same for one tree.
const CALLS_OF_TREE: &str =
    concat!("WITH trees(of, tree) AS (SELECT $1, $2)", include_str!("calls.sql"));

thread_local! {
    static OF_TREE: PlannedQuery = const { PlannedQuery::new(CALLS_OF_TREE) };
}

/// What a conversion changes, and that has expressions.
pub struct Changed {
    /// Tables, which keep their OIDs.
    pub tables: Argument,
    /// What finds the objects that are created again, by their names.
    pub created: Vec<String>,
}

/// The calls of each object, by what stays the same of a call if an integer becomes a bigint.
pub struct Calls(BTreeMap<String, BTreeMap<String, Vec<String>>>);

impl Changed {
    /// What is created again, and the tables that change.
    pub fn new(tables: impl Iterator<Item = pg_sys::Oid>, created: &[String]) -> Changed {
        Changed { tables: oids(tables), created: created.to_vec() }
    }

    /// What all of it calls now.
    pub fn calls(&self) -> Calls {
        let created = self
            .created
            .iter()
            .map(|address| format!("UNION ALL SELECT classid, objid FROM {address}"));
        let trees = format!(
            "WITH objects(class, object) AS (
                 SELECT 'pg_class'::regclass::oid, unnest($1::oid[])
                 {}
             ), {}",
            created.collect::<String>(),
            include_str!("trees.sql")
        );
        Calls::of(query(&format!("{trees}{CALLS}"), &[self.tables]))
    }
}

impl Calls {
    fn of(rows: Vec<Row>) -> Calls {
        let mut calls = Calls(BTreeMap::new());
        for row in rows {
            let [of, call, description] = fields(row).map(|field| field.expect("a text"));
            let of_object = calls.0.entry(of).or_default();
            of_object.entry(call).or_default().push(description);
        }
        calls
    }

    /// What stands in the way if a query, which has the expression of an object, calls something else
    /// in another form. Both are parsed, and not executed.
    pub fn changed(of: &str, former: &str, query: &str, path: &Path) -> Option<Obstacle> {
        let calls = |query| {
            let tree = spi::analyzed(query, path);
            Calls::of(OF_TREE.with(|of_tree| of_tree.rows_of(&[text(of), text(&tree)])))
        };
        calls(query).obstacles(&calls(former)).pop()
    }

    /// An obstacle for each object that calls something now that it did not call `before`.
    pub fn obstacles(&self, before: &Calls) -> Vec<Obstacle> {
        let nothing = BTreeMap::new();
        let of_objects = self.0.iter();
        let changes = of_objects.filter_map(|(object, now)| {
            let before = before.0.get(object).unwrap_or(&nothing);
            let now_only = names(now, before);
            (!now_only.is_empty()).then(|| obstacle(object, &names(before, now), &now_only))
        });
        changes.collect()
    }
}

/// What the calls of one object include more often than others.
fn names(calls: &BTreeMap<String, Vec<String>>, others: &BTreeMap<String, Vec<String>>) -> String {
    let count = |call: &str| others.get(call).map_or(0, Vec::len);
    let more = calls.iter().filter(|(call, all)| all.len() > count(call));
    let mut names: Vec<&str> = more.map(|(_, all)| all[0].as_str()).collect();
    names.dedup();
    names.join(", ")
}

fn obstacle(object: &str, before: &str, now: &str) -> Obstacle {
    let detail = match before {
        "" => format!("It would also call {now}."),
        before => format!("It calls {before}, and would call {now}."),
    };
    Obstacle {
        sqlstate: PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
        object: object.into(),
        message: format!("{object} would call something else when keys are bigint"),
        detail: Some(detail),
        hint: Some(
            "Create what it calls for bigint, too, or drop it first. A column that a key is written \
             into has to be bigint."
                .into(),
        ),
    }
}
