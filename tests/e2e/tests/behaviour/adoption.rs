//! New tables of adopted schemas get snowflake IDs as keys, whatever creates them.

mod faults;
mod left_alone;
mod moves;
mod references;
mod rights;
mod shapes;

use std::sync::{Arc, Mutex};

use postgres::{Client, NoTls};
use snowflake_e2e::Cluster;

/// The default of a column of snowflake IDs.
const NEXT_ID: &str = "snowflake_nextval()";

/// A server with an adopted schema `blog`.
fn server() -> (Cluster, Client) {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE EXTENSION IF NOT EXISTS snowflake; CREATE EXTENSION snowflake_adopt;
             CREATE SCHEMA blog; SELECT snowflake_adopt('blog'); SET search_path = blog, public",
        )
        .expect("an adopted schema");
    (cluster, client)
}

/// A client that keeps what the server tells it: NOTICE and WARNING, each with its detail.
fn listening(cluster: &Cluster) -> (Client, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keeper = Arc::clone(&heard);
    let mut config = cluster.config();
    config.notice_callback(move |notice| {
        let detail = notice.detail().unwrap_or_default();
        let entry = format!("{}: {} {detail}", notice.severity(), notice.message());
        keeper.lock().expect("not poisoned").push(entry);
    });
    let mut client = config.connect(NoTls).expect("a connection");
    client.batch_execute("SET search_path = blog, public").expect("set");
    (client, heard)
}

/// Takes what was heard.
fn take(heard: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut heard.lock().expect("not poisoned"))
}

/// The columns of a table: name, type and default.
fn columns(client: &mut Client, table: &str) -> Vec<(String, String, Option<String>)> {
    let query = "SELECT attname, format_type(atttypid, atttypmod),
                        concat(pg_get_expr(adbin, adrelid), CASE WHEN attidentity <> '' THEN 'identity' END)
                 FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
                 WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
    let rows = client.query(query, &[&table]).expect("columns");
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .map(|(name, of, default): (_, _, String)| {
            (name, of, Some(default).filter(|d| !d.is_empty()))
        })
        .collect()
}

/// The type of a column, and whether its default is a snowflake ID.
#[track_caller]
fn column(client: &mut Client, table: &str, name: &str) -> (String, bool) {
    let columns = columns(client, table);
    let (_, of, default) =
        columns.into_iter().find(|(column, ..)| column == name).expect("the column");
    (of, default.is_some_and(|default| default.ends_with(NEXT_ID)))
}

#[track_caller]
fn assert_adopted(client: &mut Client, table: &str, name: &str) {
    assert_eq!(column(client, table, name), ("bigint".into(), true), "{table}.{name}");
}

#[track_caller]
fn assert_left(client: &mut Client, table: &str, name: &str, of: &str) {
    assert_eq!(column(client, table, name), (of.into(), false), "{table}.{name}");
}
