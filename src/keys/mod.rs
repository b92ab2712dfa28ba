//! Keys of tables: which columns are keys, and where their values come from.
//!
//! - `copy`: COPY with the default, at the price of a free key.
//! - `utility`: the hook that sees each utility statement, and says which one runs.
//! - `adopt`: the keys of new tables in schemas that a setting names.
//! - `removed_functions`: functions that only the former version of the extension declares.
//! - `key`: the columns that are keys, from PostgreSQL's caches.
//! - `table`: a table in these caches.

mod adopt;
mod copy;
mod key;
mod removed_functions;
mod table;
pub mod utility;
