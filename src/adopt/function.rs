//! The function whose values adopted keys take.

use pgrx::prelude::*;
use snowflake_server::of_ours;
use snowflake_server::report::{self, Report};
use snowflake_server::spi::PlannedQuery;

use super::attempt::fields;
use crate::settings;

/// The function.
pub struct Function {
    pub oid: String,
    /// Its name, qualified.
    pub name: String,
}

/// A row: the function of the library, which belongs to the extension. Its name leads to it.
const OURS: &str = of_ours!(
    "SELECT f.oid,
            format('%I.%I', (SELECT nspname FROM pg_namespace WHERE oid = f.pronamespace), f.proname)
     FROM pg_proc AS f
     JOIN ours ON function = f.oid AND symbol = 'snowflake_nextval'
     JOIN pg_extension AS e ON e.oid = extension AND e.extname = 'snowflake'
     WHERE (f.proname, f.pronargs) = ('snowflake_nextval', 0)"
);

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
            _ if fixed.identity.is_none() => missing(fixed.no_identity()),
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
