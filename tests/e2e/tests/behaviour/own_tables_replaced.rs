//! The owner of the extension, who is no superuser, drops it while a function of it runs, and puts
//! tables of the same names in the place of its tables. No function reads or writes these.

use std::thread;

use postgres::error::SqlState;
use snowflake_e2e::{Programs, Run, error_of, eventually};

use crate::own_tables::{
    CLAIM, CLAIMS, CONFIRM, LAYOUT, assert_no_mark, assert_no_spy, start, waiting,
};

/// Acts of the owner of the extension in one transaction: each write of these tables runs spies,
/// and so does each read of the view that has the name of the other table.
const REPLACE: &str = "
    BEGIN;
    CREATE TABLE IF NOT EXISTS public.claims AS TABLE snowflake_internal.snowflake_node_claims;
    CREATE TABLE IF NOT EXISTS public.layouts AS TABLE snowflake_internal.snowflake_layout;
    DROP EXTENSION snowflake;
    CREATE SCHEMA snowflake_internal;
    GRANT USAGE ON SCHEMA snowflake_internal TO PUBLIC;";
const AS_TABLES: &str = "
    CREATE TABLE snowflake_internal.snowflake_node_claims (LIKE public.claims);
    ALTER TABLE snowflake_internal.snowflake_node_claims ADD PRIMARY KEY (datacenter_id, worker_id);
    CREATE TABLE snowflake_internal.snowflake_layout (LIKE public.layouts);
    CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON snowflake_internal.snowflake_node_claims
        FOR EACH STATEMENT EXECUTE FUNCTION mallory.spy();
    CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON snowflake_internal.snowflake_layout
        FOR EACH STATEMENT EXECUTE FUNCTION mallory.spy();
    GRANT ALL ON ALL TABLES IN SCHEMA snowflake_internal TO PUBLIC;";
const AS_VIEWS: &str = "
    CREATE VIEW snowflake_internal.snowflake_layout AS
        SELECT epoch, datacenter_bits + 0 * mallory.value() AS datacenter_bits, worker_bits, sequence_bits
        FROM public.layouts;
    CREATE VIEW snowflake_internal.snowflake_node_claims AS
        SELECT * FROM public.claims WHERE mallory.value() = 1;
    GRANT ALL ON ALL TABLES IN SCHEMA snowflake_internal TO PUBLIC;";

#[test]
fn tables_that_are_replaced_meanwhile_are_neither_written_nor_read() {
    let cluster = start(Programs::from_env());
    let mut superuser = cluster.connect_to("theirs");
    superuser.run(
        "GRANT CREATE ON DATABASE theirs TO owner; GRANT USAGE ON SCHEMA mallory TO PUBLIC;
         GRANT CREATE ON SCHEMA public TO owner",
    );
    let mut owner = cluster.connect_as("owner", "theirs");
    let release = "SELECT snowflake_release_node('db-0', issued_until => now(), fenced => true)";
    let check = "SELECT * FROM snowflake_check()";
    for (user, call, replace) in [
        ("postgres", CLAIM, AS_TABLES),
        ("owner", CLAIM, AS_TABLES),
        ("postgres", release, AS_TABLES),
        ("postgres", CONFIRM, AS_TABLES),
        ("postgres", CLAIM, AS_VIEWS),
        ("postgres", check, AS_VIEWS),
        ("postgres", CONFIRM, AS_VIEWS),
    ] {
        if call == CONFIRM {
            // So that it has something to write.
            superuser.run(&format!("DELETE FROM {LAYOUT}"));
        }
        // The transaction that replaces the tables commits when the call waits for it.
        owner.run(&format!("{REPLACE} {replace}"));
        let mut calling = cluster.connect_as(user, "theirs");
        let done = thread::scope(|scope| {
            let called = scope.spawn(move || calling.batch_execute(call));
            eventually("it waits or is over", || called.is_finished() || waiting(&cluster) == 1);
            owner.run("COMMIT");
            called.join().expect("a session")
        });
        assert_no_spy(&cluster);
        // PostgreSQL does not find the function any more, whose result it wants to describe.
        if call != check {
            let error = error_of(done);
            assert_eq!(error.code(), &SqlState::T_R_SERIALIZATION_FAILURE, "{call}: {error:?}");
            let table = if call == CONFIRM { LAYOUT } else { CLAIMS };
            assert_eq!(error.message(), format!("table {table} was replaced meanwhile"));
        }
        owner.run(
            "DROP SCHEMA snowflake_internal CASCADE; DROP TABLE claims, layouts;
             CREATE EXTENSION snowflake; SELECT snowflake_claim_node('db-0', worker_id => 9)",
        );
    }
    assert_no_mark(&cluster);
}
