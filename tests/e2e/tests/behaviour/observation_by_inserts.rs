//! Attacks of a role that may insert into a published table on a subscriber that observes IDs and
//! watches for twins, and the protection from them.

use postgres::Client;
use snowflake_e2e::{Cluster, NEXT, Run, bigint, check, error_of, eventually, value};

const TABLE: &str =
    "CREATE TABLE posts (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);";

/// An ID of now and so much, with the identity of a server.
fn id(client: &mut Client, from_now: &str, identity: &str) -> i64 {
    bigint(
        client,
        &format!("SELECT snowflake_make(clock_timestamp() + interval '{from_now}', {identity}, 0)"),
    )
}

/// Returns the lead of the next ID of a server over its clock, ms.
fn lead(client: &mut Client) -> i64 {
    let lead = format!(
        "SELECT (1000 * extract(epoch FROM snowflake_timestamp(({NEXT})) - clock_timestamp()))::bigint"
    );
    bigint(client, &lead)
}

#[test]
fn who_may_insert_ids_on_a_publisher_drives_its_subscribers() {
    let server = |worker: &str| {
        Cluster::builder()
            .set("wal_level", "logical")
            .set("snowflake.max_observed_lead", "10s")
            .set("snowflake.worker_id", worker)
            .start()
    };
    let (publisher, subscriber) = (server("1"), server("2"));
    let (mut published, mut client) = (publisher.connect(), subscriber.connect());
    published.run(&format!(
        "{TABLE} CREATE PUBLICATION posts FOR TABLE posts;
         CREATE ROLE writer LOGIN; GRANT INSERT (item) ON posts TO writer"
    ));
    client.run(&format!(
        "{TABLE}
         CREATE TRIGGER observe BEFORE INSERT OR UPDATE OF id ON posts
             FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
         ALTER TABLE posts ENABLE REPLICA TRIGGER observe;
         CREATE TRIGGER watch_twins AFTER INSERT OR DELETE ON posts
             FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
         ALTER TABLE posts ENABLE REPLICA TRIGGER watch_twins;"
    ));
    subscriber.subscribe(&publisher, "postgres", "s", "PUBLICATION posts");
    let identity = "SELECT concat(datacenter_id, ', ', worker_id) FROM snowflake_status";
    let identity: String = value(&mut client, identity);
    let other: String = identity.replace("2", "3");
    let mut writer = publisher.connect_as("writer", "postgres");
    let rows = "SELECT count(*) FROM posts";

    // With INSERT on the other columns, the default gives the IDs.
    let ahead = id(&mut client, "9 s", &other);
    error_of(writer.execute("INSERT INTO posts VALUES ($1, 'ahead')", &[&ahead]));
    writer.run("INSERT INTO posts (item) VALUES ('now')");
    eventually("the row arrives", || bigint(&mut client, rows) == 1);
    assert!(lead(&mut client) < 3_000);
    assert!(check(&mut client, "observation").0 && check(&mut client, "twins").0);

    // With INSERT on the table, it can choose them.
    published.run("GRANT INSERT ON posts TO writer");
    let ahead = id(&mut client, "9500 ms", &other);
    writer.execute("INSERT INTO posts VALUES ($1, 'ahead')", &[&ahead]).expect("a row");
    eventually("the row arrives", || bigint(&mut client, rows) == 2);
    let driven = lead(&mut client);
    assert!((5_000..=10_000).contains(&driven), "{driven} ms");
    assert!(check(&mut client, "observation").0 && check(&mut client, "twins").0);
    let too_far = id(&mut client, "1 hour", &other);
    let twin = id(&mut client, "0 s", &identity);
    writer
        .execute("INSERT INTO posts VALUES ($1, 'too far'), ($2, 'twin')", &[&too_far, &twin])
        .expect("one statement");
    eventually("the rows arrive", || bigint(&mut client, rows) == 4);
    let driven = lead(&mut client);
    assert!(driven <= 10_000, "{driven} ms");
    assert!(!check(&mut client, "observation").0 && !check(&mut client, "twins").0);
}
