//! Memory is short: a statement fails, and the server goes on.

use std::fs;
use std::path::Path;
use std::process::Command;

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, ClusterBuilder, Run, as_server_user, calls_of, new_directory, values,
};

fn builder() -> ClusterBuilder {
    Cluster::builder()
        .public_keys("00112233445566778899aabbccddeeff\n")
        .set("snowflake.sequence_jitter", "7")
        .set("autovacuum", "off")
}

/// Calls of the extension by a role without privileges, from the catalog. A text is long where it
/// may be.
fn acts(cluster: &Cluster) -> Vec<String> {
    const VIEWS: &str = "SELECT format('TABLE %s', c.oid::regclass)
        FROM pg_depend JOIN pg_extension AS e ON refobjid = e.oid AND extname = 'snowflake'
        JOIN pg_class AS c ON classid = 'pg_class'::regclass AND objid = c.oid
        WHERE relkind IN ('r', 'v') AND has_table_privilege('plain', c.oid, 'SELECT')";
    const SETTINGS: &str =
        "SELECT format('SELECT set_config(%L, repeat(''a,'', 30000) || ''a'', false)', name)
        FROM pg_settings WHERE name LIKE 'snowflake.%'";
    let mut client = cluster.connect();
    client.run(
        "CREATE ROLE plain LOGIN; GRANT pg_read_server_files TO plain;
         CREATE SCHEMA blog AUTHORIZATION plain; SET ROLE plain;
         CREATE TABLE blog.kept (id bigint DEFAULT snowflake_nextval(), word text);
         CREATE TABLE blog.watched (id bigint DEFAULT snowflake_nextval());
         CREATE TRIGGER watch BEFORE INSERT ON blog.watched
             FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id'); RESET ROLE",
    );
    let mut acts = calls_of("plain", &mut client);
    assert!(acts.len() > 30, "{acts:?}");
    let texts = acts.iter().filter(|call| call.contains("'clock'"));
    acts.extend(
        texts.map(|call| call.replace("'clock'", "repeat('a', 60000)")).collect::<Vec<_>>(),
    );
    acts.extend(values::<String>(&mut client, VIEWS));
    acts.extend(values::<String>(&mut client, SETTINGS));
    let others = [
        "SET snowflake.adopted_schemas = 'blog'; CREATE TABLE blog.posts (id bigserial PRIMARY KEY)",
        "INSERT INTO blog.watched DEFAULT VALUES",
    ];
    acts.extend(others.map(str::to_owned));
    let rows = cluster.directory().join("rows");
    client.run(&format!("COPY (SELECT 'one') TO '{}'", rows.display()));
    acts.push(format!("COPY blog.kept (word) FROM '{}'", rows.display()));
    acts
}

/// The error of an act. PostgreSQL ends the session where a function with settings finds no memory
/// for them. A busy client then sees a connection that was closed, not always the error before
/// that.
fn error(client: &mut Client, before: &str, act: &str) -> Option<SqlState> {
    let failure = client.batch_execute(&format!("{before}; {act}")).err()?;
    if failure.is_closed() {
        return Some(SqlState::OUT_OF_MEMORY);
    }
    Some(failure.code().unwrap_or_else(|| panic!("{before}; {act}: {failure}")).clone())
}

/// Asserts that the library has ended neither the server nor a session.
#[track_caller]
fn assert_goes_on(cluster: &Cluster) {
    for end in ["was terminated by signal", "The reserve of the library snowflake_pg is used up."] {
        assert!(!cluster.log().contains(end), "{end}");
    }
}

/// The error of an act where memory is not short.
fn usual(cluster: &Cluster, act: &str) -> Option<SqlState> {
    error(&mut cluster.connect_as("plain", "postgres"), "BEGIN", act)
}

/// Returns whether the error says that memory is short. Regular expressions of PostgreSQL have an
/// error of their own for that.
fn is_short(error: &Option<SqlState>) -> bool {
    [SqlState::OUT_OF_MEMORY, SqlState::INVALID_REGULAR_EXPRESSION]
        .iter()
        .any(|short| error.as_ref() == Some(short))
}

/// Gives sessions that begin later 8 MB more of address space than the postmaster has, as `ulimit
/// -v` would.
fn limit(cluster: &Cluster) {
    let lines = fs::read_to_string(cluster.data().join("postmaster.pid")).expect("it runs");
    let postmaster = lines.lines().next().expect("a line");
    let pages = fs::read_to_string(format!("/proc/{postmaster}/statm")).expect("a process");
    let pages: u64 = pages.split(' ').next().expect("a number").parse().expect("a number");
    let limit = format!("--as={}", pages * 4096 + (8 << 20));
    let mut prlimit = as_server_user(Path::new("prlimit"));
    prlimit.args(["--pid", postmaster, &limit]);
    assert!(prlimit.status().expect("prlimit runs").success());
}

