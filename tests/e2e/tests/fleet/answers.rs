//! Order between servers: an answer is never older than its question. Two primaries replicate to each
//! other: posts come from one, and programs on the other one answer them.

use std::thread;

use postgres::Client;
use snowflake_e2e::{Cluster, Means, bigint, eventually, lacks};

const TABLES: &str = "
    CREATE TABLE posts (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
    CREATE TABLE answers (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), post_id bigint NOT NULL)";

/// The trigger of the page.
const TRIGGER: &str = "
    CREATE TRIGGER observe BEFORE INSERT OR UPDATE OF id ON posts
        FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
    ALTER TABLE posts ENABLE REPLICA TRIGGER observe";

/// A server that can publish, on a clock of its own.
fn server(worker_id: &str, max_observed_lead: &str) -> Cluster {
    let server = Cluster::builder()
        .fake_clock()
        .set("wal_level", "logical")
        .set("snowflake.worker_id", worker_id)
        .set("snowflake.max_observed_lead", max_observed_lead)
        .set("max_worker_processes", "16")
        .set("wal_retrieve_retry_interval", "100ms")
        .start();
    server.connect().batch_execute(TABLES).expect("tables");
    server
}

/// How far the clock of answers is behind where a server starts anew, or where rows take a while to
/// come: more than a start or a promotion adds, and more than the time that passes.
const A_MINUTE: &str = "-60s";

/// The setting that allows such a lead.
const ALLOWED: &str = "5min";

/// The server of posts, and the one of answers, whose clock is behind.
fn pair(behind: &str, max_observed_lead: &str, with_trigger: bool) -> [Cluster; 2] {
    let servers = ["1", "2"].map(|worker| server(worker, max_observed_lead));
    servers[1].set_clock(behind);
    let publish =
        ["posts", "answers"].map(|table| format!("CREATE PUBLICATION {table} FOR TABLE {table}"));
    for (server, publish) in servers.iter().zip(publish) {
        server.connect().batch_execute(&publish).expect("a publication");
    }
    if with_trigger {
        servers[1].connect().batch_execute(TRIGGER).expect("a trigger");
    }
    subscribe(&servers[1], &servers[0], "posts", "");
    subscribe(&servers[0], &servers[1], "answers", "");
    servers
}

fn subscribe(subscriber: &Cluster, publisher: &Cluster, table: &str, options: &str) {
    let rest = format!("PUBLICATION {table} {options}");
    subscriber.subscribe(publisher, "postgres", table, &rest);
    subscriber.wait_for_the_copy("postgres");
}

/// Answers each post that has none.
const ANSWER: &str = "
    INSERT INTO answers (post_id) SELECT id FROM posts
    WHERE id > (SELECT coalesce(max(post_id), 0) FROM answers) ORDER BY id";

/// Answers smaller than their posts.
const OLDER: &str = "SELECT count(*) FROM answers WHERE id <= post_id";

fn rows(client: &mut Client, table: &str) -> i64 {
    bigint(client, &format!("SELECT count(*) FROM {table}"))
}

/// Posts come in transactions of a hundred, and each is answered as soon as it arrives. Returns how
/// many answers are older than their post.
fn older(servers: &[Cluster; 2], posts: i64) -> i64 {
    let [mut asks, mut answers] = servers.each_ref().map(Cluster::connect);
    thread::scope(|scope| {
        scope.spawn(|| {
            let hundred = "INSERT INTO posts SELECT snowflake_nextval(100)";
            for _ in 0..posts / 100 {
                asks.batch_execute(hundred).expect("posts");
            }
        });
        eventually("all posts are answered", || {
            answers.batch_execute(ANSWER).expect("answers");
            rows(&mut answers, "answers") == posts
        });
    });
    let mut asks = servers[0].connect();
    eventually("all answers arrive", || rows(&mut asks, "answers") == posts);
    bigint(&mut asks, OLDER)
}

#[test]
fn no_answer_is_older_than_its_question() {
    const POSTS: i64 = 100_000;
    let without = older(&pair("-0.3s", "0", false), POSTS);
    let servers = pair("-0.3s", "2s", true);
    let with = older(&servers, POSTS);
    println!(
        "of {POSTS} answers, {without} are older than their question without the trigger, {with} with it"
    );
    assert!(without > 0, "the clocks differ, and nothing shows it");
    assert_eq!(with, 0);
    let lead = bigint(&mut servers[1].connect(), "SELECT lead FROM pg_stat_snowflake");
    assert!(lead < 2000, "{lead}");
    assert_eq!(refused(&servers[1]), 0);
}

fn refused(server: &Cluster) -> i64 {
    bigint(&mut server.connect(), "SELECT observations_refused FROM pg_stat_snowflake")
}

/// The last post, once it has come.
fn last_post(servers: &[Cluster; 2]) -> i64 {
    let post = bigint(&mut servers[0].connect(), "INSERT INTO posts DEFAULT VALUES RETURNING id");
    let mut client = servers[1].connect();
    let arrived = format!("SELECT count(*) FROM posts WHERE id = {post}");
    eventually("the post arrives", || bigint(&mut client, &arrived) == 1);
    post
}

const ANSWER_ID: &str = "INSERT INTO answers (post_id) VALUES (0) RETURNING id";

