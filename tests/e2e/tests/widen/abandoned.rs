//! Abandoned in each phase, the tables are as before.

use snowflake_e2e::Cluster;

use super::program::{Running, succeed, widen};
use super::shops::{ALSO, content, owner, schema, with_shop};

/// The phases of the shop before the swap.
pub const PHASES: [&str; 11] = [
    "shadow columns",
    "backfill",
    "vacuum",
    "compare",
    "not null",
    "checks",
    "validate",
    "indexes",
    "foreign keys",
    "statistics",
    "analyze",
];

#[test]
fn a_dump_is_that_from_before_whatever_phase_it_was() {
    let cluster = with_shop(Cluster::builder());
    let mut client = owner(&cluster, "postgres");
    let before = (schema(&cluster, "postgres"), content(&mut client));
    let prepare = [&["prepare", "orders"], &ALSO[..]].concat();
    // What was named once need not be named again.
    let abandon = ["abandon", "orders"];
    for phase in PHASES {
        let mut running = Running::start(widen(&cluster, &prepare));
        running.wait_for(phase);
        running.signal("INT");
        let said = running.end();
        // The last statement of the last phase may have been the last one of all.
        assert!([Some(0), Some(130)].contains(&said.code), "{phase}: {said:?}");
        assert_ne!(schema(&cluster, "postgres"), before.0, "{phase}");
        let said = succeed(&cluster, &abandon);
        assert!(said.contains("abandoned: the tables are as before"), "{said}");
        assert_eq!(schema(&cluster, "postgres"), before.0, "{phase}");
        assert_eq!(content(&mut client), before.1, "{phase}");
    }
    succeed(&cluster, &prepare);
    succeed(&cluster, &abandon);
    assert_eq!(schema(&cluster, "postgres"), before.0);
    // After the swap, there is nothing to go back to.
    succeed(&cluster, &prepare);
    let swap = ["swap", "orders"];
    succeed(&cluster, &swap);
    let after = schema(&cluster, "postgres");
    for (again, nothing) in [(swap, "nothing to swap"), (abandon, "nothing to abandon")] {
        let said = succeed(&cluster, &again);
        assert!(said.contains(nothing), "{said}");
        assert_eq!(schema(&cluster, "postgres"), after);
    }
}
