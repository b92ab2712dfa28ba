//! What a role without privileges can do.

use postgres::NoTls;
use snowflake_e2e::Cluster;

#[test]
fn an_owner_of_a_database_creates_the_extension_and_anyone_uses_it() {
    let cluster = Cluster::start();
    let mut superuser = cluster.connect();
    for command in
        ["CREATE ROLE owner LOGIN", "CREATE ROLE guest LOGIN", "CREATE DATABASE theirs OWNER owner"]
    {
        superuser.batch_execute(command).expect(command);
    }
    let connect = |user| cluster.config().user(user).dbname("theirs").connect(NoTls).expect("a session");
    connect("owner").batch_execute("CREATE EXTENSION snowflake").expect("trusted");
    connect("guest")
        .batch_execute(
            "SELECT snowflake_parse(snowflake_nextval()), snowflake_currval();
             SELECT snowflake_nextval(3);
             SELECT snowflake_make(now(), 5, 9, 0);",
        )
        .expect("granted to everyone");
}

#[test]
fn the_extension_can_be_moved_to_another_schema() {
    let cluster = Cluster::start();
    cluster
        .connect()
        .batch_execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
             CREATE SCHEMA ids;
             ALTER EXTENSION snowflake SET SCHEMA ids;
             INSERT INTO orders DEFAULT VALUES;
             SELECT ids.snowflake_parse(id) FROM orders;",
        )
        .expect("relocatable");
}
