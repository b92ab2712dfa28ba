//! What CREATE does not give to an object: privileges, comments and the like.

use std::collections::HashMap;

use snowflake_server::spi::{PlannedQuery, text};

use super::obstacle::Obstacle;
use super::rows::fields;
use super::statement::Statement;
use super::trust::obstacle;

/// The query that finds the statements.
const PROPERTIES: &str = include_str!("properties.sql");

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(PROPERTIES) };
}

/// The properties of objects.
#[derive(Default)]
pub struct Properties {
    /// The statements, by object. They grant all privileges as the owner.
    statements: HashMap<String, Vec<String>>,
    /// An obstacle for each object on which another role than the owner has granted privileges:
    /// PostgreSQL lets nobody but this role name it as the grantor, and no statement runs in its
    /// name.
    pub obstacles: Vec<Obstacle>,
}

impl Properties {
    /// The properties of these objects, a list separated by spaces.
    pub fn of(objects: &str) -> Properties {
        let mut properties = Properties::default();
        for mut row in QUERY.with(|query| query.rows_of(&[text(objects)])) {
            match row.remove(0) {
                Some(object) => {
                    let [statement, ..] = fields::<5>(row);
                    let statements = properties.statements.entry(object).or_default();
                    statements.push(statement.expect("a statement"));
                }
                None => properties.obstacles.push(obstacle(row)),
            }
        }
        properties
    }

    /// Those of some of the objects, as statements like another one.
    pub fn like(&self, like: &Statement, objects: &str) -> impl Iterator<Item = Statement> {
        let found = objects.split(' ').filter_map(|object| self.statements.get(object)).flatten();
        found.map(|text| Statement { text: text.clone(), is_qualified: true, ..like.clone() })
    }
}
