//! The file of the keys of public IDs: when it is read, what is wrong with it, and what is said of
//! it. Nothing shows a key.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, Means, Run, bigint, error_of, eventually, is_root, new_directory, output, refusal,
    signal, skip, value, values,
};

use crate::public_ids::{ONE, TWO};
use crate::public_key_rotation::{OF_ONE, OF_TWO, give, wait_for};

/// The row of the check: whether it is well, and its detail.
fn check(client: &mut Client) -> (bool, String) {
    let (ok, detail, _) = snowflake_e2e::check(client, "public IDs");
    (ok, detail)
}

/// The name of an ID now, in a statement of its own.
fn name(client: &mut Client) -> String {
    value(client, "SELECT snowflake_to_public(1)")
}

fn reads(client: &mut Client, name: &str) -> bool {
    value(client, &format!("SELECT snowflake_from_public('{name}') IS NOT DISTINCT FROM 1"))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a file");
}

/// Makes the file bad in one way after the other. `notice` gets what it is, and what is to be said.
fn each_bad(cluster: &mut Cluster, mut notice: impl FnMut(&mut Cluster, &str, &str)) {
    let nine: String = (0..9).map(|key| format!("{key:032x}\n")).collect();
    for (what, text, reason) in [
        ("empty", "", "it has no key"),
        ("a comment", "# no\n", "it has no key"),
        ("NUL bytes", "\0\0\0\0", "line 1 is not 32 hexadecimal digits"),
        ("9 keys", &nine, "line 9 has one key more than the 8 that are allowed"),
        ("a key twice", &[ONE, TWO, ONE].concat(), "line 3 has the same key as line 1"),
        ("31 digits", &[TWO, &ONE[1..]].concat(), "line 2 is not 32 hexadecimal digits"),
        ("one line", &[ONE.trim(), " ", TWO].concat(), "line 1 is not 32 hexadecimal digits"),
        ("a mark", &["\u{feff}", ONE].concat(), "line 1 begins with a byte order mark"),
    ] {
        cluster.write_public_keys(text);
        notice(cluster, what, reason);
    }
    let file = cluster.public_key_file();
    for (mode, reason) in [
        (0o644, "it has group or world access"),
        (0o640, "it has group or world access"),
        (0o000, "Permission denied"),
    ] {
        cluster.write_public_keys(ONE);
        set_mode(&file, mode);
        notice(cluster, &format!("mode {mode:o}"), reason);
    }
    cluster.write_public_keys(ONE);
    let sparse = fs::OpenOptions::new().write(true).open(&file).expect("a file");
    sparse.set_len(1 << 30).expect("a sparse file");
    notice(cluster, "1 GB", "it is larger than 65536 bytes");
    fs::remove_file(&file).expect("a file");
    notice(cluster, "missing", "No such file or directory");
    fs::create_dir(&file).expect("a directory");
    notice(cluster, "a directory", "it is not a regular file");
    fs::remove_dir(&file).expect("a directory");
    output(Command::new("mkfifo").args(["-m", "644"]).arg(&file));
    notice(cluster, "a pipe", "it is not a regular file");
    fs::remove_file(&file).expect("a pipe");
}

/// Asserts that the log gives the reason, and no part of a key.
fn assert_said(log: &str, what: &str, reason: &str) {
    let line = "cannot use the keys of public IDs in";
    let said = log.lines().any(|said| said.contains(line) && said.contains(reason));
    assert!(said, "{what}: {reason}\n{log}");
    for key in [ONE, TWO] {
        assert!(!log.contains(&key[..8]), "{what}: {log}");
    }
}

/// The server does not start, for this reason.
fn assert_does_not_start(cluster: &mut Cluster, what: &str, reason: &str) {
    assert!(cluster.try_start().is_err(), "{what}: the server starts");
    assert_said(&cluster.log(), what, reason);
    fs::remove_file(cluster.directory().join("log")).expect("a log");
}

