//! A standby decodes, and does not generate.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, Run, error_of, eventually};

#[test]
fn a_standby_does_not_generate() {
    let primary = Cluster::start();
    let mut client = primary.connect();
    client.run("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval()); INSERT INTO orders DEFAULT VALUES");
    let standby = primary.standby();
    let mut reader = standby.connect();
    eventually("the row reaches the standby", || {
        reader.query_one("SELECT count(*) FROM orders", &[]).expect("a count").get::<_, i64>(0) == 1
    });
    let error = error_of(reader.query("SELECT snowflake_nextval()", &[]));
    assert_eq!(error.code(), &SqlState::READ_ONLY_SQL_TRANSACTION);
    assert_eq!(error.message(), "cannot generate snowflake IDs during recovery");
    let error = error_of(reader.query("SELECT snowflake_nextval(10)", &[]));
    assert_eq!(error.code(), &SqlState::READ_ONLY_SQL_TRANSACTION);
    for (query, message) in [
        ("SELECT snowflake_set_floor(now())", "cannot set the floor of snowflake IDs"),
        ("SELECT snowflake_confirm('clock')", "cannot confirm a change for snowflake IDs"),
        ("SELECT snowflake_claim_node('db-1')", "cannot claim and release nodes"),
        ("SELECT snowflake_release_node('db-1', now())", "cannot claim and release nodes"),
    ] {
        let error = error_of(reader.query(query, &[]));
        assert_eq!(error.code(), &SqlState::READ_ONLY_SQL_TRANSACTION, "{error}");
        assert_eq!(error.message(), format!("{message} during recovery"));
        assert!(error.hint().expect("a hint").contains("on the primary"), "{error:?}");
    }
    let worker: i32 = reader
        .query_one("SELECT snowflake_worker_id(id) FROM orders", &[])
        .expect("decoded")
        .get(0);
    assert_eq!(worker, 9);

    // Once promoted, it does.
    reader.run("SELECT pg_promote()");
    let above = reader
        .query_one("SELECT snowflake_nextval() > max(id) FROM orders", &[])
        .expect("the promoted standby generates");
    assert!(above.get::<_, bool>(0));
}
