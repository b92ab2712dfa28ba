//! Public IDs: names of IDs for the outside, which tell nothing of them.
//!
//! - `file`: the file that has the keys.
//! - `keys`: the keys in shared memory, and those of a statement.
//! - `reload`: the background worker that reads the file again.
//! - `error`: errors.

mod error;
mod file;
mod keys;
mod reload;

use crate::pg::memory::OfProcess;
use crate::pg::report::{ErrorReport, OrRaise};
use pgrx::fcinfo::pg_getarg;
use pgrx::prelude::*;
use snowflake_core::outside::public::{self, Prefix};

use crate::settings;

pub use file::{configured, is_in_data_directory};
pub use keys::{State, state};

/// Asks for the shared memory and the background worker. Called while the library is preloaded.
pub fn init() {
    keys::init();
    reload::init();
}

/// The name of an ID with this prefix: NULL for NULL. 22004 and 22023 for a prefix that is NULL or
/// not valid; 55000 without preloading, and without a key.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_to_public(id bigint, prefix text DEFAULT '') RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_to_public(fcinfo: pg_sys::FunctionCallInfo) -> Option<Vec<u8>> {
    // SAFETY: the function has these arguments.
    let (id, prefix) = unsafe { (pg_getarg::<i64>(fcinfo, 0), pg_getarg::<&[u8]>(fcinfo, 1)) };
    let prefix = known_prefix(prefix).or_raise();
    let id = id?;
    settings::require_preloading().or_raise();
    let name = keys::with(|keys| match keys {
        [] => Err(error::no_keys()),
        [first, ..] => Ok(first.name(id, &prefix)),
    });
    Some(name.or_raise().into_bytes())
}

/// The ID that has this name: NULL if there is none, and for NULL. Errors as those of
/// `snowflake_to_public()`.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_from_public(public text, prefix text DEFAULT '') RETURNS bigint
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_from_public(fcinfo: pg_sys::FunctionCallInfo) -> Option<i64> {
    // SAFETY: the function has these arguments.
    let (name, prefix) = unsafe { (pg_getarg::<&[u8]>(fcinfo, 0), pg_getarg::<&[u8]>(fcinfo, 1)) };
    let prefix = known_prefix(prefix).or_raise();
    let name = name?;
    settings::require_preloading().or_raise();
    keys::with(|keys| match keys {
        [] => Err(error::no_keys()),
        keys => Ok(public::id(keys, name, &prefix)),
    })
    .or_raise()
}

/// The number of prefixes that a process remembers, so that the hash of each is computed once.
const KNOWN: usize = 8;

/// The prefix that an argument is.
fn known_prefix(text: Option<&[u8]>) -> Result<Prefix, ErrorReport> {
    static PREFIXES: OfProcess<Vec<Prefix>> = OfProcess::new(Vec::new());
    let text = text.ok_or_else(error::null_prefix)?;
    let mut known = PREFIXES.borrow_mut();
    if let Some(prefix) = known.iter().find(|prefix| prefix.as_bytes() == text) {
        return Ok(*prefix);
    }
    let prefix = Prefix::new(text).map_err(error::wrong_prefix)?;
    known.truncate(KNOWN - 1);
    known.insert(0, prefix);
    Ok(prefix)
}
