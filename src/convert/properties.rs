//! What CREATE does not give to an object: privileges, comments and the like.

use std::collections::HashMap;

use super::rows::{fields, oid};
use super::statement::{Role, Statement};
use crate::server::catalog::PlannedQuery;
use crate::server::own_table::text;

/// The query that finds the statements.
const PROPERTIES: &str = include_str!("properties.sql");

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(PROPERTIES) };
}

/// The statements, by object.
pub struct Properties(HashMap<String, Vec<(String, Role)>>);

impl Properties {
    /// The properties of these objects, a list separated by spaces.
    pub fn of(objects: &str) -> Properties {
        let mut properties = HashMap::<_, Vec<_>>::new();
        for row in QUERY.with(|query| query.rows_of(&[text(objects)])) {
            let [object, statement, grantor, address] = fields(row);
            let role = grantor.map_or(Role::Owner, |role| Role::Grantor {
                role: oid(role),
                address: address.expect("an address"),
            });
            let statement = (statement.expect("a statement"), role);
            properties.entry(object.expect("an object")).or_default().push(statement);
        }
        Properties(properties)
    }

    /// Those of some of the objects, as statements like another one. A privilege that another role
    /// than the owner has granted is granted by that role again: PostgreSQL lets nobody else name
    /// it as the grantor, and GRANT calls no code of a user.
    pub fn like(&self, like: &Statement, objects: &str) -> impl Iterator<Item = Statement> {
        let found = objects.split(' ').filter_map(|object| self.0.get(object)).flatten();
        found.map(|(text, role)| Statement {
            text: text.clone(),
            role: role.clone(),
            is_qualified: true,
            ..like.clone()
        })
    }
}
