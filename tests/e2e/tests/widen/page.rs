//! The commands of the page, in their order.

use snowflake_e2e::{Cluster, output};
use snowflake_repository::page;

use super::program::{Running, widen};

#[test]
fn every_command_of_the_page_is_run() {
    let page = page("docs/widen.md");
    // The tables of the page, before anything is executed by hand.
    let tables = page.section("Look").blocks().remove(0);
    let cluster = Cluster::builder().start();
    let file = cluster.directory().join("tables.sql");
    std::fs::write(&file, &tables.text).expect("a directory to write to");
    let mut psql = cluster.client_program("psql");
    output(psql.args(["-Xq", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file));
    let mut commands = Vec::new();
    for block in page.blocks().iter().filter(|block| block.language == "console") {
        for line in block.text.lines().filter_map(|line| line.strip_prefix("$ snowflake-widen ")) {
            let mut command = widen(&cluster, &line.split(' ').collect::<Vec<_>>());
            // Who is not named is the superuser who has created the tables of the page.
            command.env("PGUSER", "postgres");
            let said = Running::start(command).end();
            assert_eq!(said.code, Some(0), "{line}: {said:?}");
            commands.push(line.to_owned());
        }
    }
    for goal in ["report", "prepare", "status", "swap", "abandon"] {
        assert!(commands.iter().any(|command| command.contains(goal)), "{goal}: {commands:?}");
    }
}
