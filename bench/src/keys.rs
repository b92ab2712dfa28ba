//! Kinds of keys of the tables that rows are inserted into.

/// A kind of key: its name, the type and default of its column, and the oldest server that has it.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The type and default of the column, in SQL.
    pub column: &'static str,
    /// The oldest server that has it.
    pub since: u32,
}

/// Costs nothing to make: each row has its number anyway.
pub const FREE: &str = "free (row number)";
/// The default key.
pub const SNOWFLAKE: &str = "snowflake_nextval()";
/// The key of a sequence.
pub const NEXTVAL: &str = "nextval()";

/// The key of a sequence of which each session takes 32 values at a time.
pub const NEXTVAL_CACHED: &str = "nextval(), cache 32";

/// All of them.
pub const KEYS: [Key; 6] = [
    Key { name: FREE, column: "bigint", since: 0 },
    Key { name: SNOWFLAKE, column: "bigint DEFAULT snowflake_nextval()", since: 0 },
    Key { name: NEXTVAL, column: "bigint DEFAULT nextval('plain')", since: 0 },
    Key { name: NEXTVAL_CACHED, column: "bigint DEFAULT nextval('cache_32')", since: 0 },
    Key { name: "gen_random_uuid()", column: "uuid DEFAULT gen_random_uuid()", since: 0 },
    Key { name: "uuidv7()", column: "uuid DEFAULT uuidv7()", since: 18 },
];