#[test]
fn a_bad_file_stops_the_start() {
    let mut cluster = Cluster::builder().public_keys(ONE).create();
    each_bad(&mut cluster, assert_does_not_start);
    cluster.write_public_keys(format!(
        "# orders\r\n\r\n{}\t# made in May\r\n",
        ONE.trim().to_uppercase()
    ));
    cluster.start_again();
    let (ok, detail) = check_of(&cluster);
    assert!(ok, "{detail}");
}

/// Root may own the file, and let its group read it, as in a mounted secret. Anybody else could
/// exchange it.
#[test]
fn the_file_belongs_to_the_server_or_to_root() {
    if !is_root() {
        return skip(Means::Other("root"));
    }
    let mut cluster = Cluster::builder().public_keys(ONE).create();
    let file = cluster.public_key_file();
    let group = output(Command::new("id").args(["-g", "postgres"])).trim().parse().ok();
    for (owner, mode, reason) in [
        (0, 0o640, ""),
        (0, 0o440, ""),
        (0, 0o644, "it has group or world access"),
        (0, 0o660, "it has group or world access"),
        (1, 0o644, "it must be owned by the user who runs the server, or by root"),
    ] {
        chown(&file, Some(owner), group).expect("root");
        set_mode(&file, mode);
        if reason.is_empty() {
            cluster.start_again();
            assert!(check_of(&cluster).0, "{mode:o}");
            cluster.stop();
        } else {
            assert_does_not_start(&mut cluster, &format!("{owner} {mode:o}"), reason);
        }
    }
}

/// The row of the check in a database without the extension.
fn check_of(cluster: &Cluster) -> (bool, String) {
    let mut client = cluster.connect();
    client.run("CREATE EXTENSION IF NOT EXISTS snowflake");
    check(&mut client)
}

#[test]
fn a_bad_file_changes_nothing_on_a_reload() {
    let mut cluster = Cluster::builder().public_keys(ONE).start();
    let mut client = cluster.connect();
    let before = name(&mut client);
    let failed =
        |cluster: &Cluster| cluster.log().matches("cannot use the keys of public IDs in").count();
    let mut files = 0;
    each_bad(&mut cluster, |cluster, what, reason| {
        cluster.reload();
        eventually("the worker has read the file", || failed(cluster) > files);
        files += 1;
        assert_said(&cluster.log(), what, reason);
        cluster.assert_logged("The keys from before remain in use.");
        assert_eq!(name(&mut client), before, "{what}");
        let (ok, detail) = check(&mut client);
        assert!(!ok && detail.contains("They are from before"), "{what}: {detail}");
    });
    assert_eq!(failed(&cluster), files, "one line for each reload");
    give(&cluster, ONE);
    eventually("the file is good again", || check(&mut client).0);
    assert_eq!(name(&mut client), before);
}

#[test]
fn keys_change_on_a_reload_without_a_restart() {
    let cluster = Cluster::builder().public_keys(ONE).start();
    let mut client = cluster.connect();
    let one = format!("There is 1 key. The fingerprint of the first is {OF_ONE}.");
    assert_eq!(check(&mut client), (true, one));
    let first = name(&mut client);

    // The file is replaced by a rename, and then removed: the server keeps what it has read.
    cluster.write_public_keys(format!("{TWO}{ONE}"));
    assert_eq!(name(&mut client), first, "nothing is read without a reload");
    fs::remove_file(cluster.public_key_file()).expect("a file");
    assert_eq!(name(&mut client), first, "the file is not looked at");
    give(&cluster, &format!("{TWO}{ONE}"));
    wait_for(&cluster, 2, OF_TWO);
    let second = name(&mut client);
    assert_ne!(second, first);
    assert!(reads(&mut client, &first) && reads(&mut client, &second));
    cluster.assert_logged("public IDs have 2 keys, the first with fingerprint");
}

