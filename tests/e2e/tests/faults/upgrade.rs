//! pg_upgrade, and dump and restore: neither carries the register, so the floor is carried over by
//! hand: as `snowflake.start_after`, or with `snowflake_set_floor()`.

use snowflake_e2e::{Cluster, Journal, Server, bigint};

use super::{INSERT, create_orders};

fn old_cluster(journal: &Journal) -> Cluster {
    let cluster = Cluster::builder().server(Server::old_from_env()).fake_clock().start();
    create_orders(&cluster);
    let mut client = cluster.connect();
    for _ in 0..100 {
        journal.take(&mut client, INSERT).expect("an ID");
    }
    cluster
}

fn floor(cluster: &Cluster) -> String {
    cluster.connect().query_one("SELECT snowflake_floor()::text", &[]).expect("a floor").get(0)
}

fn go_on(cluster: &Cluster, journal: &Journal) {
    let mut client = cluster.connect();
    for _ in 0..100 {
        journal.take(&mut client, INSERT).expect("an ID");
    }
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 200);
    println!("moved, {} IDs", journal.check());
}

#[test]
fn pg_upgrade() {
    let journal = Journal::new();
    let mut old = old_cluster(&journal);
    let floor = floor(&old);
    old.stop();
    let mut new = Cluster::builder().fake_clock().create();
    println!("from PostgreSQL {} to {}", old.server().major(), new.server().major());
    new.upgrade_from(&old);
    new.set_clock("-1h");
    // The floor of the old cluster is in force before anybody can connect.
    new.configure(&[("snowflake.start_after", &floor)]);
    new.start_again();
    go_on(&new, &journal);
}

#[test]
fn dump_and_restore() {
    let journal = Journal::new();
    let mut old = old_cluster(&journal);
    let floor = floor(&old);
    let dump = old.client_program("pg_dump").output().expect("pg_dump runs");
    assert!(dump.status.success());
    let file = old.directory().join("dump.sql");
    std::fs::write(&file, dump.stdout).expect("a file");
    let new = Cluster::builder().fake_clock().start();
    new.connect().batch_execute("DROP EXTENSION snowflake").expect("dropped");
    new.set_clock("-1h");
    let restored = new
        .client_program("psql")
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"])
        .arg(&file)
        .output()
        .expect("psql runs");
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    old.stop();
    let set_floor = format!("SELECT snowflake_set_floor('{floor}')");
    new.connect().batch_execute(&set_floor).expect("a floor");
    go_on(&new, &journal);
}
