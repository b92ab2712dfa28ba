//! A cancellation ends a report or a conversion wherever it is, and does not quote the queries of the
//! extension, which have hundreds of lines.

use postgres::error::SqlState;
use snowflake_e2e::Cluster;

const TABLES: &str = "DO $$ BEGIN FOR n IN 1..10 LOOP
    EXECUTE format('CREATE TABLE film_%1$s (id serial PRIMARY KEY, title text);
        CREATE TABLE review_%1$s (film int REFERENCES film_%1$s);
        CREATE VIEW list_%1$s AS SELECT id FROM film_%1$s', n);
END LOOP; END $$";

#[test]
fn an_error_does_not_quote_our_queries() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(TABLES).expect("tables");
    for call in [
        "SELECT snowflake_convert_report(schema => 'public')",
        "DO $$ BEGIN PERFORM snowflake_convert(schema => 'public', dependents => 'recreate'); END $$",
    ] {
        let mut canceled = 0;
        let mut timeout = 2;
        loop {
            // The former one holds for this statement, too.
            while client.batch_execute(&format!("SET statement_timeout = {timeout}")).is_err() {}
            let Err(error) = client.batch_execute(call) else { break };
            let error = error.as_db_error().expect("an error of the server");
            assert_eq!(error.code(), &SqlState::QUERY_CANCELED, "{error:?}");
            let context = error.where_().unwrap_or_default();
            assert!(context.lines().count() <= 3, "{call} {timeout}: {context}");
            assert!(!call.contains("DO") || context.contains("PL/pgSQL"), "{timeout}: {context}");
            canceled += 1;
            timeout += 1 + timeout / 2;
        }
        assert!(canceled > 3, "{call} was canceled {canceled} times");
    }
    assert!(!cluster.log().contains("WITH RECURSIVE"), "the log quotes our queries");
}
