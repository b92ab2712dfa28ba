//! kill -9 of sessions and of the whole server under load, with the clock set back.

use snowflake_e2e::{Cluster, ClusterBuilder, INSERT, Journal, assert_rows, eventually, signal};

use super::{create_orders, plain_server, start};

/// Takes and stores IDs in four sessions while `crash` crashes the server so many times, with the
/// clock set back every other time.
fn crash_under_load(builder: ClusterBuilder, times: usize, crash: fn(&mut Cluster, &str)) {
    let mut cluster = start(builder.fake_clock());
    create_orders(&cluster);
    let journal = Journal::new();
    journal.under_load(&cluster.config(), 4, INSERT, || {
        for time in 0..times {
            journal.wait_for(300);
            crash(&mut cluster, if time.is_multiple_of(2) { "-1h" } else { "+0" });
        }
        journal.wait_for(300);
    });
    assert_rows(&cluster, &journal);
    println!("{times} crashes, {} IDs", journal.check());
}

#[test]
fn no_id_comes_back_after_the_server_is_killed() {
    crash_under_load(plain_server(), 10, Cluster::crash);
}

#[test]
fn no_id_comes_back_after_a_session_is_killed() {
    let builder = plain_server().set("restart_after_crash", "on");
    crash_under_load(builder, 8, |cluster, clock| {
        let query = "SELECT pid::bigint FROM pg_stat_activity WHERE query LIKE 'INSERT%' LIMIT 1";
        let victim = cluster.bigint(query);
        cluster.set_clock(clock);
        signal(victim, "KILL");
        eventually("the server accepts sessions again", || {
            cluster.config().connect(postgres::NoTls).is_ok()
        });
    });
}

/// A standby that has all WAL goes on above what its primary has given, however its clock is.
#[test]
fn no_id_comes_back_after_a_promotion() {
    let mut primary = start(plain_server().fake_clock());
    create_orders(&primary);
    let journal = Journal::new();
    let standby = primary.standby_at("-1h");
    journal.take_times(&primary, INSERT, 2000);
    primary.stop();
    standby.promote();
    journal.take_times(&standby, INSERT, 2000);
    journal.check();
}
