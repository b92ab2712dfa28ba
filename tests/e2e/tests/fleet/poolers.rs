//! Poolers between the clients and the server.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use postgres::{Config, NoTls, SimpleQueryMessage};
use snowflake_e2e::{
    Cluster, INSERT, Means, Service, assert_distinct, assert_increasing, create_orders, eventually,
    fleet_program, lacks, listening_ports,
};

/// Fewer sessions of the server than clients.
const POOL: usize = 2;
const CLIENTS: usize = 8;
const TRANSACTIONS: usize = 200;

/// In transaction mode, each transaction runs in any session of the pool. IDs come from the one
/// generator of the server, so they increase for each client all the same. `snowflake_currval()` is
/// right in the transaction that took the ID, and not after it, as `currval()` is.
#[test]
fn ids_increase_for_each_client_of_pgbouncer_in_transaction_mode() {
    if lacks(&[Means::Program("pgbouncer")]) {
        return;
    }
    let cluster = Cluster::start();
    create_orders(&cluster);
    let (directory, ini) = (cluster.directory(), cluster.directory().join("pgbouncer.ini"));
    let socket = directory.display();
    let text = format!(
        "[databases]\npostgres = host={socket} port=5432 user=postgres pool_size={POOL}\n\
         [pgbouncer]\nunix_socket_dir = {socket}\nunix_socket_mode = 0700\nlisten_port = 6432\n\
         auth_type = any\npool_mode = transaction\n"
    );
    fs::write(&ini, text).expect("a directory to write to");
    let mut command = fleet_program("pgbouncer");
    command.arg(&ini);
    let pgbouncer = Service::start(command, directory.join("pgbouncer.log"));
    let mut config = Config::new();
    config.host_path(directory).port(6432).user("postgres").dbname("postgres");
    eventually("pgbouncer is up", || config.connect(NoTls).is_ok());
    // It asks nobody who they are, so only the user that servers run as may get to it.
    assert_eq!(listening_ports(pgbouncer.pid()), BTreeSet::new());
    let socket = fs::metadata(directory.join(".s.PGSQL.6432")).expect("a socket");
    assert_eq!(socket.mode() & 0o777, 0o700);

    let ids: Vec<Vec<i64>> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|_| scope.spawn(|| insert_through(&config))).collect();
        clients.into_iter().map(|client| client.join().expect("a client")).collect()
    });
    for ids in &ids {
        assert_increasing(ids);
    }
    let ids: Vec<i64> = ids.concat();
    assert_eq!(ids.len(), CLIENTS * TRANSACTIONS);
    assert_distinct(ids);
    let sessions = cluster.bigint(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
         AND pid <> pg_backend_pid()",
    );
    assert!(sessions <= POOL as i64, "{sessions} sessions of the server");
}

/// The IDs of transactions that each asked for the ID of their own row.
fn insert_through(config: &Config) -> Vec<i64> {
    let mut client = config.connect(NoTls).expect("a session");
    (0..TRANSACTIONS)
        .map(|_| {
            // In one message: sessions of the pool know no prepared statements of others.
            let transaction = format!("BEGIN; {INSERT}; SELECT snowflake_currval(); COMMIT");
            let messages = client.simple_query(&transaction).expect("a transaction");
            let ids = messages.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
                _ => None,
            });
            let ids: Vec<i64> = ids.collect();
            assert!(ids.len() == 2 && ids[0] == ids[1], "{ids:?}");
            ids[0]
        })
        .collect()
}
