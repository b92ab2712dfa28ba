//! The reference has everything that the extension has, and its examples are real.

use snowflake_e2e::Cluster;
use snowflake_repository::page;

/// The items of lists that begin with a name in code.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        if line.starts_with("- `") {
            items.push(String::new());
            within = true;
        } else {
            within &= line.starts_with("  ");
        }
        if let (true, Some(item)) = (within, items.last_mut()) {
            *item += line.trim_start_matches("- ").trim_start();
            item.push('\n');
        }
    }
    items
}

/// Each function, view and column of the extension is in the reference, functions with an example.
#[test]
fn the_reference_is_complete() {
    let cluster = Cluster::start();
    let members = "
        SELECT p.proname::text, true
        FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        WHERE d.deptype = 'e' AND p.proname LIKE 'snowflake%'
            AND p.proname NOT IN
                ('snowflake_within_min', 'snowflake_within_max', 'snowflake_stat', 'snowflake_status',
                 'snowflake_stat_observations_refused',
                 'snowflake_guard_claims', 'snowflake_guard_layout', 'snowflake_horizon_held',
                 'snowflake_nextval_support', 'snowflake_nextval_in_copy',
                 'snowflake_printed', 'snowflake_convert', 'snowflake_revert')
        UNION
        SELECT viewname, false FROM pg_views WHERE viewname LIKE '%snowflake%'
        UNION
        SELECT column_name, false FROM information_schema.columns
        WHERE table_name IN ('pg_stat_snowflake', 'snowflake_status', 'snowflake_nodes', 'snowflake_layout')";
    let reference = page("docs/reference.md").text;
    let items = items(&reference);
    let mut functions = 0;
    for row in cluster.connect().query(members, &[]).expect("members") {
        let (name, is_function): (String, bool) = (row.get(0), row.get(1));
        if is_function {
            functions += 1;
            let item = items.iter().find(|item| item.starts_with(&format!("`{name}(")));
            let item = item.unwrap_or_else(|| panic!("{name} is not in the reference"));
            assert!(item.contains("` → `"), "{name} has no example");
        } else {
            let column = format!("`{name}`");
            let is_there = reference.contains(&column);
            assert!(is_there, "{name} is not in the reference");
        }
    }
    assert!(functions > 15);
}

/// The examples of settings, taken together, configure a server, and all of its settings are there,
/// each with its default and with what a change of it needs.
#[test]
fn the_settings_of_the_reference_are_real() {
    let reference = page("docs/reference.md");
    let settings = reference.section("Settings").text;
    let mut builder = Cluster::builder();
    let mut examples = Vec::new();
    for row in settings.lines().filter(|line| line.starts_with("`snowflake.") && line.contains('|'))
    {
        let cells: Vec<&str> = row.split(" | ").map(|cell| cell.trim_matches('`')).collect();
        let [name, default, value, needs, _] = cells[..] else { panic!("five cells: {row}") };
        let context = match needs {
            "restart" => "postmaster",
            "reload" => "sighup",
            "session" => "user",
            other => panic!("{name} needs {other}"),
        };
        // This machine does not have the file.
        let value = if name == "snowflake.public_key_file" { "" } else { value };
        builder = builder.set(name, value);
        examples.push((name, value, default, context));
    }
    let (configured, fresh) = (builder.start(), Cluster::start());
    let ask = |cluster: &Cluster, query: &str| -> String { cluster.value(query) };
    for (name, value, default, context) in &examples {
        let show = format!("SHOW {name}");
        assert_eq!(&ask(&configured, &show), value, "{name}");
        let of_setting = format!("SELECT context FROM pg_settings WHERE name = '{name}'");
        assert_eq!(&ask(&fresh, &of_setting), context, "the context of {name}");
        if !name.ends_with("er_id") {
            let default = if *default == "empty" { "" } else { default };
            assert_eq!(ask(&fresh, &show), default, "the default of {name}");
        }
    }
    let settings = "SELECT count(*) FROM pg_settings WHERE name LIKE 'snowflake.%'";
    assert_eq!(fresh.bigint(settings), examples.len() as i64);
}