/// Which file it is, and whether there is a worker that reads it again, is fixed at the start.
#[test]
fn the_file_is_chosen_at_the_start() {
    let mut cluster = Cluster::start();
    let mut client = cluster.connect();
    assert_eq!(check(&mut client), (true, "There are no keys.".into()));
    assert!(!has_worker(&cluster));
    cluster.write_public_keys(ONE);
    let file = cluster.public_key_file();
    cluster.reload_with(&[("snowflake.public_key_file", &file.to_string_lossy())]);
    let refused = "parameter \"snowflake.public_key_file\" cannot be changed without restarting";
    eventually("the reload refuses it", || cluster.log().contains(refused));
    assert_eq!(check(&mut client).1, "There are no keys.");
    let error = error_of(client.batch_execute("SELECT snowflake_to_public(1)"));
    assert!(error.hint().is_some_and(|hint| hint.contains("restart the server")), "{error}");
    cluster.restart();
    let mut client = cluster.connect();
    assert!(check(&mut client).1.starts_with("There is 1 key."));
    assert!(has_worker(&cluster));
    cluster.restart_with(&[("snowflake.public_key_file", "")]);
    assert_eq!(check(&mut cluster.connect()).1, "There are no keys.");
    assert!(!has_worker(&cluster));
}

fn has_worker(cluster: &Cluster) -> bool {
    cluster.background_worker("snowflake public keys").is_some()
}

/// The keys are lost with the shared memory, and read again. If that fails, there are none: those
/// of the start might have leaked since.
#[test]
fn keys_are_read_again_after_a_crash() {
    for workers in ["8", "0"] {
        let builder = Cluster::builder().public_keys(ONE).set("max_worker_processes", workers);
        let cluster = builder.start();
        let first = name(&mut cluster.connect());
        cluster.write_public_keys(format!("{TWO}{ONE}"));
        cluster.crash_a_backend();
        let mut client = cluster.connect();
        let second = name(&mut client);
        assert!(second != first && reads(&mut client, &first), "{workers} workers");

        fs::remove_file(cluster.public_key_file()).expect("a file");
        cluster.crash_a_backend();
        let mut client = cluster.connect();
        refusal(client.batch_execute("SELECT snowflake_to_public(1)"));
        let expected = (false, "There are no keys: their file cannot be used.".to_owned());
        assert_eq!(check(&mut client), expected);
        cluster.assert_logged("Public IDs have no keys until the file can be used.");
    }
}

/// A path that leads nowhere any more, and was not read again since, is where it says that the file
/// was. A link outside is outside then, wherever it led.
#[test]
fn a_file_in_the_data_directory_is_a_failing_row() {
    const INSIDE: &str = "Their file is in the data directory, which backups copy.";
    let mut cluster = Cluster::builder().public_keys(ONE).start();
    let outside = cluster.public_key_file();
    let inside = cluster.data().join("public.keys");
    let link = cluster.directory().join("link.keys");
    symlink(&inside, &link).expect("a directory to write to");
    for path in [&*outside, Path::new("public.keys"), &inside, &link] {
        let is_outside = path == outside;
        if !is_outside {
            fs::rename(&outside, &inside).expect("the same file system");
        }
        cluster.restart_with(&[("snowflake.public_key_file", &path.to_string_lossy())]);
        let (ok, detail) = check_of(&cluster);
        assert!(ok == is_outside && detail.ends_with(INSIDE) != ok, "{path:?}: {detail}");
        fs::remove_file(if is_outside { &outside } else { &inside }).expect("a file");
        let (ok, detail) = check_of(&cluster);
        let is_outside = is_outside || path == link;
        assert!(ok == is_outside && detail.ends_with(INSIDE) != ok, "{path:?}: {detail}");
        assert!(detail.starts_with("There is 1 key."), "{detail}");
        cluster.write_public_keys(ONE);
    }
}

