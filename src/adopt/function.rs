//! The function whose values adopted keys take.

use pgrx::prelude::*;

use super::fields;
use crate::server::catalog::PlannedQuery;
use crate::server::report::{self, Report};
use crate::settings;

/// The function.
pub struct Function {
    pub oid: String,
    /// Its name, qualified.
    pub name: String,
}

/// A row: the function of this library that belongs to the extension and to a superuser. Whoever
/// has created the extension can make functions of his own belong to it, but none of this library.
const OURS: &str = "
    SELECT f.oid,
           format('%I.%I', (SELECT nspname FROM pg_namespace WHERE oid = f.pronamespace), f.proname)
    FROM pg_proc AS f
    WHERE (f.proname, f.pronargs, f.prosrc, f.probin)
        = ('snowflake_nextval', 0, 'snowflake_nextval', '$libdir/snowflake_pg')
      AND (SELECT lanname FROM pg_language WHERE oid = f.prolang) = 'c'
      AND (SELECT rolsuper FROM pg_roles WHERE oid = f.proowner)
      AND (SELECT e.extname
           FROM pg_depend AS d, pg_extension AS e
           WHERE (d.classid, d.objid, d.refclassid, d.deptype)
               = ('pg_proc'::regclass, f.oid, 'pg_extension'::regclass, 'e')
             AND e.oid = d.refobjid) = 'snowflake'";

thread_local! {
    static QUERY: PlannedQuery = const { PlannedQuery::new(OURS) };
}

impl Function {
    pub fn find() -> Option<Function> {
        let [oid, name] = fields(QUERY.with(|query| query.rows_by_index(&[])).pop()?);
        Some(Function { oid: oid?, name: name? })
    }

    /// The function that was found, if the server can issue IDs. Otherwise, a notice says what is
    /// missing.
    pub fn ready(found: Option<Function>) -> Option<Function> {
        let fixed = settings::fixed();
        let missing = |error: settings::Error| report::sentences(error.report().message(), None);
        let reason = match found {
            _ if !fixed.preloaded => missing(settings::Error::NotPreloaded),
            _ if fixed.identity.is_none() => missing(settings::Error::NoIdentity),
            Some(function) => return Some(function),
            None => {
                "The database has no extension snowflake with a function snowflake_nextval() that \
                     is the library's and a superuser's."
                    .into()
            }
        };
        let notice = report::message("keys of new tables were not converted to snowflake IDs");
        report::send(notice.set_detail(reason), PgLogLevel::NOTICE);
        None
    }
}
