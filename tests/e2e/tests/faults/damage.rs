//! A register that is damaged, gone, of another layout or of another version; and a WAL that cannot
//! be written.

use std::fs;

use snowflake_e2e::{Cluster, Journal, Register, error_of, eventually, output, refusal};

use super::{NEXT, begin, begin_with, confirm, set_clock_back_to, set_floor, set_mode, take};

/// Asserts that the server issues nothing, and says of the register what is expected, and nothing
/// else: the warnings of PostgreSQL are for the log.
#[track_caller]
fn assert_refused(cluster: &Cluster, detail: &str, hint: &str) {
    let (mut client, notices) = cluster.connect_with_notices("postgres");
    for query in [NEXT, "SELECT snowflake_nextval(10)"] {
        let error = refusal(client.query(query, &[]));
        assert!(error.detail().expect("a detail").contains(detail), "{error:?}");
        assert!(error.hint().expect("a hint").contains(hint), "{error:?}");
    }
    drop(client);
    assert_eq!(notices.iter().collect::<Vec<_>>(), []);
}

/// The name of the damage, and the change of the page.
type Damage = (&'static str, fn(&mut Vec<u8>));

/// Changes the page of a stopped server.
fn edit(cluster: &Cluster, change: fn(&mut Vec<u8>)) {
    let path = Register::path(cluster);
    let mut page = fs::read(&path).expect("the register");
    change(&mut page);
    fs::write(path, page).expect("root, or the owner");
}

/// Asserts that a server that refuses its register goes on, for good, once a floor is set.
#[track_caller]
fn assert_mended_by_a_floor(cluster: &mut Cluster, journal: &Journal) {
    refusal(cluster.connect().query("SELECT snowflake_floor()", &[]));
    set_floor(cluster, journal);
    take(journal, cluster);
    cluster.restart();
    take(journal, cluster);
}

/// Damages the register of a stopped cluster in every way, with the clock set back each time: it is
/// noticed, and mended by a new floor.
fn damage_is_noticed_and_mended(checksums: bool) {
    let (mut cluster, journal) = begin();
    if checksums {
        cluster.stop();
        let mut enable = cluster.programs().program("pg_checksums");
        output(enable.args(["--enable", "--no-sync", "-D"]).arg(cluster.data()));
        cluster.start_again();
    }
    let damages: [Damage; 6] = [
        ("a flipped bit in the time", |page| page[24 + 25] ^= 4),
        ("a flipped bit in the magic", |page| page[24] ^= 1),
        ("other content", |page| page[24..].fill(b'x')),
        ("zeros behind the header", |page| page[24..].fill(0)),
        ("zeros", |page| page.fill(0)),
        ("nothing", |page| page.clear()),
    ];
    for (what, damage) in damages {
        take(&journal, &cluster);
        cluster.stop();
        edit(&cluster, damage);
        cluster.set_clock("-1h");
        cluster.start_again();
        println!("{what}, checksums {checksums}");
        assert_refused(&cluster, "it does not hold a valid record", "snowflake_set_floor");
        assert_mended_by_a_floor(&mut cluster, &journal);
        cluster.set_clock("+0");
    }
    println!("6 damages, {} IDs", journal.check());
}

#[test]
fn a_damaged_page_is_refused_until_a_floor_is_set() {
    damage_is_noticed_and_mended(false);
}

#[test]
fn a_damaged_page_is_refused_with_data_checksums_too() {
    damage_is_noticed_and_mended(true);
}

#[test]
fn a_deleted_register_is_created_again_and_logged() {
    let (mut cluster, journal) = begin();
    let floor = journal.issue_beyond_the_floor(&mut cluster.connect());
    let delete = |cluster: &mut Cluster| {
        cluster.stop();
        fs::remove_file(Register::path(cluster)).expect("the register");
        cluster.start_again();
    };
    let created = |cluster: &Cluster| {
        cluster.log().matches("LOG:  created the register of snowflake IDs").count()
    };
    let before = created(&cluster);
    delete(&mut cluster);
    set_clock_back_to(&cluster, &journal);
    let returned = journal.returned(&mut cluster.connect());
    assert!(returned > 0);
    assert_eq!(created(&cluster), before + 1);
    // A floor that is set first keeps them from coming again.
    delete(&mut cluster);
    cluster.set_clock("-1h");
    let set_floor = format!("SELECT snowflake_set_floor('{floor}')");
    cluster.run(&set_floor);
    take(&journal, &cluster);
    println!("{} IDs, of which {returned} came again without a floor", journal.check());
}

#[test]
fn a_register_deleted_under_a_running_server_is_recovered_from_the_wal() {
    let (mut cluster, journal) = begin();
    fs::remove_file(Register::path(&cluster)).expect("the register");
    let error = error_of(cluster.connect().batch_execute("CHECKPOINT"));
    assert!(error.message().contains("checkpoint request failed"), "{error}");
    cluster.assert_logged("could not open file \"global/4294965250\"");
    cluster.crash("-1h");
    take(&journal, &cluster);
    journal.check();
}

#[test]
fn a_record_of_a_later_release_is_refused() {
    let (mut cluster, _) = begin();
    cluster.stop();
    edit(&cluster, |page| page[24 + 8..24 + 12].copy_from_slice(&3u32.to_le_bytes()));
    cluster.start_again();
    assert_refused(
        &cluster,
        "its record has version 3, and this release reads version 2",
        "Install the release that wrote it",
    );
    // Not even a new floor replaces it.
    refusal(cluster.connect().query("SELECT snowflake_set_floor(now())", &[]));
}

/// No release wrote it. It is refused, and a new floor replaces it.
#[test]
fn a_record_of_version_one_is_refused_until_a_floor_is_set() {
    let (mut cluster, journal) = begin();
    cluster.stop();
    Register::set_version_1(&cluster);
    cluster.set_clock("-1h");
    cluster.start_again();
    assert_refused(
        &cluster,
        "its record has version 1, which only development versions wrote, and this release reads \
         version 2",
        "As a superuser, set a floor that is later than the time of every ID: SELECT \
         snowflake_set_floor('...').",
    );
    assert_mended_by_a_floor(&mut cluster, &journal);
    journal.check();
}

#[test]
fn a_changed_layout_is_refused_until_it_is_confirmed() {
    let (mut cluster, journal) = begin();
    // A later epoch, and narrower parts: IDs would come again.
    for (name, value, default) in [
        ("snowflake.epoch", "2020-01-01T00:00:00Z", "2010-11-04T01:42:54.657Z"),
        ("snowflake.sequence_bits", "10", "12"),
    ] {
        cluster.restart_with(&[(name, value)]);
        assert_refused(
            &cluster,
            "The layout was epoch 2010-11-04 01:42:54.657+00, widths 5, 5 and 12 bits",
            "snowflake_confirm('layout')",
        );
        let error = refusal(cluster.connect().query("SELECT snowflake_confirm('layout')", &[]));
        let again = "the configured snowflake.epoch and widths would issue IDs again";
        assert_eq!(error.message(), again);
        cluster.restart_with(&[(name, default)]);
        take(&journal, &cluster);
    }
    // An earlier epoch, and wider parts: all IDs are larger, and confirming is enough.
    for (name, value) in
        [("snowflake.epoch", "2010-01-01T00:00:00Z"), ("snowflake.sequence_bits", "13")]
    {
        cluster.restart_with(&[(name, value)]);
        assert_refused(&cluster, "The layout was epoch", "snowflake_confirm('layout')");
        assert!(confirm(&cluster, "layout"));
        take(&journal, &cluster);
        cluster.restart();
        take(&journal, &cluster);
    }
    println!("4 changes of layout, {} IDs", journal.check());
}

/// No WAL can be written: a PANIC, as for any commit, and afterwards nothing repeats.
#[test]
fn no_id_comes_back_after_the_wal_could_not_be_written() {
    let (mut cluster, journal) = begin_with(
        Cluster::builder().set("restart_after_crash", "off").set("max_wal_size", "32MB"),
    );
    // Ahead of the clock after the restart, in case the WAL ends at the first switch.
    let mut hours = 1;
    cluster.set_clock("+1h");
    take(&journal, &cluster);
    let wal = cluster.data().join("pg_wal");
    set_mode(&wal, 0o500);
    let mut client = cluster.connect();
    // Each round uses up a segment, until there is none left to write to.
    while client.batch_execute("SELECT pg_switch_wal()").is_ok() {
        hours += 1;
        assert!(hours < 20, "the WAL goes on");
        cluster.set_clock(&format!("+{hours}h"));
        if journal.take(&mut client, NEXT).is_err() {
            break;
        }
    }
    eventually("the PANIC", || cluster.log().contains("PANIC:  could not create file"));
    set_mode(&wal, 0o700);
    cluster.crash("+0");
    assert!(cluster.bigint(NEXT) > journal.highest());
    journal.check();
}
