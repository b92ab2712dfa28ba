//! Keys of tables: which columns are keys, and where their values come from.

mod adopt;
mod copy;
mod key;
mod removed_functions;
mod table;
pub mod utility;
