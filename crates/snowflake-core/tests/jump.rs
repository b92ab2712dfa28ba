//! Property tests of the judgement of a clock that is ahead.

use proptest::prelude::*;
use snowflake_core::jump::{self, BootClock, Clocks, Jump, Reference, Verdict};
use snowflake_core::time::{Span, Timestamp};

const NOW: i64 = 1_800_000_000_000;
const DAY: i64 = 24 * 60 * 60 * 1000;
const BOOT: u128 = 42;

const NOTABLE: i64 = jump::NOTABLE.0;
const SMALLEST_LIMIT: i64 = jump::SMALLEST_LIMIT.0;
const YEAR: i64 = jump::YEAR.0;

fn clocks(wall: i64, boot: u128, elapsed: i64) -> Clocks {
    Clocks { wall: Timestamp(wall), boot: BootClock { boot, elapsed: Span(elapsed) } }
}

/// Clocks after `passed` milliseconds on the same boot, with the wall clock moved by `step`.
fn later(passed: i64, step: i64) -> Clocks {
    clocks(NOW + passed + step, BOOT, 1000 + passed)
}

fn then() -> Clocks {
    clocks(NOW, BOOT, 1000)
}

fn limits() -> impl Strategy<Value = i64> {
    prop_oneof![SMALLEST_LIMIT..10_000, SMALLEST_LIMIT..30 * DAY]
}