/// Sets a setting to a text of this size.
fn set(client: &mut Client, number: usize, size: usize) -> Result<(), postgres::Error> {
    let set = format!("SELECT set_config('fill.a{number}', repeat('x', {size}), false)");
    client.batch_execute(&set)
}

/// The pieces of 4,096 bytes that are freed one by one.
const FREED: usize = 12;

/// Fills the memory of a session with settings, and returns the size of each.
fn fill(client: &mut Client) -> Vec<usize> {
    const COUNT: usize = 800;
    let all = format!("FROM generate_series(0, {COUNT}) AS i");
    client.run(&format!("SELECT count(set_config('fill.a' || i, '', false)) {all}"));
    // Large texts might leave no piece of 4,096 bytes, and some have to be freed later.
    let mut filled = vec![4096; FREED];
    for number in 0..FREED {
        set(client, number, 4096).expect("memory for a few texts");
    }
    for size in [1_000_000, 60_000, 4096, 1024, 128] {
        while let Ok(()) = set(client, filled.len(), size) {
            filled.push(size);
        }
    }
    assert!(filled.len() < COUNT, "{}", filled.len());
    filled
}

/// At first, no piece of 128 bytes is left, and then one more of 4,096 bytes each time, and of
/// 60,000.
#[test]
fn no_act_of_a_plain_role_ends_a_server_whose_memory_is_full() {
    let cluster = builder().start();
    let acts = acts(&cluster);
    limit(&cluster);
    for act in &acts {
        let usual = usual(&cluster, act);
        let mut client = cluster.connect_as("plain", "postgres");
        let filled = &fill(&mut client);
        let of_size = |size| (0..filled.len()).rev().filter(move |at| filled[*at] == size);
        let mut free = of_size(4096).take(FREED).chain(of_size(60_000));
        let mut is_usual = false;
        while !is_usual {
            let error = error(&mut client, "BEGIN", act);
            is_usual = error == usual;
            assert!(is_usual || is_short(&error), "{act}: {error:?}, not {usual:?}");
            while client.batch_execute("ROLLBACK").is_err() {
                assert!(!client.is_closed(), "{act}");
            }
            match free.next() {
                Some(at) => drop(set(&mut client, at, 0)),
                None => break,
            }
        }
    }
    assert_goes_on(&cluster);
}

/// A library that servers load before all others, and with which memory is as short as memory.c
/// says.
fn short(directory: &Path) -> String {
    let library = directory.join("memory.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/behaviour/memory.c");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source);
    assert!(cc.status().expect("cc runs").success());
    format!("LD_PRELOAD={}", library.display())
}

/// The statement before which memory becomes short, after so many thousands of bytes more than the
/// base.
fn shorten(base: usize, after: usize) -> String {
    format!("BEGIN; SELECT length(repeat('x', {}))", base + after * 1000)
}

#[test]
fn no_allocation_that_fails_ends_the_server() {
    let directory = new_directory();
    let cluster = builder().environment(short(directory.path())).start();
    // All settings but one are refused alike.
    let others =
        |act: &String| !act.contains("set_config") || act.contains("snowflake.adopted_schemas");
    for act in acts(&cluster).into_iter().filter(others) {
        let usual = usual(&cluster, &act);
        for base in [3_000_500, 5_000_500] {
            let (mut after, mut in_a_row) = (0, 0);
            while in_a_row < 4 && after < 900 {
                let mut client = cluster.connect_as("plain", "postgres");
                let error = error(&mut client, &shorten(base, after), &act);
                let is_usual = error == usual;
                assert!(is_usual || is_short(&error), "{act}: {error:?}, not {usual:?}");
                in_a_row = if is_usual { in_a_row + 1 } else { 0 };
                after += 1 + after / 5;
            }
        }
    }
    assert_goes_on(&cluster);
}

/// A list of schemas whose names take more than the reserve. The session ends, and no other.
#[test]
fn where_the_reserve_is_used_up_a_session_ends() {
    let directory = new_directory();
    let cluster = builder().environment(short(directory.path())).start();
    acts(&cluster);
    let mut client = cluster.connect_as("plain", "postgres");
    client.run(
        "SELECT set_config('snowflake.adopted_schemas', repeat('a,', 32000) || 'blog', false)",
    );
    let create = "CREATE TABLE blog.posts (id bigserial PRIMARY KEY)";
    client.batch_execute(&format!("{}; {create}", shorten(3_000_500, 900))).expect_err("no memory");
    // Not always does a busy client read the error before it finds the connection closed.
    let ended = "FATAL:  out of memory\n";
    let log = cluster.log();
    let (_, detail) = log.split_once(ended).expect("the session has ended");
    let detail = detail.lines().next().expect("a detail");
    assert!(
        detail.ends_with("DETAIL:  The reserve of the library snowflake_pg is used up."),
        "{detail}"
    );
    assert!(cluster.value::<bool>("SELECT true"));
    cluster.assert_not_logged("was terminated by signal");
}
