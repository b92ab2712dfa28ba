//! Without shared_preload_libraries, what a reload reads counts in the sessions that begin after
//! it.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, ClusterBuilder, error_of, eventually, value};

fn unloaded() -> ClusterBuilder {
    Cluster::builder().unset("shared_preload_libraries")
}

#[test]
fn a_bad_epoch_is_an_error_each_time() {
    let cluster = unloaded().start();
    cluster.reload_with(&[("snowflake.epoch", "yesterday")]);
    let mut client = cluster.connect();
    let epoch = "SELECT current_setting('snowflake.epoch', true)";
    eventually("the session has the setting", || {
        value::<Option<String>>(&mut client, epoch).as_deref() == Some("yesterday")
    });
    for _ in 0..3 {
        let error = error_of(client.query("SELECT snowflake_timestamp(1268118639732232192)", &[]));
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE);
        let message = "invalid value for parameter \"snowflake.epoch\": \"yesterday\"";
        assert_eq!(error.message(), message);
    }
}

#[test]
fn a_reload_keeps_the_configured_epoch() {
    let cluster = unloaded().set("snowflake.epoch", "1420070400000").start();
    cluster.reload_with(&[("work_mem", "5MB")]);
    let reloaded = "SELECT (current_setting('work_mem') = '5MB')::int::bigint";
    eventually("a new session has it", || cluster.bigint(reloaded) == 1);
    let decode = "SELECT snowflake_timestamp(175928847299117063)::text";
    assert_eq!(cluster.value::<String>(decode), "2016-04-30 11:18:25.796+00");
}
