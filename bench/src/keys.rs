//! Keys that a user can choose from, and the servers that have them all.

use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use postgres::Client;
use snowflake_e2e::{Cluster, ClusterBuilder, Run, new_directory, output};

/// A kind of key.
#[derive(Clone, Copy)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// The type of the column, and what it has besides a default.
    column: &'static str,
    /// The call of a user for a key, in SQL; empty if there is none.
    pub call: &'static str,
}

/// Costs nothing to make: each row has its number anyway.
pub const FREE: &str = "free (row number)";
/// The default key.
pub const SNOWFLAKE: &str = "snowflake_nextval()";
/// The same by another name: a function in SQL that is nothing but the call.
pub const NEW_ID: &str = "new_id()";
/// The same with a layout that limits nobody.
pub const WIDE: &str = "snowflake_nextval(), 16 bits";
/// The same of the former release.
pub const FORMER: &str = "snowflake_nextval(), former release";
/// The key of a sequence.
pub const NEXTVAL: &str = "nextval()";
/// The key of a sequence of which each session takes 32 values at a time.
pub const NEXTVAL_CACHED: &str = "nextval(), cache 32";
/// A random key that begins with the time.
pub const UUIDV7: &str = "uuidv7()";
/// A random key.
pub const UUID: &str = "gen_random_uuid()";
/// Makes keys of the time and a sequence; see [`PEERS`].
pub const NEXT_ID: &str = "next_id()";

const KEYS: [Key; 10] = [
    Key { name: FREE, column: "bigint", call: "" },
    Key { name: SNOWFLAKE, column: "bigint", call: SNOWFLAKE },
    Key { name: NEW_ID, column: "bigint", call: NEW_ID },
    Key { name: NEXTVAL, column: "bigint", call: "nextval('plain')" },
    Key { name: NEXTVAL_CACHED, column: "bigint", call: "nextval('cache_32')" },
    Key { name: "identity column", column: "bigint GENERATED ALWAYS AS IDENTITY", call: "" },
    Key { name: "PL/pgSQL function", column: "bigint", call: NEXT_ID },
    Key { name: "pgEdge's snowflake", column: "bigint", call: "pgedge_nextval('of_pgedge')" },
    Key { name: UUIDV7, column: "uuid", call: UUIDV7 },
    Key { name: UUID, column: "uuid", call: UUID },
];

/// Sequences, the other name, and the function that many copy from Instagram's description of its
/// keys: 41 bits of time, 13 of a shard and 10 of a sequence, which repeat after 1,024 calls in a
/// millisecond.
const PEERS: &str = "
    CREATE SEQUENCE plain;
    CREATE SEQUENCE cache_32 CACHE 32;
    CREATE SEQUENCE of_shard;
    CREATE FUNCTION new_id() RETURNS bigint LANGUAGE sql RETURN snowflake_nextval();
    CREATE FUNCTION next_id(OUT result bigint) LANGUAGE plpgsql AS $$
    DECLARE
        our_epoch bigint := 1314220021721;
        shard_id int := 5;
        now_ms bigint;
        seq_id bigint;
    BEGIN
        SELECT nextval('of_shard') % 1024 INTO seq_id;
        SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_ms;
        result := (now_ms - our_epoch) << 23;
        result := result | (shard_id << 10);
        result := result | seq_id;
    END
    $$;
    SELECT snowflake_nextval()";

/// Names the directory with the sources of pgEdge's extension.
const PGEDGE_SOURCE: &str = "PGEDGE_SOURCE";

/// Starts a server with what makes the keys, and returns those that it has.
pub fn start(builder: ClusterBuilder) -> (Cluster, Vec<Key>) {
    static PGEDGE: OnceLock<Option<String>> = OnceLock::new();
    let pgedge = PGEDGE.get_or_init(build_pgedge).as_ref();
    let builder = match pgedge {
        // Ours comes first, because calls within a library go to the first function of their name.
        Some(library) => {
            builder.set("shared_preload_libraries", &format!("snowflake_pg, {library}"))
        }
        None => builder,
    };
    let cluster = builder.start();
    let mut client = cluster.connect();
    client.run(PEERS);
    if let Some(library) = pgedge {
        let create = format!(
            "ALTER DATABASE postgres SET snowflake.node = 1;
             CREATE SEQUENCE of_pgedge;
             CREATE FUNCTION pgedge_nextval(regclass) RETURNS bigint
                 LANGUAGE c AS '{library}', 'snowflake_nextval'"
        );
        client.run(&create);
    }
    let keys = KEYS.into_iter().filter(|key| key.is_in(&mut client)).collect();
    (cluster, keys)
}

impl Key {
    fn is_in(&self, client: &mut Client) -> bool {
        let function = self.call.split('(').next().unwrap_or_default();
        let exists = "SELECT $1 = '' OR EXISTS (SELECT FROM pg_proc WHERE proname = $1)";
        client.query_one(exists, &[&function]).expect("a row").get(0)
    }

    /// Creates a table with this key and a number.
    pub fn create_table(&self, client: &mut Client, table: &str) {
        let Key { column, call, .. } = self;
        let default = if call.is_empty() { String::new() } else { format!("DEFAULT {call}") };
        let create = format!("CREATE TABLE {table} (id {column} {default} PRIMARY KEY, item int)");
        client.run(&create);
    }
}

/// Builds the library, and leaves the sources as they are.
fn build_pgedge() -> Option<String> {
    let Some(source) = env::var_os(PGEDGE_SOURCE) else {
        println!("Without pgEdge's snowflake, because {PGEDGE_SOURCE} is not set");
        return None;
    };
    let source = Path::new(&source).canonicalize().expect("a directory");
    let pg_config = env::var("SNOWFLAKE_PG_CONFIG").expect("SNOWFLAKE_PG_CONFIG is set");
    // Removed with all that tools/on-server leaves.
    let built = new_directory().keep();
    let mut make = Command::new("make");
    make.arg("-C").arg(&built).arg("-f").arg(source.join("Makefile"));
    make.arg(format!("VPATH={}", source.display())).arg(format!("PG_CONFIG={pg_config}"));
    // The compiler need not be that of the server, whose flags it might not know.
    make.arg("CFLAGS=-O2 -fno-strict-aliasing -fwrapv");
    output(make.args(["USE_PGXS=1", "with_llvm=no", "snowflake.so"]));
    Some(built.join("snowflake").display().to_string())
}
