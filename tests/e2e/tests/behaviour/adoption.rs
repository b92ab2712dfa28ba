//! New tables of the schemas that `snowflake.adopted_schemas` names get snowflake IDs as keys,
//! whatever creates them.

mod faults;
mod moves;
mod rights;

use std::sync::mpsc::Receiver;

use postgres::Client;
use postgres::error::DbError;
use snowflake_e2e::{Cluster, Run, value};

/// The default of a column of snowflake IDs.
const NEXT_ID: &str = "snowflake_nextval()";

/// A server whose database has an adopted schema `blog`.
fn server() -> (Cluster, Client) {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.run(
        "CREATE EXTENSION IF NOT EXISTS snowflake; CREATE SCHEMA blog;
         ALTER DATABASE postgres SET snowflake.adopted_schemas = 'blog';
         SET snowflake.adopted_schemas = 'blog'; SET search_path = blog, public",
    );
    (cluster, client)
}

/// A session in the adopted schema, and what the server tells it.
fn listening(cluster: &Cluster) -> (Client, Receiver<DbError>) {
    let (mut client, notices) = cluster.connect_with_notices("postgres");
    client.run("SET search_path = blog, public");
    (client, notices)
}

/// The type of a column, and its default, or whether it is an identity.
#[track_caller]
fn column(client: &mut Client, table: &str, name: &str) -> String {
    let query = format!(
        "SELECT concat_ws(' ', format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid),
                          CASE WHEN attidentity <> '' THEN 'identity' END)
         FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
         WHERE attrelid = '{table}'::regclass AND attname = '{name}'"
    );
    value(client, &query)
}

#[track_caller]
fn assert_adopted(client: &mut Client, table: &str, name: &str) {
    let found = column(client, table, name);
    assert!(found.starts_with("bigint ") && found.ends_with(NEXT_ID), "{table}.{name}: {found}");
}

#[track_caller]
fn assert_left(client: &mut Client, table: &str, name: &str, of: &str) {
    let found = column(client, table, name);
    let is_left = found.split(' ').next() == Some(of) && !found.ends_with(NEXT_ID);
    assert!(is_left, "{table}.{name}: {found}");
}
