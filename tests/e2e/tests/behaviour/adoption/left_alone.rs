//! Tables of extensions, which are not adopted.

use snowflake_e2e::Run;

use super::{assert_left, listening, server, take};

#[test]
fn tables_of_extensions_are_left_alone() {
    let (cluster, _client) = server();
    let extensions = cluster.programs().extensions();
    let write = |name: &str, text: &str| {
        std::fs::write(extensions.join(name), text).expect("a file of an extension");
    };
    write("with_a_table.control", "default_version = '1'\n");
    write("with_a_table--1.sql", "CREATE TABLE @extschema@.theirs (id bigserial PRIMARY KEY);\n");
    let (mut client, heard) = listening(&cluster);
    client.run("CREATE EXTENSION with_a_table SCHEMA blog");
    assert_left(&mut client, "theirs", "id", "bigint");
    assert_eq!(take(&heard), [""; 0]);
}
