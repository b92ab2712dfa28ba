//! A new key for public IDs, on a primary and its standby, under load.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use postgres::Client;
use snowflake_e2e::{Cluster, bigint, check, eventually, value};

use crate::public_ids::{ONE, TWO};

/// A primary and its standby, each with a file of its own, which has this key.
fn servers() -> [Cluster; 2] {
    let primary = Cluster::builder().public_keys(ONE).start();
    let mut standby = primary.base_backup(&["--write-recovery-conf"]);
    standby.write_public_keys(ONE);
    let file = standby.public_key_file();
    standby.configure(&[("snowflake.public_key_file", &file.to_string_lossy())]);
    standby.start_again();
    [primary, standby]
}

/// Writes the file of a server, and lets it be read.
pub fn give(server: &Cluster, keys: &str) {
    server.write_public_keys(keys);
    server.reload();
}

/// Waits until a server shows these keys: how many, and the fingerprint of the first.
pub fn wait_for(server: &Cluster, count: usize, fingerprint: &str) {
    let mut client = server.connect();
    eventually("the server shows its keys", || {
        let (_, detail, _) = check(&mut client, "public IDs");
        let there = if count == 1 { "is 1 key".into() } else { format!("are {count} keys") };
        detail == format!("There {there}. The fingerprint of the first is {fingerprint}.")
    });
}

/// A name that one server makes, and the other one reads: whether it does.
fn is_read(maker: &mut Client, reader: &mut Client, id: i64) -> bool {
    let name: String = value(maker, &format!("SELECT snowflake_to_public({id}, 'ord')"));
    value(
        reader,
        &format!("SELECT snowflake_from_public('{name}', 'ord') IS NOT DISTINCT FROM {id}"),
    )
}

/// Names go both ways while `change` runs. Returns how many there were, and how many were not read.
fn under_load(servers: &[Cluster; 2], change: impl FnOnce()) -> (usize, usize) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let load = |maker: usize| {
            let [mut maker, mut reader] = [maker, 1 - maker].map(|at| servers[at].connect());
            let is_over = &is_over;
            move || {
                let (mut names, mut unread) = (0, 0);
                while !is_over.load(SeqCst) {
                    names += 1;
                    unread += usize::from(!is_read(&mut maker, &mut reader, names as i64));
                }
                (names, unread)
            }
        };
        let clients = [0, 1, 0, 1].map(|maker| scope.spawn(load(maker)));
        change();
        is_over.store(true, SeqCst);
        let done = clients.map(|client| client.join().expect("the client ends"));
        done.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    })
}

pub const OF_ONE: &str = "cc481c86";
pub const OF_TWO: &str = "0c3900f7";

#[test]
fn no_lookup_fails_in_the_order_of_the_page() {
    let servers = servers();
    let [old, of_standby]: [String; 2] =
        servers.each_ref().map(|server| server.value("SELECT snowflake_to_public(7)"));
    assert_eq!(old, of_standby);
    // Both servers look the old name up all the while, as long as the old key is there.
    let is_old_key_there = AtomicBool::new(true);
    let look_up_the_old_name = |server: &Cluster| {
        let mut client = server.connect();
        let (mut found, read) = (0, format!("SELECT snowflake_from_public('{old}')"));
        while is_old_key_there.load(SeqCst) {
            assert_eq!(bigint(&mut client, &read), 7);
            found += 1;
        }
        found
    };
    let (names, unread) = under_load(&servers, || {
        thread::scope(|scope| {
            let lookups =
                servers.each_ref().map(|server| scope.spawn(|| look_up_the_old_name(server)));
            for (keys, count, first) in
                [(format!("{ONE}{TWO}"), 2, OF_ONE), (format!("{TWO}{ONE}"), 2, OF_TWO)]
            {
                for server in &servers {
                    give(server, &keys);
                    wait_for(server, count, first);
                }
            }
            is_old_key_there.store(false, SeqCst);
            let found = lookups.map(|lookup| lookup.join().expect("every lookup finds the row"));
            assert!(found.iter().all(|found| *found > 100), "{found:?}");
        });
        for server in &servers {
            give(server, TWO);
            wait_for(server, 1, OF_TWO);
        }
    });
    println!("{names} names");
    assert!(names > 100, "{names} names");
    assert_eq!(unread, 0, "of {names} names");
}

/// Names of the new key are out before the other server can read them, and fingerprints say why.
#[test]
fn lookups_fail_if_the_new_key_is_put_first_at_once() {
    let servers = servers();
    let [mut primary, mut standby] = servers.each_ref().map(Cluster::connect);
    wait_for(&servers[1], 1, OF_ONE);
    for (keys, count) in [(format!("{TWO}{ONE}"), 2), (TWO.into(), 1)] {
        give(&servers[0], &keys);
        wait_for(&servers[0], count, OF_TWO);
        assert!(!is_read(&mut primary, &mut standby, 1));
        assert_eq!(is_read(&mut standby, &mut primary, 1), count == 2);
    }
}
