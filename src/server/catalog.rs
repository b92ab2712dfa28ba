//! Queries to the catalog, and statements, through SPI.

use std::ffi::{CStr, CString, c_char};

use pgrx::pg_sys;
use pgrx::spi::Spi;

use super::encoding::{decode, encode};

/// What a query is given: a value, and its type.
pub type Argument = (Option<pg_sys::Datum>, pg_sys::Oid);

/// A row that a query returned, as text.
pub type Row = Vec<Option<String>>;

/// Whether the transaction keeps its first snapshot, and does not see what is committed after it.
pub fn keeps_snapshot() -> bool {
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Names are resolved in the catalog alone.
const CATALOG_ALONE: (&CStr, &CStr) = (c"search_path", c"pg_catalog, pg_temp");

/// Runs a query of ours in the latest snapshot that the transaction may have, with names resolved
/// in the catalog alone.
pub fn query(query: &str, arguments: &[Argument]) -> Vec<Row> {
    // To compile a long query takes longer than to run it, and the planner cannot know how many rows
    // a part of it gives, which nested loops depend on.
    let settings =
        [CATALOG_ALONE, (c"row_security", c"off"), (c"jit", c"off"), (c"enable_nestloop", c"off")];
    with_settings(&settings, || select(query, arguments))
}

/// Runs a query that calls functions of users: names are resolved in the catalog first, and then as
/// the caller's settings say.
pub fn query_of_users(query: &str) -> Vec<Row> {
    // SAFETY: the setting exists. Its value is copied.
    let path =
        unsafe { CStr::from_ptr(pg_sys::GetConfigOption(c"search_path".as_ptr(), false, false)) };
    let path = [c"pg_catalog, ".to_bytes(), path.to_bytes()].concat();
    let path = CString::new(path).expect("a setting has no zero byte");
    with_settings(&[(c"search_path", &path)], || select(query, &[]))
}

fn select(query: &str, arguments: &[Argument]) -> Vec<Row> {
    let mut types: Vec<_> = arguments.iter().map(|(_, of)| *of).collect();
    let mut values: Vec<_> =
        arguments.iter().map(|(value, _)| value.unwrap_or(pg_sys::Datum::null())).collect();
    let nulls: Vec<u8> =
        arguments.iter().map(|(value, _)| if value.is_none() { b'n' } else { b' ' }).collect();
    let query = encode(query);
    Spi::connect(|_| {
        // SAFETY: SPI is connected, and the arrays are of one length.
        let status = unsafe {
            pg_sys::SPI_execute_with_args(
                query.as_ptr(),
                types.len() as i32,
                types.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_ptr().cast(),
                false,
                0,
            )
        };
        assert_eq!(status, pg_sys::SPI_OK_SELECT as i32, "{query:?}");
        rows()
    })
}

/// Executes a statement as the user that is current, under the settings that are in force.
pub fn execute(statement: &str) {
    let statement = encode(statement);
    Spi::connect(|_| {
        // SAFETY: SPI is connected.
        let status = unsafe { pg_sys::SPI_execute(statement.as_ptr(), false, 0) };
        assert!(status >= 0, "{statement:?}: {status}");
    });
}

/// The same with names resolved in the catalog alone, and with the bodies of functions unchecked,
/// as in the restoration of a dump.
pub fn execute_qualified(statement: &str) {
    let settings = [CATALOG_ALONE, (c"check_function_bodies", c"off")];
    with_settings(&settings, || execute(statement));
}

/// Runs `act` as another user, and puts settings back afterwards. If `is_restricted`, the operation
/// is restricted in the way that REINDEX and VACUUM are, so that code of that user can do nothing
/// that outlasts the call.
///
/// After an error, the end of the transaction or subtransaction puts everything back.
pub fn as_user<T>(user: pg_sys::Oid, is_restricted: bool, act: impl FnOnce() -> T) -> T {
    let (mut before, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: the user exists; what was in force is put back.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut before, &raw mut context);
        let restriction =
            if is_restricted { pg_sys::SECURITY_RESTRICTED_OPERATION as i32 } else { 0 };
        pg_sys::SetUserIdAndSecContext(user, context | restriction);
    }
    let done = with_settings(&[], act);
    // SAFETY: as above.
    unsafe { pg_sys::SetUserIdAndSecContext(before, context) };
    done
}

/// Acts under settings of its own, and puts back what it or others changed meanwhile.
fn with_settings<T>(settings: &[(&CStr, &CStr)], act: impl FnOnce() -> T) -> T {
    // SAFETY: names and values are those of the server's own settings. What is set is put back, by
    // the end of the transaction after an error.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in settings {
            pg_sys::set_config_option(
                name.as_ptr(),
                value.as_ptr(),
                pg_sys::GucContext::PGC_USERSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SAVE,
                true,
                0,
                false,
            );
        }
        let done = act();
        pg_sys::AtEOXact_GUC(false, level);
        done
    }
}

/// The rows of the query that was executed last.
fn rows() -> Vec<Row> {
    // SAFETY: a SELECT leaves a table, which stays until SPI is left.
    unsafe {
        let table = &*pg_sys::SPI_tuptable;
        let columns = (*table.tupdesc).natts;
        (0..table.numvals as usize)
            .map(|row| {
                let tuple = *table.vals.add(row);
                (1..=columns)
                    .map(|column| text(pg_sys::SPI_getvalue(tuple, table.tupdesc, column)))
                    .collect()
            })
            .collect()
    }
}

/// # Safety
///
/// `text` is NULL or a string.
unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: checked for NULL.
    (!text.is_null()).then(|| decode(unsafe { CStr::from_ptr(text) }))
}
