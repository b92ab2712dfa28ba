//! What the planner expects of the extensions' queries.

use snowflake_e2e::{Cluster, Means, lacks};

/// From PostgreSQL 19 on, a recursion reserves memory for as many rows as the planner expects of it,
/// and the query fails if there is not as much: a million rows take tens of megabytes.
#[test]
fn no_recursion_is_expected_to_be_large() {
    if lacks(&[Means::Library("auto_explain")]) {
        return;
    }
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE posts (id serial PRIMARY KEY, body text);
             CREATE TABLE likes (id bigserial PRIMARY KEY, post_id integer REFERENCES posts);
             CREATE VIEW recent AS SELECT id + 1 AS next FROM posts;
             LOAD 'auto_explain';
             SET auto_explain.log_min_duration = 0;
             SET auto_explain.log_nested_statements = on",
        )
        .expect("tables");
    for call in [
        "snowflake_convert('posts', dependents => 'recreate')",
        "snowflake_convert('posts', dependents => 'recreate', rehearse => true, probe => '{SELECT 1}')",
        "snowflake_convert(schema => 'public', dependents => 'recreate', validate => true)",
        "snowflake_convert('likes', dry_run => false)",
        "snowflake_revert('likes', 'id', dry_run => false)",
        "snowflake_convert_report('posts')",
        "snowflake_convert_report(schema => 'public')",
        "snowflake_widen_report('posts')",
        "snowflake_widen_next('posts')",
        "snowflake_widen_next('posts', 'abandon')",
        "snowflake_key_usage()",
        "snowflake_check()",
    ] {
        client.batch_execute(&format!("SELECT * FROM {call}")).expect(call);
    }
    let log = cluster.log();
    let expected: Vec<f64> = log
        .lines()
        .filter(|line| line.contains("->  Recursive Union"))
        .filter_map(|line| line.split_once("rows="))
        .map(|(_, rest)| rest.split(' ').next().expect("a number").parse().expect("a number"))
        .collect();
    assert!(expected.len() > 50, "{expected:?}");
    let most = expected.iter().copied().fold(0.0, f64::max);
    assert!(most <= 1e6, "{most} rows: {expected:?}");
}
