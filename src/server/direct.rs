//! Functions that PostgreSQL calls directly.

/// Tells PostgreSQL how to call this function of ours, which it knows under the same name.
///
/// The wrapper of `pg_extern` guards every call and switches memory contexts. That takes longer than
/// all the rest of a function that only computes. Such a function is called directly. It must not
/// panic, nor raise an error, but in a function that has `#[pg_guard]`.
macro_rules! called_directly {
    ($version:ident) => {
        #[unsafe(no_mangle)]
        extern "C" fn $version() -> &'static pgrx::pg_sys::Pg_finfo_record {
            static VERSION: pgrx::pg_sys::Pg_finfo_record =
                pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &VERSION
        }
    };
}

pub(crate) use called_directly;
