//! Functions that the benchmarks compare with, and benchmarks of their own: for builds with the
//! feature `pg_bench` alone.
//!
//! `cargo pgrx bench` starts a server that has to preload the library, and needs a layout that does
//! not limit it:
//!
//! ```text
//! cargo pgrx bench pg15 --postgresql-conf shared_preload_libraries=snowflake_pg \
//!     --postgresql-conf snowflake.datacenter_id=1 --postgresql-conf snowflake.datacenter_bits=3 \
//!     --postgresql-conf snowflake.worker_id=1 --postgresql-conf snowflake.worker_bits=3 \
//!     --postgresql-conf snowflake.sequence_bits=16
//! ```

use pgrx::prelude::*;

/// Benchmarks inside of a server, for `cargo pgrx bench`, and functions for `make bench`. A call of
/// such a function costs what every function call costs, plus what its comment says, and no more.
#[pg_schema]
mod benches {
    use crate::pg::called_directly;
    use pgrx::prelude::*;
    use pgrx_bench::{Bencher, black_box};

    use crate::generator::clock;
    use crate::generator::shared;
    use crate::{generate, settings};

    /// A function that returns a constant, with the wrapper of `pg_extern`.
    #[pg_extern(volatile, parallel_safe)]
    fn constant() -> i64 {
        black_box(CONSTANT)
    }

    /// A set of constants, streamed.
    #[pg_extern(volatile, strict, parallel_safe)]
    fn constants(count: i32) -> SetOfIterator<'static, i64> {
        let mut left = count;
        SetOfIterator::new(std::iter::from_fn(move || {
            left -= 1;
            (left >= 0).then(|| black_box(CONSTANT))
        }))
    }

    /// One reading of the clock, by a function that PostgreSQL calls as it calls
    /// `snowflake_nextval()`.
    #[unsafe(no_mangle)]
    extern "C-unwind" fn clock_reading(_: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
        clock::now().0.into()
    }

    /// The same, and the generator's lock taken and released.
    #[unsafe(no_mangle)]
    extern "C-unwind" fn clock_reading_and_lock(_: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
        let now = clock::now();
        shared::count(|_| ());
        now.0.into()
    }

    called_directly!(pg_finfo_clock_reading);
    called_directly!(pg_finfo_clock_reading_and_lock);
    extension_sql!(
        "
CREATE FUNCTION benches.clock() RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'clock_reading';
CREATE FUNCTION benches.clock_and_lock() RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'clock_reading_and_lock';
",
        name = "clock_reading",
        requires = [benches]
    );

    const CONSTANT: i64 = 1268118639732232192;

    #[pg_bench]
    fn a_clock_reading(bencher: &mut Bencher) {
        bencher.iter(clock::now);
    }

    #[pg_bench]
    fn next_id(bencher: &mut Bencher) {
        bencher.iter(generate::nextval);
    }

    #[pg_bench]
    fn decompose(bencher: &mut Bencher) {
        let layout = settings::fixed().layout;
        bencher.iter(move || layout.decompose(black_box(CONSTANT)));
    }
}
