//! The script as an extension of `pg_tle`, by the commands of the page. The test is skipped where
//! the server has no `pg_tle`.

use snowflake_e2e::{
    Cluster, Means, NEXT, Run, assert_increasing, bigint, dump_and_restore, hosted_script, lacks,
    output, value,
};
use snowflake_repository::page;

use super::plain_server;

#[test]
fn it_is_an_extension_whose_dump_has_the_last_id() {
    if lacks(&[Means::Extension("pg_tle")]) {
        return;
    }
    let cluster = plain_server().set("shared_preload_libraries", "pg_tle").start_bare();
    cluster.run("CREATE EXTENSION pg_tle");
    install(&cluster);
    let mut client = cluster.connect();
    let mut ids = vec![bigint(&mut client, NEXT)];
    let members = "SELECT count(*) FROM pg_depend JOIN pg_extension AS e ON refobjid = e.oid
        WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND extname = 'snowflake_ids'";
    assert!(bigint(&mut client, members) > 15);

    // The dump creates the extension, and has the values of the sequences, here ahead of the clock.
    let tables = "SELECT string_agg(c::text, ' ')
        FROM pg_extension, unnest(extconfig::regclass[]) AS c WHERE extname = 'snowflake_ids'";
    assert_eq!(value::<String>(&mut client, tables), "snowflake_counter snowflake_reserved");
    let ahead = "SELECT setval('snowflake_reserved', last_value + (1::bigint << 40))
        FROM snowflake_reserved";
    client.run(ahead);
    ids.push(bigint(&mut client, NEXT));
    dump_and_restore(&cluster, "postgres", "restored");
    ids.push(bigint(&mut cluster.connect_to("restored"), NEXT));
    assert_increasing(&ids);
}

/// Runs the commands of the page.
fn install(cluster: &Cluster) {
    let text = page("docs/hosted.md").text;
    let (_, commands) = text.split_once("$ psql -v script=").expect("commands");
    let (commands, _) = commands.split_once("```").expect("the end of the block");
    let directory = cluster.directory();
    std::fs::write(directory.join("snowflake.sql"), hosted_script("5", "9")).expect("the script");
    let commands = format!("psql -v ON_ERROR_STOP=1 -v script={commands}");
    let mut shell = cluster.programs().shell(&commands);
    cluster.set_connection(&mut shell);
    output(shell.current_dir(directory));
}
