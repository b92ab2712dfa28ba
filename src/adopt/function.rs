//! The function whose values adopted keys take.

use pgrx::prelude::*;
use snowflake_server::report::{self, Report};

use super::table::{qualified, row};
use crate::extension::functions;
use crate::generate::snowflake_nextval;
use crate::settings;

/// The function of the extension that is this library's, and a superuser's. Membership alone is not
/// enough: whoever has created the extension can add functions of her own to it.
pub fn find() -> Option<pg_sys::Oid> {
    // SAFETY: looks into the catalog. What is found is a function.
    unsafe {
        let extension = pg_sys::get_extension_oid(c"snowflake".as_ptr(), true);
        functions(extension, c"snowflake_nextval").into_iter().find(|function| {
            let owner = row(pg_sys::SysCacheIdentifier::PROCOID, *function, |row| {
                (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_proc>()).proowner
            });
            let mut called = pg_sys::FmgrInfo::default();
            owner.is_some_and(|owner| pg_sys::superuser_arg(owner)) && {
                pg_sys::fmgr_info(*function, &raw mut called);
                called.fn_addr.is_some_and(|address| std::ptr::fn_addr_eq(address, OURS))
            }
        })
    }
}

const OURS: unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo) -> pg_sys::Datum =
    snowflake_nextval;

/// The function, if the server can issue IDs, and its name. Otherwise, a notice says what is missing.
pub fn ready() -> Option<(pg_sys::Oid, String)> {
    let fixed = settings::fixed();
    let missing = |error: settings::Error| report::sentences(error.report().message(), None);
    let reason = match find() {
        _ if !fixed.preloaded => missing(settings::Error::NotPreloaded),
        _ if fixed.identity.is_none() => missing(fixed.no_identity()),
        // SAFETY: looks for the function by its OID.
        Some(function) => unsafe {
            let schema = pg_sys::get_func_namespace(function);
            return Some((function, qualified(schema, pg_sys::get_func_name(function))));
        },
        None => "The database has no extension snowflake with a function snowflake_nextval() that \
                 is the library's and a superuser's."
            .into(),
    };
    let notice = report::message("keys of new tables were not converted to snowflake IDs");
    report::send(notice.set_detail(reason), PgLogLevel::NOTICE);
    None
}
