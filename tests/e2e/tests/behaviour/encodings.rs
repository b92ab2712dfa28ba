//! Databases whose encoding is not UTF-8.

use std::fs;

use snowflake_e2e::{Cluster, NEXT, Run, check, error_of, values};

#[test]
fn names_and_texts_beyond_ascii_are_quoted_as_they_are() {
    let cluster = Cluster::start();
    for (encoding, text) in
        [("UTF8", "Größe"), ("LATIN1", "Größe"), ("SQL_ASCII", "Größe"), ("EUC_JP", "注文")]
    {
        let database = encoding.to_lowercase();
        cluster.run(&format!(
            "CREATE DATABASE {database} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
        ));
        let (mut client, notices) = cluster.connect_with_notices(&database);
        client.run(&format!(
            "CREATE EXTENSION snowflake;
             CREATE SCHEMA \"{text}\";
             CREATE TABLE \"{text}\".\"{text}\" (\"{text}\" serial PRIMARY KEY);
             CREATE TABLE \"{text}\".lines (\"{text}\" int REFERENCES \"{text}\".\"{text}\");
             CREATE TABLE viewed (\"{text}\" serial PRIMARY KEY);
             CREATE VIEW \"{text}\" AS SELECT \"{text}\" FROM viewed;"
        ));

        for (call, code, message) in [
            (
                "from_base62('$12345678')",
                "22P02",
                "invalid base 62 text for a snowflake ID: \"$12345678\"",
            ),
            ("confirm('$')", "22023", "unrecognized confirmation: \"$\""),
        ] {
            let [call, message] = [call, message].map(|pattern| pattern.replace('$', text));
            let error = error_of(client.query(&format!("SELECT snowflake_{call}"), &[]));
            let said = (error.code().code(), error.message());
            assert_eq!(said, (code, &*message), "{encoding}: {call}");
        }
        let table = format!("\"{text}\".\"{text}\"");
        let print = format!("SELECT snowflake_conversion(ARRAY['viewed', '{table}']::regclass[])");
        let script: Vec<String> = values(&mut client, &print);
        for start in [
            format!("-- public.viewed.\"{text}\" stays: view public.\"{text}\" uses "),
            format!("ALTER TABLE \"{text}\".\"{text}\" ALTER \"{text}\" "),
        ] {
            assert!(script.iter().any(|line| line.starts_with(&start)), "{encoding}: {script:?}");
        }
        client.run(&format!("BEGIN; {}\nCOMMIT", script.join("\n")));
        client.run(&format!("INSERT INTO \"{text}\".\"{text}\" DEFAULT VALUES"));
        let script: Vec<String> = values(&mut client, "SELECT snowflake_reversion()");
        client.run(&format!("BEGIN; {}\nCOMMIT", script.join("\n")));
        drop(client);
        assert_eq!(notices.iter().count(), 0, "{encoding}");
    }
}

/// A name in the notice about stored results.
#[test]
fn a_notice_quotes_a_name_beyond_ascii() {
    let mut cluster = Cluster::start();
    cluster.run("CREATE DATABASE latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    cluster.run(NEXT);
    cluster.run_in(
        "latin1",
        "CREATE EXTENSION snowflake; CREATE TABLE orders (id bigint);
         CREATE INDEX \"Größe\" ON orders (snowflake_timestamp(id));",
    );
    cluster.restart_with(&[("snowflake.sequence_bits", "13")]);
    let (mut client, notices) = cluster.connect_with_notices("latin1");
    client.run("SELECT snowflake_confirm('layout')");
    // An error after a notice has its own texts and context.
    let error = error_of(client.batch_execute(
        "DO $$
         DECLARE claimed text;
         BEGIN
             claimed := snowflake_claim_node('Größe') || snowflake_claim_node('Größe');
             RAISE EXCEPTION 'the next error';
         END $$",
    ));
    assert_eq!((error.message(), error.detail()), ("the next error", None));
    assert_eq!(error.where_(), Some("PL/pgSQL function inline_code_block line 5 at RAISE"));
    drop(client);
    let notices: Vec<_> = notices.iter().collect();
    assert_eq!(notices.len(), 2);
    let index = "index public.\"Größe\"";
    assert!(notices[0].detail().expect("a detail").contains(index), "{notices:?}");
}

/// The name of a file is bytes, which need not be a text of the database.
#[test]
fn a_file_whose_name_a_database_cannot_hold_is_found_and_shown_escaped() {
    let mut cluster = Cluster::start();
    fs::write(cluster.data().join("größe.conf"), "snowflake.worker_id = 9\n").expect("a file");
    cluster.restart_with(&[("include", "größe.conf")]);
    cluster.run("CREATE DATABASE euc_jp ENCODING 'EUC_JP' LOCALE 'C' TEMPLATE template0");
    cluster.run_in("euc_jp", "CREATE EXTENSION snowflake");
    let (ok, detail, _) = check(&mut cluster.connect_to("euc_jp"), "origin of the identity");
    assert!(!ok && detail.contains("This is inside the data directory"), "{detail}");
    assert!(detail.contains(r"\xC3\x9Fe.conf, line 1"), "{detail}");
}
