//! Tests that run inside of a server: what only shows there.

use pgrx::prelude::*;

#[pg_schema]
mod tests {
    use pgrx::prelude::*;
    use snowflake_core::layout::Parts;
    use snowflake_core::time::Span;

    use crate::generator::clock;
    use crate::settings;

    fn one<T: FromDatum + IntoDatum>(query: &str) -> T {
        Spi::get_one(query).expect("the query runs").expect("a value")
    }

    #[pg_test]
    fn ids_carry_the_configured_identity() {
        let id: i64 = one("SELECT snowflake_nextval()");
        let parts = settings::fixed().layout.decompose(id).expect("an ID");
        assert_eq!((parts.datacenter_id, parts.worker_id), (5, 9));
        assert!((0..1000).contains(&(clock::now() - parts.timestamp).0));
    }

    #[pg_test]
    fn the_hot_path_composes_as_the_core_does() {
        let fixed = settings::fixed();
        let layout = fixed.layout;
        let mut timestamp = layout.epoch();
        while timestamp <= layout.last_timestamp() {
            for sequence in [0, 1, layout.last_sequence()] {
                let parts = Parts { timestamp, datacenter_id: 5, worker_id: 9, sequence };
                assert_eq!(layout.compose(parts), Ok(fixed.ids.compose(timestamp, sequence)));
            }
            timestamp += Span(1_000_003 * 1009);
        }
    }

    #[pg_test]
    fn currval_is_the_last_nextval() {
        let id: i64 = one("SELECT snowflake_nextval()");
        assert_eq!(one::<i64>("SELECT snowflake_currval()"), id);
        let last: i64 = one("SELECT max(id) FROM (SELECT snowflake_nextval(7) AS id) AS ids");
        assert_eq!(one::<i64>("SELECT snowflake_currval()"), last);
    }

    #[pg_test]
    fn without_the_snapshot_of_a_query_there_is_no_horizon() {
        assert!(crate::horizon::horizon().is_ok());
        // SAFETY: the snapshot is registered before it is popped, and pushed again.
        unsafe {
            let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetActiveSnapshot());
            let mut popped = 0;
            while pg_sys::ActiveSnapshotSet() {
                pg_sys::PopActiveSnapshot();
                popped += 1;
            }
            let error = crate::horizon::horizon().expect_err("there is no snapshot");
            for _ in 0..popped {
                pg_sys::PushActiveSnapshot(snapshot);
            }
            pg_sys::UnregisterSnapshot(snapshot);
            assert!(format!("{error:?}").contains("to this kind of snapshot"));
        }
    }

    #[pg_test(error = "a snowflake ID is never negative")]
    fn a_negative_id_is_an_error() {
        one::<i32>("SELECT snowflake_worker_id(-1)");
    }
}
