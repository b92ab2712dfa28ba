//! Conditions, and the number that a name gives.

use proptest::prelude::*;
use snowflake_core::condition::{Condition, Found, Numbered, parse};
use snowflake_core::layout::{Layout, TWITTER_EPOCH, Widths};

fn condition(name: &str, value: &str) -> Condition {
    Condition { name: name.into(), value: value.into() }
}

#[test]
fn conditions_are_names_and_values() {
    assert_eq!(parse(" "), Some(vec![]));
    let both = vec![condition("_CLUSTER", "shop=1"), condition("hostname", "db *-1")];
    assert_eq!(parse(" _CLUSTER = shop=1 ,hostname=db *-1"), Some(both));
    for text in ["A", "=a", "A=", "A=1,,B=2", "A=1,", "1A=1", "A B=1", "A-B=1", ",", "Ä=1"] {
        assert_eq!(parse(text), None, "{text}");
        assert_eq!(Numbered::parse(text), None, "{text}");
    }
}

#[test]
fn exactly_one_condition_has_one_asterisk() {
    let numbered = Numbered::parse("N=shop, hostname=db-*.east, M=7").expect("valid");
    assert_eq!(numbered.pattern, condition("hostname", "db-*.east"));
    assert_eq!(numbered.conditions, [condition("N", "shop"), condition("M", "7")]);
    for text in ["", "N=shop", "N=*-*", "N=**", "N=*, M=*", "*=1", "hostname=a*b*"] {
        assert_eq!(Numbered::parse(text), None, "{text}");
    }
}

#[test]
fn a_number_is_decimal_digits_and_the_rest_is_literal() {
    use Found::{NoNumber, Number, TooLarge};
    for (pattern, value, found) in [
        ("db-*", "db-2", Number(2)),
        ("db-*", "db-010", Number(10)),
        ("db-*", "db-0", Number(0)),
        ("db-*", "db-4294967295", Number(u32::MAX)),
        ("db-*", "db-4294967296", TooLarge),
        ("db-*", "db-99999999999999999999999999", TooLarge),
        ("*", "7", Number(7)),
        ("db*1.east", "db121.east", Number(12)),
        ("a.*", "a.3", Number(3)),
        ("a.*", "ab3", NoNumber),
        ("db-*", "db-", NoNumber),
        ("db-*", "db-standby", NoNumber),
        ("db-*", "db-2.east", NoNumber),
        ("db-*", "DB-2", NoNumber),
        ("db-*", "xdb-2", NoNumber),
        ("db-*", "db-+2", NoNumber),
        ("db-*", "db--2", NoNumber),
        ("db-*", "db- 2", NoNumber),
        ("db-*", "db-2 ", NoNumber),
        ("db-*", "db-٣", NoNumber),
        ("db-*", "db-2a", NoNumber),
        // The parts on both sides do not overlap.
        ("db-*-db", "db-db", NoNumber),
        ("db-*", "", NoNumber),
        ("db-2", "db-2", NoNumber),
    ] {
        assert_eq!(condition("hostname", pattern).number(value), found, "{pattern}, {value}");
    }
}

proptest! {
    #[test]
    fn a_number_is_found_wherever_it_is(
        before in "[a-z0-9.-]{0,5}", after in "[a-z0-9.-]{0,5}", number: u32, zeros in 0..4usize,
    ) {
        let condition = condition("N", &format!("{before}*{after}"));
        let value = format!("{before}{}{number}{after}", "0".repeat(zeros));
        prop_assert_eq!(condition.number(&value), Found::Number(number));
    }

    /// As wide as it has to be, no time is lost, and the datacenter is kept.
    #[test]
    fn widths_that_hold_a_worker_hold_it(
        datacenter in 0..=12u32, worker in 0..=12u32, sequence in 1..=12u32,
        datacenter_id: u32, worker_id: u32,
    ) {
        let widths = Widths { datacenter, worker, sequence };
        let Ok(layout) = Layout::new(TWITTER_EPOCH, widths) else { return Ok(()) };
        let datacenter_id = datacenter_id.min(layout.last_datacenter_id());
        match layout.widths_with_worker(datacenter_id, worker_id) {
            Some(wider) => {
                let new = Layout::new(TWITTER_EPOCH, wider).expect("valid");
                prop_assert!(new.ids(datacenter_id, worker_id).is_ok());
                prop_assert!(new.timestamp_bits() == layout.timestamp_bits() || wider.sequence == 1);
                prop_assert!(wider.worker >= worker && wider.datacenter <= datacenter);
                prop_assert!(worker_id <= layout.last_worker_id() || wider.worker == bits(worker_id));
                prop_assert!(wider.sequence == sequence || wider.datacenter == bits(datacenter_id));
            }
            None => prop_assert!(bits(datacenter_id) + bits(worker_id) + 1 > 24),
        }
    }
}

/// Returns the number of bits of a number.
fn bits(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}
