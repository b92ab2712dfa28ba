//! Which functions are those of the library `snowflake_pg`.

use pgrx::pg_sys;

use crate::spi::{self, Argument, Row, text};

/// The beginning of a query that reads the functions of the library from `ours (function, symbol,
/// extension)`: those that are in C, in the library `snowflake_pg`, of a superuser, and members of an
/// extension. Only superusers create functions in C, so nobody else has one that looks like this,
/// whatever the names of its schema and of itself.
const OURS: &str = r"
    WITH ours (function, symbol, extension) AS (
        SELECT p.oid, p.prosrc, d.refobjid
        FROM pg_proc AS p
        JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'c'
        JOIN pg_roles AS r ON r.oid = p.proowner AND r.rolsuper
        JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
             AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
        WHERE p.probin ~ '(^|/)snowflake_pg(\.so)?$'
    ) ";

/// As [`spi::query`], for the rest of such a query.
pub fn query(query: &str, arguments: &[Argument]) -> Vec<Row> {
    spi::query(&format!("{OURS}{query}"), arguments)
}

/// A function of the library.
pub struct Function {
    /// Its OID.
    pub oid: pg_sys::Oid,
    /// The schema that it is in.
    pub schema: String,
}

impl Function {
    /// The function of this symbol; `None` if this database does not have it.
    pub fn of(symbol: &str) -> Option<Function> {
        const FOUND: &str = "
            SELECT p.oid, n.nspname
            FROM ours JOIN pg_proc AS p ON p.oid = function
            JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE symbol = $1";
        let row = query(FOUND, &[text(symbol)]).pop()?;
        let [oid, schema] = row.try_into().expect("two columns");
        let oid = oid.expect("an OID").parse::<u32>().expect("an OID");
        Some(Function { oid: oid.into(), schema: schema.expect("a name") })
    }

    /// Calls a function that takes nothing and returns a `bigint`.
    ///
    /// # Safety
    ///
    /// The function is one of these.
    pub unsafe fn bigint(&self) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { pg_sys::OidFunctionCall0Coll(self.oid, pg_sys::InvalidOid).value() as i64 }
    }
}
