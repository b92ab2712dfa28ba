//! Expressions of indexes and checks, as they are with the shadows of the columns that they read.
//!
//! PostgreSQL keeps an expression as a tree of nodes, in which a column has a number. With the number of
//! its shadow in place of its own, PostgreSQL writes the text that the expression would have.

use pgrx::prelude::*;
use snowflake_server::spi::{Argument, PlannedQuery, query, text, texts};

use crate::rows::{fields, oid};

/// The query that finds the trees.
const TREES: &str = concat!(
    include_str!("../keys.sql"),
    include_str!("../depending.sql"),
    include_str!("shadows.sql"),
    include_str!("trees.sql")
);

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(TREES) };
}

/// Arguments of a query: what the expressions belong to, and their texts. Those of an index also have a
/// number, from 1 on.
pub fn with_shadows(arguments: &[Argument]) -> [Argument; 2] {
    let (mut keys, mut found) = (Vec::new(), Vec::new());
    for row in QUERY.with(|query| query.rows_of(arguments)) {
        let [key, relation, tree, numbers, shadows] =
            fields(row).map(|field| field.expect("a text"));
        let mut tree = tree;
        for (number, shadow) in numbers.split(' ').zip(shadows.split(' ')) {
            for word in ["varattno", "varattnosyn"] {
                tree = tree.replace(&format!(":{word} {number} "), &format!(":{word} {shadow} "));
            }
        }
        let relation = oid(relation);
        if key.starts_with("index:") {
            for (place, node) in nodes(&tree).into_iter().enumerate() {
                keys.push(format!("{key}:{}", place + 1));
                found.push(written(node, relation));
            }
        } else {
            found.push(written(&tree, relation));
            keys.push(key);
        }
    }
    [texts(&keys), texts(&found)]
}

/// What PostgreSQL writes for a tree.
fn written(tree: &str, relation: pg_sys::Oid) -> String {
    let (tree, _) = text(tree);
    let relation = (Some(relation.into()), pg_sys::OIDOID);
    let row = query("SELECT pg_get_expr($1, $2)", &[(tree, pg_sys::PG_NODE_TREEOID), relation]);
    let [text] = fields(row.into_iter().next().expect("a row"));
    text.expect("an expression")
}

/// The nodes of a list of them. A brace that is part of a text has a backslash before it.
fn nodes(list: &str) -> Vec<&str> {
    let (mut nodes, mut depth, mut begin, mut is_escaped) = (Vec::new(), 0, 0, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' => {
                if depth == 0 {
                    begin = at;
                }
                depth += 1;
            }
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    nodes.push(&list[begin..=at]);
                }
            }
            _ => {}
        }
    }
    nodes
}
