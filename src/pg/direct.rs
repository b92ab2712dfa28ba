//! Functions that PostgreSQL calls directly.
//!
//! A function is declared to PostgreSQL in one of two ways. `pg_extern` makes a wrapper for it, and
//! its SQL, which the function gives itself where it has names, defaults or properties that pgrx
//! does not make of the types in Rust. Everything is declared so that does not need the other way:
//! [`called_directly`], with the SQL beside it, for functions whose calls the wrapper would slow
//! down, and for symbols that have no SQL any more.

/// Defines the function in which PostgreSQL looks up how to call one of ours. Its name is
/// `pg_finfo_` and the name of ours.
///
/// The wrapper of `pg_extern` guards every call and switches memory contexts, which is slow beside
/// a function that only computes. A function that is called directly must not panic or raise an
/// error, except within a function that has `#[pg_guard]`.
macro_rules! called_directly {
    ($finfo:ident) => {
        #[unsafe(no_mangle)]
        extern "C" fn $finfo() -> &'static ::pgrx::pg_sys::Pg_finfo_record {
            static INFO: ::pgrx::pg_sys::Pg_finfo_record =
                ::pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &INFO
        }
    };
}
pub(crate) use called_directly;
