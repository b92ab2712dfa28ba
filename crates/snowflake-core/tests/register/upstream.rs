//! The clocks of the server that a promoted one followed.

use snowflake_core::jump::{BootClock, Clocks, Reference};
use snowflake_core::register::{Issuer, Record};

use crate::fixtures::{DAY, NOW, issuer, own, wall};

/// On its own timeline, a server goes on from its own clock, whatever it heard before.
#[test]
fn a_promotion_is_compared_with_its_upstream() {
    let upstream = wall(NOW + 1);
    let promoted = Issuer { timeline: 4, ..issuer(&own()) };
    let of_record = Reference::record(own().written);
    let of_both = Reference { upstream: Some(upstream), ..of_record };
    assert_eq!(promoted.reference(&own(), Some(upstream)), of_both);
    assert_eq!(promoted.reference(&own(), None), of_record);
    assert_eq!(issuer(&own()).reference(&own(), Some(upstream)), of_record);
}

/// Only where the upstream's clock alone is in the way.
#[test]
fn a_refusal_that_the_upstream_is_the_reason_for_is_kept() {
    let issuer = Issuer { timeline: 4, ..issuer(&own()) };
    let at = |wall| Clocks { wall, boot: BootClock { boot: 1, elapsed: 1000 } };
    let kept = |now: i64, upstream: i64| {
        let reference = issuer.reference(&own(), Some(at(upstream)));
        issuer.record_of_refusal(&own(), &reference, &at(now))
    };
    let refused = Record { written: at(NOW), ..own() };
    assert_eq!(kept(NOW + 40 * DAY, NOW), Some(refused));
    assert_eq!(kept(NOW + 1000, NOW), None);
    assert_eq!(kept(NOW + 800 * DAY, NOW), None);
}
