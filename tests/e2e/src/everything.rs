//! Every function of the extension at once.

use postgres::Client;

use crate::cluster::Cluster;
use crate::query::{bigint, error_of};

/// A call of each function of the extension that a role may execute, with ordinary arguments.
/// Trigger functions are not called.
pub fn calls_of(role: &str, client: &mut Client) -> Vec<String> {
    const CALLS: &str = "
        SELECT format('SELECT * FROM %s(%s)', p.oid::regproc, string_agg(CASE a.type
                   WHEN 'bigint'::regtype THEN '1268118639732232192'
                   WHEN 'integer'::regtype THEN '1'
                   WHEN 'boolean'::regtype THEN 'false'
                   WHEN 'timestamptz'::regtype THEN 'now()'
                   WHEN 'text'::regtype THEN '''clock'''
                   WHEN 'name'::regtype THEN '''oid'''
                   WHEN 'regclass'::regtype THEN '''pg_class''' ELSE 'NULL' END || '::' || a.type::regtype, ', '
                   ORDER BY a.number))
        FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname ~ '^snowflake' AND d.deptype = 'e'
        LEFT JOIN LATERAL unnest(p.proargtypes) WITH ORDINALITY AS a (type, number) ON true
        WHERE p.prorettype <> 'trigger'::regtype AND has_function_privilege($1, p.oid, 'EXECUTE')
        GROUP BY p.oid";
    let calls = client.query(CALLS, &[&role]).expect("functions");
    calls.iter().map(|row| row.get(0)).collect()
}

/// Calls each function of the extension in this session once, with ordinary arguments, and looks at
/// the views. None may end the server, or fail with an internal error.
#[track_caller]
pub fn call_everything(cluster: &Cluster, client: &mut Client) {
    const STARTED: &str = "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint";
    let before = bigint(client, STARTED);
    let mut calls = calls_of("postgres", client);
    calls.extend(["pg_stat_snowflake", "snowflake_status"].map(|view| format!("TABLE {view}")));
    let mut failed = 0;
    for call in &calls {
        if let Err(error) = client.batch_execute(call) {
            let error = error_of::<()>(Err(error));
            println!("{call}: {} {error}", error.code().code());
            assert_ne!(error.code().code(), "XX000", "{call}: {error}");
            failed += 1;
        }
    }
    println!("{} calls, of which {failed} failed", calls.len());
    assert_eq!(bigint(&mut cluster.connect(), STARTED), before, "the server has crashed");
    assert!(!cluster.log().contains("was terminated by signal"));
}