/// A worker that ended says so, until the server has started it again after 5 seconds.
#[test]
fn a_worker_that_ended_shows_in_the_check() {
    let cluster = Cluster::builder().public_keys(ONE).start();
    let mut client = cluster.connect();
    eventually("the worker runs", || check(&mut client).0);
    signal(cluster.background_worker("snowflake public keys").expect("it runs"), "TERM");
    eventually("the check says so", || check(&mut client).1.ends_with("does not run."));
    eventually("it is started again", || check(&mut client).0);
}

/// A path is bytes, in which nobody has to write UTF-8.
#[test]
fn a_path_need_not_be_utf8() {
    let mut cluster = Cluster::builder().public_keys(ONE).create();
    let path = cluster.directory().join(OsStr::from_bytes(b"k\xe9y"));
    fs::rename(cluster.public_key_file(), &path).expect("a directory to write to");
    let conf = cluster.data().join("postgresql.conf");
    let mut text = fs::read(&conf).expect("postgresql.conf");
    text.extend(b"snowflake.public_key_file = '");
    text.extend(path.as_os_str().as_bytes());
    text.extend(b"'\n");
    fs::write(&conf, text).expect("postgresql.conf");
    cluster.start_again();
    let (ok, detail) = check_of(&cluster);
    assert!(ok && detail.starts_with("There is 1 key."), "{detail}");
}

/// A reload in the middle of a statement changes nothing for it, nor for its parallel workers.
#[test]
fn a_statement_keeps_its_keys() {
    let cluster = Cluster::builder().public_keys(ONE).start();
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE many AS SELECT i::bigint AS id FROM generate_series(1, 400) AS i;
         ALTER TABLE many SET (parallel_workers = 2);
         CREATE FUNCTION slowly(id bigint) RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
             AS 'SELECT id FROM pg_sleep(0.01)';
         ALTER DATABASE postgres SET parallel_setup_cost = 0;
         ALTER DATABASE postgres SET parallel_tuple_cost = 0;
         ALTER DATABASE postgres SET min_parallel_table_scan_size = 0;
         ALTER DATABASE postgres SET max_parallel_workers_per_gather = 2;
         ANALYZE many",
    );
    let with_one = vec![name(&mut client)];
    let names = "SELECT DISTINCT snowflake_to_public(slowly(id) * 0 + 1) FROM many";
    assert_eq!(reloaded_during(&cluster, names, &format!("{TWO}{ONE}")), with_one);
    let after: Vec<String> = values(&mut client, names);
    assert!(after.len() == 1 && after != with_one, "{after:?}");
    // One that makes its first name after the reload began before it, too.
    let late = "SELECT snowflake_to_public(1) FROM pg_sleep(3)";
    assert_eq!(reloaded_during(&cluster, late, &format!("{ONE}{TWO}")), after);
}

/// The names that a query makes, while others come to make other ones by these keys.
fn reloaded_during(cluster: &Cluster, query: &str, keys: &str) -> Vec<String> {
    let mut other = cluster.connect();
    let before = name(&mut other);
    thread::scope(|scope| {
        let statement = scope.spawn(|| values(&mut cluster.connect(), query));
        let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        eventually("it has begun", || bigint(&mut other, sleeping) > 0);
        give(cluster, keys);
        eventually("others have the new key", || name(&mut other) != before);
        statement.join().expect("the statement ends")
    })
}

