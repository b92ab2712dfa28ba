//! Views and other objects that PostgreSQL does not change with the type of a column: they are
//! dropped, and created again as they were.

use std::collections::{BTreeMap, BTreeSet};

use pgrx::prelude::*;
use snowflake_server::spi::{Argument, PlannedQuery};

use super::obstacle::Obstacle;
use super::properties::Properties;
use super::rows::{fields, oid, sqlstate_of, words};
use super::statement::{Statement, Step};

/// The query that finds them.
const DEPENDENTS: &str = concat!(
    include_str!("keys.sql"),
    include_str!("depending.sql"),
    include_str!("objects.sql"),
    include_str!("creation.sql"),
    include_str!("dependents.sql")
);

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(DEPENDENTS) };
}

words! {
    /// What a row of the query is.
    Section {
        Drop = "drop",
        Create = "create",
        Finish = "finish",
        Address = "address",
        Part = "part",
        Refresh = "refresh",
        Need = "need",
        Obstacle = "obstacle",
    }
}

/// One object.
#[derive(Default)]
struct Dependent {
    drop: Option<Statement>,
    create: Vec<String>,
    /// What is done once it was found to call only what it may.
    finish: Vec<String>,
    refresh: Option<String>,
    /// What finds it by its name.
    address: Option<String>,
    /// What it consists of, for the properties of all of that.
    parts: Vec<String>,
    /// The others that it depends on.
    needs: BTreeSet<String>,
}

/// What becomes of all of them.
#[derive(Default)]
pub struct Recreation {
    pub drops: Vec<Statement>,
    /// The views among what is dropped, in this order.
    pub views: Vec<pg_sys::Oid>,
    pub creations: Vec<Statement>,
    /// Indexes, privileges and the like.
    pub finishes: Vec<Statement>,
    /// These read tables, so they come last.
    pub refreshes: Vec<Statement>,
    /// Expressions that find the new objects.
    pub addresses: Vec<String>,
    pub obstacles: Vec<Obstacle>,
}

/// Asks for the dependents of keys.
pub fn recreation(arguments: &[Argument]) -> Recreation {
    let mut recreation = Recreation::default();
    let mut dependents = BTreeMap::<String, Dependent>::new();
    for row in QUERY.with(|query| query.rows_of(arguments)) {
        let [section, key, text, detail, sqlstate, is_temporary] = fields(row);
        let text = text.expect("a text");
        let dependent = dependents.entry(key.expect("a key")).or_default();
        match Section::of(&section.expect("a section")) {
            Section::Drop => {
                dependent.drop = Some(Statement {
                    step: Step::Convert,
                    text,
                    is_temporary: is_temporary.as_deref() == Some("t"),
                    is_qualified: true,
                });
            }
            Section::Create => dependent.create.push(text),
            Section::Finish => dependent.finish.push(text),
            Section::Address => dependent.address = Some(text),
            Section::Part => dependent.parts.push(text),
            Section::Refresh => dependent.refresh = Some(text),
            Section::Need => _ = dependent.needs.insert(text),
            Section::Obstacle => recreation.obstacles.push(Obstacle {
                sqlstate: sqlstate_of(&sqlstate.expect("a SQLSTATE")),
                object: text.clone(),
                message: text,
                detail,
                hint: None,
            }),
        }
    }
    let parts = dependents.values().flat_map(|dependent| &dependent.parts);
    let parts: Vec<&str> = parts.map(String::as_str).collect();
    let mut properties = Properties::of(&parts.join(" "));
    recreation.obstacles.append(&mut properties.obstacles);
    while !dependents.is_empty() {
        let is_free = |dependent: &Dependent| {
            dependent.needs.iter().all(|needed| !dependents.contains_key(needed))
        };
        let free = dependents.iter().filter(|(_, dependent)| is_free(dependent));
        let free: Vec<String> = free.map(|(key, _)| key.clone()).collect();
        if free.is_empty() {
            let names = dependents.values().flat_map(|dependent| &dependent.drop);
            let names: Vec<&str> = names.map(|drop| drop.text.as_str()).collect();
            recreation.obstacles.push(Obstacle {
                sqlstate: PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
                object: String::new(),
                message: "objects that depend on each other cannot be created again".into(),
                detail: Some(format!("What would be executed first: {}", names.join(" "))),
                hint: Some("Drop them, convert the column, and create them again.".into()),
            });
            return recreation;
        }
        for key in free {
            let dependent = dependents.remove(&key).expect("found above");
            let (class, object) = key.split_once(':').expect("two OIDs");
            if oid(class.into()) == pg_sys::RelationRelationId {
                recreation.views.push(oid(object.into()));
            }
            recreation.add(dependent, &properties);
        }
    }
    // What needs another is dropped before it.
    recreation.drops.reverse();
    recreation.views.reverse();
    recreation
}

impl Recreation {
    fn add(&mut self, dependent: Dependent, properties: &Properties) {
        let drop = dependent.drop.expect("each object can be dropped");
        let like = |text: String| Statement { text, ..drop.clone() };
        self.creations.extend(dependent.create.into_iter().map(like));
        self.finishes.extend(dependent.finish.into_iter().map(like));
        self.finishes.extend(properties.like(&drop, &dependent.parts.join(" ")));
        self.addresses.extend(dependent.address);
        self.refreshes
            .extend(dependent.refresh.map(|text| Statement { is_qualified: false, ..like(text) }));
        self.drops.push(drop);
    }
}
