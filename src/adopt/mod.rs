//! The extension `snowflake_adopt`: new tables of a schema get snowflake IDs as keys, whatever
//! creates them.
//!
//! An event trigger looks at statements that have created or changed tables. It converts what such a
//! statement has made, with the code of `snowflake_convert()`, as the role that executes the
//! statement. A conversion that fails becomes a warning, and the statement succeeds as it would
//! have without the extension.
//!
//! - `command`: what the event trigger is told of a statement.
//! - `schemas`: which schemas are adopted.
//! - `columns`: what a statement has made that concerns us, and what becomes of it.
//! - `attempt`: how a conversion is tried, so that its failure does not stop the statement.
//! - `guard`: who may insert into the table of adopted schemas.
//! - `error`: why a schema cannot be adopted.

mod attempt;
mod columns;
mod command;
mod error;
mod guard;
mod schemas;

use pgrx::prelude::*;

use crate::server::direct::called_directly;
use crate::server::encoding::text_argument;
use crate::server::report::OrRaise;
use command::Command;
use error::Error;
use schemas::Schemas;

called_directly!(pg_finfo_snowflake_adopt);
called_directly!(pg_finfo_snowflake_disown);
called_directly!(pg_finfo_snowflake_adopt_new);

/// Adopts a schema: from now on, keys of its new tables become snowflake IDs. Returns whether the
/// schema was not adopted before, or was adopted with other `keys`. 22023 for other keys than
/// `primary` and `all`; 3F000 if there is no such schema; 42501 unless the caller has the rights of
/// the schema's owner; 42939 for a schema of the system.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn snowflake_adopt(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the function is strict, and has these two arguments.
    let (schema, keys) = unsafe { (text_argument(fcinfo, 0), text_argument(fcinfo, 1)) };
    adopt(function(fcinfo), &schema, &keys).or_raise().into()
}

/// Ends the adoption of a schema, and returns whether it was adopted. What was converted stays as it
/// is. 3F000, 42501 and 42939 as for `snowflake_adopt()`.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn snowflake_disown(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the function is strict, and has this argument.
    let schema = unsafe { text_argument(fcinfo, 0) };
    disown(function(fcinfo), &schema).or_raise().into()
}

/// Converts keys of new tables in adopted schemas, and ends the adoption of schemas that are gone.
/// 39P01 unless it is fired as an event trigger.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn snowflake_adopt_new(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    let command = Command::of(fcinfo).ok_or(Error::Event).or_raise();
    // SAFETY: variables of this process.
    let is_others = unsafe { pg_sys::IsBinaryUpgrade || pg_sys::creating_extension };
    if !is_others && !attempt::is_under_way() {
        let function = function(fcinfo);
        match command {
            Command::Other => {}
            Command::Tables { name, change } => {
                columns::look_at(function, name.as_deref(), &change);
            }
            Command::SchemaIsOther { new_name } => {
                schemas::end_of_the_gone(function, new_name.as_deref());
            }
        }
    }
    pg_sys::Datum::null()
}

fn adopt(function: pg_sys::Oid, schema: &str, keys: &str) -> Result<bool, Error> {
    if !["primary", "all"].contains(&keys) {
        return Err(Error::Keys(keys.into()));
    }
    let schemas = Schemas::of_owner(function, schema)?;
    Ok(schemas.adopt(schema, keys))
}

fn disown(function: pg_sys::Oid, schema: &str) -> Result<bool, Error> {
    let schemas = Schemas::of_owner(function, schema)?;
    Ok(schemas.disown(schema))
}

fn function(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Oid {
    // SAFETY: PostgreSQL calls with a function.
    unsafe { (*(*fcinfo).flinfo).fn_oid }
}