/// No role is shown a key, nor is it logged, with everything that a server can log.
#[test]
fn nothing_shows_a_key() {
    let cluster = Cluster::builder()
        .public_keys(ONE)
        .set("log_min_messages", "debug5")
        .set("log_statement", "all")
        .set("log_min_duration_statement", "0")
        .set("log_error_verbosity", "verbose")
        .set("debug_print_plan", "on")
        .set("debug_print_rewritten", "on")
        .set("debug_print_parse", "on")
        .start();
    let mut client = cluster.connect();
    client.run("CREATE ROLE ordinary LOGIN");
    let mut ordinary = cluster.connect_as("ordinary", "postgres");
    give(&cluster, &format!("{TWO}{ONE}"));
    wait_for(&cluster, 2, OF_TWO);
    let mut shown = String::new();
    for query in [
        "SELECT snowflake_to_public(1, 'ord'), snowflake_from_public('x', 'ord')",
        "EXPLAIN (ANALYZE, VERBOSE) SELECT snowflake_to_public(1), snowflake_from_public('x')",
        "SHOW snowflake.public_key_file",
        "SELECT name, setting, boot_val, reset_val, short_desc, extra_desc FROM pg_settings WHERE name ~ 'snowflake'",
        "SELECT name, detail, hint FROM snowflake_check()",
        "SELECT * FROM snowflake_status, pg_stat_snowflake",
        "SELECT name, size FROM pg_shmem_allocations",
        "SELECT name, sourceline FROM pg_file_settings",
        "SELECT name FROM pg_backend_memory_contexts",
        "SELECT query FROM pg_stat_activity",
        "SELECT snowflake_to_public(1, 'No')",
        "SELECT snowflake_from_public(repeat('z', 22), 'ord')",
        // An error with a context.
        "DO $$ BEGIN PERFORM snowflake_to_public(1, 'No'); END $$",
    ] {
        for client in [&mut client, &mut ordinary] {
            match client.simple_query(query) {
                Ok(messages) => shown += &format!("{messages:?}\n"),
                Err(error) => shown += &format!("{error:?}\n"),
            }
        }
    }
    let read = format!("SELECT pg_read_file('{}')", cluster.public_key_file().display());
    let denied = error_of(ordinary.batch_execute(&read));
    assert_eq!(denied.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{denied}");
    let path = cluster.public_key_file();
    assert!(shown.contains(&path.display().to_string()), "SHOW gives the path");
    assert!(cluster.log().contains("PL/pgSQL function inline_code_block"), "no context");
    let all = format!("{shown}{}", cluster.log()).to_lowercase();
    for key in [ONE, TWO] {
        let key = key.trim();
        let bytes: Vec<String> = (0..16).map(|at| key[2 * at..2 * at + 2].to_owned()).collect();
        for form in [key[..8].to_owned(), key[24..].to_owned(), bytes[..4].join(" ")] {
            assert!(!all.contains(&form), "{form} is shown");
        }
        let number = u128::from_str_radix(key, 16).expect("a key");
        assert!(!all.contains(&number.to_string()));
    }
    assert_eq!(bigint(&mut client, "SELECT snowflake_from_public(snowflake_to_public(7))"), 7);
}

/// The commands of the page, in another directory than /etc/snowflake.
#[test]
fn the_commands_of_the_page_make_and_add_a_key() {
    if !is_root() {
        return skip(Means::Other("root"));
    }
    let page = include_str!("../../../../docs/public-ids.md");
    let blocks =
        page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("console\n"));
    let of_keys = blocks.filter(|block| block.contains("public.keys"));
    let directory = new_directory();
    let commands = |block: &str| {
        let lines = block.lines().filter_map(|line| line.trim().strip_prefix("# "));
        let all = lines.map(|line| format!("{line}\n")).collect::<String>();
        all.replace("/etc/snowflake", &directory.path().display().to_string())
    };
    let [make, add] = of_keys.map(commands).collect::<Vec<_>>().try_into().expect("two blocks");
    let run = |commands: &str| _ = output(Command::new("sh").args(["-ec", commands]));
    run(&make);
    let mut cluster = Cluster::builder().create();
    let file = directory.path().join("public.keys");
    cluster.configure(&[("snowflake.public_key_file", &file.to_string_lossy())]);
    cluster.start_again();
    let (ok, detail) = check_of(&cluster);
    assert!(ok && detail.starts_with("There is 1 key."), "{detail}");
    let mut client = cluster.connect();
    let first = name(&mut client);
    run(&add);
    cluster.reload();
    eventually("there are two keys", || check(&mut client).1.starts_with("There are 2 keys."));
    assert_eq!(name(&mut client), first, "the last key makes no names");
}
