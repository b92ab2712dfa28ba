//! Public IDs that programs make and read: without the database, and in Django and Rails.

use std::io::Write;
use std::process::{Command, Stdio};

use postgres::Client;
use snowflake_e2e::bigints;

use crate::program::{KEYS, Program, stdout};

/// Converts these lines with a program of `tests/clients/public-ids/`, `to` or `from` names.
fn converted(mut command: Command, direction: &str, prefix: &str, lines: &[String]) -> Vec<String> {
    command.args([direction, prefix]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the program reads");
    let printed = stdout(child.wait_with_output().expect("the program ends"));
    printed.lines().map(str::to_owned).collect()
}

/// Converts them on the server.
fn names(client: &mut Client, ids: &[i64], prefix: &str) -> Vec<String> {
    let names = "SELECT snowflake_to_public(id, $2) FROM unnest($1::bigint[]) AS id";
    client.query(names, &[&ids, &prefix]).expect("names").iter().map(|row| row.get(0)).collect()
}

fn ids(client: &mut Client, names: &[String], prefix: &str) -> Vec<String> {
    let ids = "SELECT coalesce(snowflake_from_public(name, $2)::text, 'nobody''s')
         FROM unnest($1::text[]) AS name";
    client.query(ids, &[&names, &prefix]).expect("IDs").iter().map(|row| row.get(0)).collect()
}

/// A program and the server make the same names, read each other's, and refuse the same forgeries.
#[test]
fn programs_agree_with_the_server() {
    for command in ["python convert.py", "node convert.mjs", "public-ids"] {
        println!("{command}");
        let program = Program::of("public-ids");
        let convert = |direction, prefix, lines: &[String]| {
            converted(program.command(command), direction, prefix, lines)
        };
        program.write("keys", KEYS);
        let mut client = program.cluster.connect();
        let mut some = vec![0, 1, -1, i64::MIN, i64::MAX, 1_268_118_639_732_232_192];
        some.extend(bigints(&mut client, "SELECT snowflake_nextval(500)"));
        let lines: Vec<String> = some.iter().map(i64::to_string).collect();
        for prefix in ["", "ord", "order_line"] {
            let made = names(&mut client, &some, prefix);
            assert_eq!(convert("to", prefix, &lines), made);
            assert_eq!(convert("from", prefix, &made), lines);
            assert_eq!(ids(&mut client, &made, prefix), lines);
            let mut forged: Vec<String> =
                ["", "ord_", "zzzzzzzzzzzzzzzzzzzzzz", "ord_7n42DGM5Tflk9n8mt7Fhc8", "ö"]
                    .map(Into::into)
                    .into();
            for name in &made {
                let (start, end) = name.split_at(name.len() - 1);
                let other = if end == "0" { "1" } else { "0" };
                forged.extend([format!("{start}{other}"), start.into()]);
                forged.extend([format!(" {name}"), format!("{name} "), format!("x{name}")]);
            }
            let nobodys = vec!["nobody's".to_owned(); forged.len()];
            assert_eq!(convert("from", prefix, &forged), nobodys);
            assert_eq!(ids(&mut client, &forged, prefix), nobodys);
        }
        // Names of the second key, which makes none as long as it is second.
        let (first, second) = KEYS.trim().split_once('\n').expect("two keys");
        program.write("keys", &format!("{second}\n{first}\n"));
        let made = convert("to", "ord", &lines);
        program.write("keys", KEYS);
        assert_eq!(convert("from", "ord", &made), lines);
        assert_eq!(ids(&mut client, &made, "ord"), lines);
    }
}

/// Checks the output of a program of a framework: the names of its orders, and the order that it
/// finds by the first one.
fn serializes(printed: &str, program: &Program) {
    let lines: Vec<&str> = printed.lines().collect();
    let orders: Vec<serde_json::Value> = serde_json::from_str(lines[0]).expect("JSON");
    let made = names(&mut program.cluster.connect(), &program.ids("orders"), "ord");
    let shown: Vec<&str> =
        orders.iter().map(|order| order["id"].as_str().expect("a name")).collect();
    assert_eq!(shown, made);
    assert_eq!(lines[1..], ["found tea", "a forged name: not found"]);
}

#[test]
fn django() {
    let program = Program::of("django");
    program.run("python -m django makemigrations orders");
    program.run("python -m django migrate");
    serializes(&program.run("python public_ids.py"), &program);
}

#[test]
fn rails() {
    let program = Program::of("activerecord");
    program.create_orders();
    serializes(&program.run("ruby public_ids.rb"), &program);
}
