//! A promotion in the middle.

use snowflake_e2e::{Cluster, bigint, eventually};

use super::program::{Running, succeed, widen};
use super::shops::{owner, with_orders};

/// The program names both servers, and goes on at the one that can be written to.
#[test]
fn the_program_goes_on_at_the_standby_that_was_promoted() {
    let mut primary = with_orders(Cluster::builder(), 60_000);
    let standby = primary.standby();
    let both = format!(
        "host={},{} port=5432 dbname=postgres",
        primary.directory().display(),
        standby.directory().display()
    );
    let mut running = Running::start(widen(&primary, &["prepare", "orders", "-d", &both]));
    running.wait_for("backfill");
    let mut reader = standby.connect();
    let copied = "SELECT count(*) FROM pg_attribute
                  WHERE attrelid = to_regclass('app.orders') AND attname = 'snowflake_widen_1'";
    eventually("the standby follows", || bigint(&mut reader, copied) == 1);
    primary.kill();
    running.wait_for("the connection was lost");
    standby.promote();
    running.wait_for("connected again");
    let said = running.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("connected again 1 times"), "{said:?}");
    succeed(&standby, &["swap", "orders"]);
    let mut client = owner(&standby, "postgres");
    assert_eq!(bigint(&mut client, "SELECT count(id) FROM orders"), 60_000);
}