fn around_a_year() -> impl Strategy<Value = i64> {
    prop_oneof![YEAR - 1..=YEAR + 1, -YEAR..3 * YEAR]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two clocks that are cut to milliseconds differ by up to two where nothing has jumped.
    #[test]
    fn time_that_passes_is_no_jump(
        passed in 0..100 * YEAR,
        rounding in -2..=2i64,
        limit in prop::option::of(limits()),
    ) {
        let jump = later(passed, rounding).jump_since(&then(), Timestamp(NOW));
        prop_assert!(matches!(jump, Jump::Measured(_)));
        prop_assert_eq!(jump.judge(limit.map(Span)), Verdict::Accept);
    }

    #[test]
    fn a_jump_beyond_the_limit_is_refused(
        passed in 0..YEAR,
        limit in limits(),
        more in prop_oneof![Just(1), 1..YEAR],
    ) {
        let jump = later(passed, limit + more).jump_since(&then(), Timestamp(NOW));
        prop_assert_eq!(jump, Jump::Measured(Span(limit + more)));
        prop_assert_eq!(jump.judge(Some(Span(limit))), Verdict::Refuse);
    }

    #[test]
    fn a_jump_within_the_limit_is_followed(
        passed in 0..YEAR,
        limit in limits(),
        part in prop_oneof![Just(1.0), 0.0..=1.0f64],
    ) {
        let step = (limit as f64 * part) as i64;
        let verdict = later(passed, step).jump_since(&then(), Timestamp(NOW)).judge(Some(Span(limit)));
        prop_assert_eq!(verdict, if step > NOTABLE { Verdict::Log } else { Verdict::Accept });
    }

    /// Another boot, another machine, and a boot clock that went back.
    #[test]
    fn where_nobody_knows_only_a_year_is_refused(
        ahead in around_a_year(),
        limit in limits(),
        elapsed in 0..YEAR,
        case in 0..3,
    ) {
        let now = clocks(NOW + ahead, BOOT, elapsed);
        let last = match case {
            0 => clocks(NOW, BOOT + 1, elapsed),
            1 => clocks(NOW, BOOT, elapsed + 1),
            _ => clocks(NOW, BOOT - 1, 0),
        };
        let expected = match ahead {
            ahead if ahead > YEAR => Verdict::Refuse,
            ahead if ahead > limit => Verdict::Log,
            _ => Verdict::Accept,
        };
        prop_assert_eq!(now.jump_since(&last, Timestamp(NOW)).judge(Some(Span(limit))), expected);
    }

    /// Only the distance of the clock beyond the last timestamp matters.
    #[test]
    fn a_clock_that_comes_back_has_not_jumped(
        passed in 0..YEAR,
        back in 0..10 * YEAR,
        limit in limits(),
        boot in BOOT..=BOOT + 1,
    ) {
        // The last record was written while the clock was behind; timestamps were held.
        let last = clocks(NOW - back, BOOT, 1000);
        let now = clocks(NOW + passed, boot, 1000 + passed);
        let verdict = now.jump_since(&last, Timestamp(NOW + passed)).judge(Some(Span(limit)));
        prop_assert_eq!(verdict, Verdict::Accept);
    }

    #[test]
    fn without_a_limit_nothing_is_refused(
        passed in 0..YEAR,
        step in -YEAR..50 * YEAR,
        boot in BOOT..=BOOT + 1,
    ) {
        let now = clocks(NOW + passed + step, boot, 1000 + passed);
        prop_assert_ne!(now.jump_since(&then(), Timestamp(NOW)).judge(None), Verdict::Refuse);
    }

    /// A promoted server goes on from the clock of another machine, which it last heard of some
    /// time ago.
    #[test]
    fn a_promotion_is_judged_by_the_clock_of_its_upstream(
        difference in -2 * DAY..3 * DAY,
        latency in 0..500i64,
        unseen in 0..1000i64,
        passed in 0..YEAR,
        since in 0..DAY,
        limit in limits(),
    ) {
        // A message was sent, received after the latency, and seen some time later.
        let sent = NOW - difference - latency;
        let seen = clocks(NOW + unseen, BOOT, 1000);
        let upstream = Clocks::of_upstream(Timestamp(sent), Timestamp(NOW), seen, Some(Span(unseen)));
        let now = clocks(NOW + unseen + passed, BOOT, 1000 + passed);
        // The record is of another machine, and from a while ago.
        let record = clocks(now.wall.0 - 2 * DAY - since, BOOT + 1, 0);
        let reference = Reference { record, upstream: Some(upstream) };
        let (verdict, jump) = now.judge(&reference, Timestamp(i64::MIN / 2), Some(Span(limit)));
        let of_upstream = Span((difference + latency).min(2 * DAY + since));
        let by_record = Jump::SinceRecord(Span(2 * DAY + since)).judge(Some(Span(limit)));
        let by_upstream = Jump::Measured(of_upstream).judge(Some(Span(limit)));
        prop_assert_eq!(verdict, by_upstream.max(by_record));
        if by_upstream >= by_record {
            prop_assert_eq!(jump, Jump::OfUpstream(of_upstream));
        }
    }

    /// An upstream whose clock is behind says nothing against a right one.
    #[test]
    fn a_clock_that_agrees_with_the_record_is_followed(
        behind in 0..10 * YEAR,
        passed in 0..NOTABLE,
        limit in limits(),
    ) {
        let now = later(passed, 0);
        let record = clocks(NOW, BOOT + 1, 0);
        let upstream = Clocks { wall: now.wall - Span(behind), ..now };
        let (verdict, _) = now.judge(&Reference { record, upstream: Some(upstream) }, Timestamp(i64::MIN / 2), Some(Span(limit)));
        prop_assert_eq!(verdict, Verdict::Accept);
    }

    /// The upstream refused to follow its clock, and this one agrees with it.
    #[test]
    fn what_the_record_refuses_stays_refused(ahead in YEAR + 1..3 * YEAR, limit in limits()) {
        let now = clocks(NOW + ahead, BOOT, 1000);
        let record = clocks(NOW, BOOT + 1, 0);
        let (verdict, jump) = now.judge(&Reference { record, upstream: Some(now) }, Timestamp(NOW), Some(Span(limit)));
        prop_assert_eq!((verdict, jump), (Verdict::Refuse, Jump::SinceRecord(Span(ahead))));
    }

    /// Between receipt and look, somebody sets the clock: the upstream's is off by no more than the
    /// time since the look before.
    #[test]
    fn a_step_between_receipt_and_look_matters_little(
        step in -DAY..DAY,
        unseen in 0..1000i64,
        ago in 0..1000i64,
    ) {
        let ago = ago.min(unseen);
        let (sent, seen) = (Timestamp(NOW - ago), clocks(NOW + step, BOOT, 1000));
        let upstream = Clocks::of_upstream(sent, sent, seen, Some(Span(unseen)));
        prop_assert!((sent..=sent + Span(unseen)).contains(&upstream.wall));
    }

    /// Whatever a record says, judging it does not overflow.
    #[test]
    fn any_clocks_are_judged(
        wall: i64,
        last: i64,
        elapsed: i64,
        before: i64,
        timestamp: i64,
        boot in 0..2u128,
    ) {
        let now = clocks(wall, 1, elapsed);
        let _ = now.jump_since(&clocks(last, boot, before), Timestamp(timestamp)).judge(Some(Span::DAY));
    }
}

#[test]
fn a_notable_jump_is_logged_without_a_limit_too() {
    assert_eq!(Jump::Measured(jump::NOTABLE).judge(None), Verdict::Accept);
    assert_eq!(Jump::Measured(Span(NOTABLE + 1)).judge(None), Verdict::Log);
    assert_eq!(Jump::SinceRecord(jump::YEAR).judge(None), Verdict::Accept);
    assert_eq!(Jump::SinceRecord(Span(YEAR + 1)).judge(None), Verdict::Log);
}

#[test]
fn the_limits_are_what_the_documents_say() {
    assert_eq!((NOTABLE, SMALLEST_LIMIT, YEAR / DAY), (1000, 1002, 365));
}