/// The server of answers is killed between the row that it sees and the answer, and then its standby,
/// whose clock is further behind, is promoted in its place. Without the trigger, each answer is older.
#[test]
fn answers_are_not_older_after_a_crash_and_a_failover() {
    for with_trigger in [false, true] {
        let mut servers = pair(A_MINUTE, ALLOWED, with_trigger);
        // The server has a register before the first crash.
        bigint(&mut servers[1].connect(), ANSWER_ID);
        for _ in 0..3 {
            let post = last_post(&servers);
            servers[1].kill();
            servers[1].start_again();
            let answer = bigint(&mut servers[1].connect(), ANSWER_ID);
            assert_eq!(answer > post, with_trigger, "{answer} answers {post}");
        }
        let standby = servers[1].standby();
        standby.set_clock("-90s");
        let post = last_post(&servers);
        let mut follower = standby.connect();
        let arrived = format!("SELECT count(*) FROM posts WHERE id = {post}");
        eventually("the standby has the post", || bigint(&mut follower, &arrived) == 1);
        servers[1].kill();
        standby.promote();
        standby.wait_until_primary();
        let answer = bigint(&mut standby.connect(), ANSWER_ID);
        assert_eq!(answer > post, with_trigger, "{answer} answers {post}");
    }
}

/// The new primary of posts is ahead by the margin and a reservation, which the setting of the page
/// allows, and a smaller one does not.
#[test]
fn answers_are_not_older_after_a_failover_of_the_other_server() {
    let page = include_str!("../../../../docs/order.md");
    let (_, of_page) = page.split_once("snowflake.max_observed_lead = ").expect("the setting");
    let of_page = of_page.lines().next().expect("a value");
    for (limit, is_followed) in [(of_page, true), ("1s", false)] {
        let servers = pair("-0.3s", limit, true);
        let standby = servers[0].standby();
        last_post(&servers);
        let [posts, answers] = servers;
        drop(posts);
        standby.promote();
        standby.wait_until_primary();
        let mut answers_client = answers.connect();
        let change =
            "ALTER SUBSCRIPTION posts DISABLE; ALTER SUBSCRIPTION posts SET (slot_name = NONE);
             DROP SUBSCRIPTION posts; TRUNCATE posts";
        for statement in change.split(';') {
            answers_client.batch_execute(statement).expect(statement);
        }
        standby.connect().batch_execute("TRUNCATE posts").expect("no posts");
        subscribe(&answers, &standby, "posts", "WITH (slot_name = posts_again)");
        let servers = [standby, answers];
        let post = last_post(&servers);
        let answer = bigint(&mut answers_client, ANSWER_ID);
        assert_eq!(answer > post, is_followed, "{limit}: {answer} answers {post}");
        assert_eq!(refused(&servers[1]) == 0, is_followed);
    }
}

#[test]
fn the_first_copy_of_a_table_is_observed() {
    for with_trigger in [false, true] {
        let [posts, answers] = ["1", "2"].map(|worker| server(worker, ALLOWED));
        answers.set_clock(A_MINUTE);
        posts
            .connect()
            .batch_execute("CREATE PUBLICATION posts FOR TABLE posts")
            .expect("a publication");
        if with_trigger {
            answers.connect().batch_execute(TRIGGER).expect("a trigger");
        }
        let mut client = posts.connect();
        client.batch_execute("INSERT INTO posts SELECT snowflake_nextval(10000)").expect("posts");
        let newest = bigint(&mut client, "SELECT max(id) FROM posts");
        subscribe(&answers, &posts, "posts", "");
        let mut client = answers.connect();
        assert_eq!(rows(&mut client, "posts"), 10_000);
        assert_eq!(bigint(&mut client, ANSWER_ID) > newest, with_trigger);
    }
}

/// A subscriber that is an hour late gets old IDs, which move nothing.
#[test]
fn old_posts_move_nothing() {
    let servers = pair("-0.3s", "2s", true);
    let mut client = servers[1].connect();
    client.batch_execute("ALTER SUBSCRIPTION posts DISABLE").expect("disabled");
    let posts = "INSERT INTO posts SELECT snowflake_nextval(1000)";
    servers[0].connect().batch_execute(posts).expect("posts");
    for server in &servers {
        server.set_clock("+3600s");
    }
    bigint(&mut client, ANSWER_ID);
    client.batch_execute("ALTER SUBSCRIPTION posts ENABLE").expect("enabled");
    eventually("they arrive", || rows(&mut client, "posts") == 1000);
    let behind = "SELECT (extract(epoch FROM clock_timestamp() - snowflake_timestamp(snowflake_nextval())) * 1000)::bigint";
    let behind = bigint(&mut client, behind);
    assert!((0..=1).contains(&behind), "{behind} ms");
    assert_eq!(refused(&servers[1]), 0);
}

/// A large transaction is applied in parallel while it is still sent, by a worker of its own.
#[test]
fn a_parallel_apply_worker_observes() {
    if lacks(&[Means::PostgreSQL(16)]) {
        return;
    }
    let [posts, answers] = ["1", "2"].map(|worker| {
        let server = server(worker, ALLOWED);
        server.configure(&[("logical_decoding_work_mem", "64kB")]);
        server.reload();
        server
    });
    answers.set_clock(A_MINUTE);
    posts
        .connect()
        .batch_execute("CREATE PUBLICATION posts FOR TABLE posts")
        .expect("a publication");
    answers.connect().batch_execute(TRIGGER).expect("a trigger");
    subscribe(&answers, &posts, "posts", "WITH (streaming = parallel)");
    let mut client = posts.connect();
    let mut answering = answers.connect();
    for round in 1..=5 {
        client.batch_execute("INSERT INTO posts SELECT snowflake_nextval(50000)").expect("posts");
        let newest = bigint(&mut client, "SELECT max(id) FROM posts");
        eventually("they arrive", || rows(&mut answering, "posts") == round * 50_000);
        assert!(bigint(&mut answering, ANSWER_ID) > newest);
    }
    // One worker of this kind stays for the next transaction.
    let parallel = "SELECT count(*) FROM pg_stat_subscription WHERE leader_pid IS NOT NULL";
    assert!(bigint(&mut answering, parallel) > 0, "nothing was applied in parallel");
}
