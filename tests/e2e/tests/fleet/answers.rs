//! Order between servers: an answer is never older than its question. Two primaries replicate to
//! each other: posts come from one, and programs on the other one answer them.

use std::thread;

use postgres::Client;
use snowflake_e2e::{Cluster, Means, Run, bigint, eventually, lacks, publishing};

const TABLES: &str = "
    CREATE TABLE posts (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
    CREATE TABLE answers (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), post_id bigint NOT NULL);
    CREATE PUBLICATION posts FOR TABLE posts; CREATE PUBLICATION answers FOR TABLE answers";

/// The trigger of the page.
const TRIGGER: &str = "
    CREATE TRIGGER observe BEFORE INSERT OR UPDATE OF id ON posts
        FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
    ALTER TABLE posts ENABLE REPLICA TRIGGER observe";

/// The lag of the clock of answers where a server starts anew, or where rows take a while to come:
/// more than a start or a promotion adds, and more than the time that passes.
const A_MINUTE: &str = "-60s";

/// The setting that allows such a lead.
const ALLOWED: &str = "5min";

/// A standby that shares the identity of its primary starts further ahead, by what is allowed.
const ITS_OWN: (&str, &str) = ("snowflake.worker_id", "3");

/// The server of posts, and the one of answers, whose clock is behind. Nobody follows yet.
fn unconnected(behind: &str, max_observed_lead: &str, with_trigger: bool) -> [Cluster; 2] {
    let servers = ["1", "2"].map(|worker| {
        let builder = publishing(worker).set("snowflake.max_observed_lead", max_observed_lead);
        builder.fake_clock().start()
    });
    servers.iter().for_each(|server| server.run(TABLES));
    servers[1].set_clock(behind);
    if with_trigger {
        servers[1].run(TRIGGER);
    }
    servers
}

/// The same two, each of which follows the other one.
fn pair(behind: &str, max_observed_lead: &str, with_trigger: bool) -> [Cluster; 2] {
    let servers = unconnected(behind, max_observed_lead, with_trigger);
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
            (0..posts / 100).for_each(|_| asks.run(hundred));
        });
        eventually("all posts are answered", || {
            answers.run(ANSWER);
            rows(&mut answers, "answers") == posts
        });
    });
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
    let lead = servers[1].bigint("SELECT lead FROM pg_stat_snowflake");
    assert!(lead < 2000, "{lead}");
    assert_eq!(refused(&servers[1]), 0);
}

fn refused(server: &Cluster) -> i64 {
    server.bigint("SELECT observations_refused FROM pg_stat_snowflake")
}

/// The last post, once all of these servers have it.
fn last_post(posts: &Cluster, others: &[&Cluster]) -> i64 {
    let post = posts.bigint("INSERT INTO posts DEFAULT VALUES RETURNING id");
    for other in others {
        let mut client = other.connect();
        let arrived = format!("posts WHERE id = {post}");
        eventually("the post arrives", || rows(&mut client, &arrived) == 1);
    }
    post
}

/// Returns whether the next answer of a server is newer than a post.
fn is_newer(server: &Cluster, post: i64) -> bool {
    server.bigint("INSERT INTO answers (post_id) VALUES (0) RETURNING id") > post
}

/// The server of answers is killed between the row that it sees and the answer, and then its
/// standby, whose clock is further behind, is promoted in its place. Without the trigger, each
/// answer is older.
#[test]
fn answers_are_not_older_after_a_crash_and_a_failover() {
    for with_trigger in [false, true] {
        let [posts, mut answers] = pair(A_MINUTE, ALLOWED, with_trigger);
        // The server has a register before the first crash.
        is_newer(&answers, 0);
        for _ in 0..3 {
            let post = last_post(&posts, &[&answers]);
            answers.kill();
            answers.start_again();
            assert_eq!(is_newer(&answers, post), with_trigger);
        }
        let standby = answers.standby_with(&[ITS_OWN]);
        standby.set_clock("-90s");
        let post = last_post(&posts, &[&answers, &standby]);
        answers.kill();
        standby.promote();
        assert_eq!(is_newer(&standby, post), with_trigger);
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
        let [posts, answers] = pair("-0.3s", limit, true);
        let standby = posts.standby_with(&[ITS_OWN]);
        last_post(&posts, &[&answers]);
        drop(posts);
        standby.promote();
        answers.run("ALTER SUBSCRIPTION posts DISABLE");
        answers.run("ALTER SUBSCRIPTION posts SET (slot_name = NONE)");
        answers.run("DROP SUBSCRIPTION posts; TRUNCATE posts");
        standby.run("TRUNCATE posts");
        subscribe(&answers, &standby, "posts", "WITH (slot_name = posts_again)");
        let post = last_post(&standby, &[&answers]);
        assert_eq!(is_newer(&answers, post), is_followed, "{limit}");
        assert_eq!(refused(&answers) == 0, is_followed);
    }
}

#[test]
fn the_first_copy_of_a_table_is_observed() {
    for with_trigger in [false, true] {
        let [posts, answers] = unconnected(A_MINUTE, ALLOWED, with_trigger);
        posts.run("INSERT INTO posts SELECT snowflake_nextval(10000)");
        let newest = last_post(&posts, &[]);
        subscribe(&answers, &posts, "posts", "");
        assert_eq!(rows(&mut answers.connect(), "posts"), 10_001);
        assert_eq!(is_newer(&answers, newest), with_trigger);
    }
}

/// A large transaction is applied in parallel while it is still sent, by a worker of its own.
#[test]
fn a_parallel_apply_worker_observes() {
    if lacks(&[Means::PostgreSQL(16)]) {
        return;
    }
    let [posts, answers] = unconnected(A_MINUTE, ALLOWED, true);
    posts.reload_with(&[("logical_decoding_work_mem", "64kB")]);
    subscribe(&answers, &posts, "posts", "WITH (streaming = parallel)");
    let mut client = posts.connect();
    for _ in 0..5 {
        client.run("INSERT INTO posts SELECT snowflake_nextval(50000)");
        let newest = bigint(&mut client, "SELECT max(id) FROM posts");
        let mut client = answers.connect();
        let arrived = format!("posts WHERE id = {newest}");
        eventually("they arrive", || rows(&mut client, &arrived) == 1);
        assert!(is_newer(&answers, newest));
    }
    // One worker of this kind stays for the next transaction.
    let parallel = "SELECT count(*) FROM pg_stat_subscription WHERE leader_pid IS NOT NULL";
    assert!(answers.bigint(parallel) > 0, "nothing was applied in parallel");
}
