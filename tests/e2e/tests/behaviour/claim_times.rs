//! The times of claims: none is from before the claim, and all are times that a line of a
//! configuration file can have.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, error_of};

#[test]
fn a_release_up_to_a_time_before_the_claim_is_refused() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.batch_execute("SELECT snowflake_claim_node('db-1')").expect("an identity");
    let claimed_at = "(SELECT claimed_at FROM snowflake_nodes WHERE name = 'db-1')";
    let release = |arguments: &str| format!("SELECT snowflake_release_node('db-1', {arguments})");
    let before = format!("{claimed_at} - interval '1 microsecond'");
    for (argument, arguments) in [
        ("issued_until", format!("issued_until => {before}, fenced => true")),
        ("issued_until", "issued_until => '2020-01-01 00:00:00+00', fenced => true".into()),
        ("floor", format!("floor => {before}")),
    ] {
        let error = error_of(client.query(&release(&arguments), &[]));
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{arguments}: {error}");
        let message =
            format!("{argument} is before the time when node \"db-1\" was given its identity");
        assert_eq!(error.message(), message);
        assert!(error.detail().is_some_and(|detail| detail.starts_with("That was at 20")));
        assert!(error.hint().is_some());
    }
    let at = release(&format!("issued_until => {claimed_at}, fenced => true"));
    client.batch_execute(&at).expect("it is not before");
}

/// A row that is inserted without a claim, as in a restore, has such times, too, and the lines of a
/// claim name them in the form of `snowflake.start_after`.
#[test]
fn every_time_is_one_of_a_configuration_file() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let insert = |values: &str| {
        format!(
            "INSERT INTO snowflake_internal.snowflake_node_claims VALUES (1, 1, 'db-1', {values})"
        )
    };
    for time in [
        "infinity",
        "-infinity",
        "0044-03-15 00:00:00+00 BC",
        "1969-12-31 23:59:59.999999+00",
        "10000-01-01 00:00:00+00",
    ] {
        for (column, values) in [
            ("claimed_at", format!("'{time}', NULL, NULL")),
            ("released_at", format!("now(), '{time}', now()")),
            ("start_after", format!("now(), now(), '{time}'")),
        ] {
            let error = error_of(client.batch_execute(&insert(&values)));
            assert_eq!(error.code(), &SqlState::CHECK_VIOLATION, "{time}: {error}");
            let constraint = format!("snowflake_node_claims_{column}_check");
            assert_eq!(error.constraint(), Some(&*constraint), "{time}");
        }
    }
    for (time, shown) in [
        ("1970-01-01 00:00:00+00", "1970-01-01T00:00:00.000000Z"),
        ("2026-11-21 12:00:00.5+02", "2026-11-21T10:00:00.500000Z"),
        ("9999-12-31 23:59:59.999999+00", "9999-12-31T23:59:59.999999Z"),
    ] {
        for settings in ["", "SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Tokyo';"] {
            client
                .batch_execute(&format!(
                    "RESET ALL; DELETE FROM snowflake_internal.snowflake_node_claims;
                     {}; {settings}",
                    insert(&format!("now(), now(), '{time}'"))
                ))
                .expect(time);
            let claim = "SELECT snowflake_claim_node('db-1')";
            let fragment: String = client.query_one(claim, &[]).expect("an identity").get(0);
            let line = format!("snowflake.start_after = '{shown}'");
            assert_eq!(fragment.lines().last(), Some(&*line), "{fragment}");
        }
    }
}
