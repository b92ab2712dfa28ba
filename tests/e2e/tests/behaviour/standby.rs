//! A standby decodes, and does not generate.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, INSERT, bigint, create_orders, error_of, eventually};

#[test]
fn a_standby_does_not_generate() {
    let primary = Cluster::start();
    create_orders(&primary);
    let last = primary.bigint(INSERT);
    let standby = primary.standby();
    let mut reader = standby.connect();
    let rows = "SELECT count(*) FROM orders";
    eventually("the row reaches the standby", || bigint(&mut reader, rows) == 1);
    for (call, message) in [
        ("snowflake_nextval()", "cannot generate snowflake IDs"),
        ("snowflake_nextval(10)", "cannot generate snowflake IDs"),
        ("snowflake_observe(1)", "cannot observe snowflake IDs"),
        ("snowflake_horizon()", "cannot return the horizon of snowflake IDs"),
        ("snowflake_set_floor(now())", "cannot set the floor of snowflake IDs"),
        ("snowflake_confirm('clock')", "cannot confirm a change for snowflake IDs"),
        ("snowflake_claim_node('db-1')", "cannot claim and release nodes"),
        ("snowflake_release_node('db-1', now())", "cannot claim and release nodes"),
    ] {
        let error = error_of(reader.query(&format!("SELECT {call}"), &[]));
        assert_eq!(error.code(), &SqlState::READ_ONLY_SQL_TRANSACTION, "{error}");
        assert_eq!(error.message(), format!("{message} during recovery"));
        assert!(error.hint().expect("a hint").contains("on the primary"), "{error:?}");
    }
    let worker = "SELECT snowflake_worker_id(id)::bigint FROM orders";
    assert_eq!(bigint(&mut reader, worker), 9);
    let status = "SELECT count(*) FROM snowflake_status WHERE in_recovery AND last_id IS NULL";
    assert_eq!(bigint(&mut reader, status), 1);

    // Once promoted, it does.
    standby.promote();
    assert!(bigint(&mut reader, INSERT) > last);
}
