//! A floor that an administrator sets is in force and durable, or refused; without force it never
//! goes below issued IDs.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use postgres::Client;
use snowflake_e2e::{Cluster, Journal, Register, Run, beside, bigint, eventually, refusal};

use super::{NEXT, begin, begin_with, take};

const AN_HOUR_AGO: &str = "SELECT snowflake_set_floor(now() - interval '1 hour')";

/// A cluster with so few buffers that the register's page does not stay in one.
fn with_few_buffers() -> (Cluster, Journal) {
    begin_with(Cluster::builder().set("shared_buffers", "400kB"))
}

/// Scans that use all buffers, as sequential ones do not.
pub const INDEX_SCANS_ALONE: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off";
pub const SCANS: &str = "SELECT count(prosrc) FROM pg_proc WHERE oid > 0; SELECT count(attname) FROM pg_attribute WHERE attrelid > 0";

/// Zeroes the page on disk.
fn zero(cluster: &Cluster) {
    let file = fs::OpenOptions::new().write(true).open(Register::path(cluster));
    file.and_then(|mut file| file.write_all(&[0; 8192])).expect("root, or the owner");
}

/// Zeroes the page on disk, and waits until the server has seen that: its buffer is used for other
/// pages meanwhile.
fn zero_the_page(cluster: &Cluster, client: &mut Client) {
    client.run("CHECKPOINT");
    zero(cluster);
    client.run(INDEX_SCANS_ALONE);
    eventually("the page is read from disk", || {
        client.run(SCANS);
        client.query("SELECT snowflake_floor()", &[]).is_err()
    });
}

#[track_caller]
fn assert_lowering_is_refused(client: &mut Client) {
    let error = refusal(client.query(AN_HOUR_AGO, &[]));
    assert_eq!(error.message(), "the floor of snowflake IDs must not be lowered");
}

/// The page is zeroed on disk, and read as such. What the server has promised is in its memory: the
/// next record, of a floor or of an ID beyond what is reserved, makes the page whole.
#[test]
fn a_page_that_was_zeroed_under_a_running_server_is_written_whole() {
    for (record, clock) in [("SELECT snowflake_set_floor(now())", "+0"), (NEXT, "+10s")] {
        let (mut cluster, journal) = with_few_buffers();
        let mut client = cluster.connect();
        zero_the_page(&cluster, &mut client);
        assert_lowering_is_refused(&mut client);
        cluster.set_clock(clock);
        client.run(record);
        journal.take(&mut client, NEXT).expect("an ID");
        client.query("SELECT snowflake_floor()", &[]).expect("a whole page");
        cluster.restart_at("+0");
        take(&journal, &cluster);
        journal.check();
    }
}

#[test]
fn a_deleted_file_is_written_again() {
    let (mut cluster, journal) = begin();
    let mut client = cluster.connect();
    // Beyond what is reserved, so that the buffer pool has a page to write.
    cluster.set_clock("+10s");
    journal.take(&mut client, NEXT).expect("an ID");
    fs::remove_file(Register::path(&cluster)).expect("root, or the owner");
    assert_lowering_is_refused(&mut client);
    // Others go on meanwhile.
    take(&journal, &cluster);
    client.run("SELECT snowflake_set_floor(now() + interval '1 hour')");
    client.run("CHECKPOINT");
    cluster.crash("+10s");
    let ahead =
        "SELECT extract(epoch FROM snowflake_timestamp(snowflake_nextval()) - now())::bigint";
    let ahead = cluster.bigint(ahead);
    assert!((3500..3700).contains(&ahead), "{ahead} s");
    take(&journal, &cluster);
    journal.check();
}

/// A server that has not issued anything since its start has read the file, too: it does not make a
/// new one.
#[test]
fn a_server_that_only_decoded_does_not_start_over() {
    let (mut cluster, journal) = begin();
    cluster.restart_at("-1h");
    let mut client = cluster.connect();
    client.run("SELECT snowflake_timestamp(1)");
    fs::remove_file(Register::path(&cluster)).expect("root, or the owner");
    let error = refusal(journal.take(&mut client, NEXT));
    assert!(error.message().ends_with("was deleted while the server runs"), "{error}");
}

/// Floors at the very present, with a page that says nothing, while others take IDs: the floor is
/// refused, or everything after it is above it.
#[test]
fn ids_taken_meanwhile_do_not_come_back() {
    let (cluster, journal) = with_few_buffers();
    let (mut set, mut refused) = (0, 0);
    let mut administrator = cluster.connect();
    let evict = |_, stop: &AtomicBool| {
        let mut evictor = cluster.connect();
        evictor.run(INDEX_SCANS_ALONE);
        while !stop.load(SeqCst) {
            evictor.run(SCANS);
        }
    };
    // Floors are set after the zeros were read. PostgreSQL 19 does that seldom.
    let set_floors = || {
        for round in 0..30_000 {
            if round >= 300 && set > 0 {
                break;
            }
            zero(&cluster);
            let floor = format!(
                "SELECT snowflake_set_floor(clock_timestamp() + interval '{} ms')",
                round % 10
            );
            match administrator.query(&floor, &[]) {
                Ok(_) => set += 1,
                Err(error) => {
                    refusal::<()>(Err(error));
                    refused += 1;
                }
            }
        }
        journal.wait_for(100);
    };
    journal.under_load(&cluster.config(), 2, NEXT, || {
        journal.wait_for(100);
        beside(2, evict, set_floors);
    });
    let ids = journal.check();
    println!("{set} floors set, {refused} refused, {ids} IDs");
    assert!(set > 0);
}

#[test]
fn the_margin_is_added_on_a_promoted_server_that_has_not_begun() {
    // The worker would let it begin.
    let builder = Cluster::builder().set("max_worker_processes", "0");
    let (primary, _) = begin_with(builder.set("snowflake.failover_margin", "5s"));
    let standby = primary.standby();
    let mut client = standby.connect();
    eventually("the register reaches the standby", || {
        client.query_one("SELECT snowflake_floor() IS NOT NULL", &[]).is_ok_and(|row| row.get(0))
    });
    drop(primary);
    standby.promote();
    let ms = |time: &str| format!("SELECT (extract(epoch FROM {time}) * 1000)::bigint");
    let minute = "snowflake_set_floor(date_trunc('second', now()) + interval '1 minute')";
    let set = bigint(&mut client, &ms(minute));
    assert_eq!(bigint(&mut client, &ms("snowflake_floor()")), set + 5000);
    let first = bigint(&mut client, &ms("snowflake_timestamp(snowflake_nextval())"));
    assert_eq!(first, set + 5001);
}
