//! The reach of a reservation, and the lead over the clock that crashes cause.

use proptest::prelude::*;
use snowflake_core::generator::{
    Decision, Generator, Limits, RESERVATION, Reading, Request, Run, WaitReason,
};
use snowflake_core::issuer::{Issuer, Reservation};
use snowflake_core::register::Record;
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

use crate::fixtures::{NOW, issuer, own, wall};
use crate::records::records;

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A record never takes back what an earlier one has promised, wherever the clock is.
    #[test]
    fn a_reservation_only_adds(
        timestamp in 0..NOW.0,
        before in 0..NOW.0 * 3 / 2,
        now in 0..NOW.0 * 3 / 2,
        age in -Span::DAY.0..Span::DAY.0,
    ) {
        let [timestamp, before, now] = [timestamp, before, now].map(Timestamp);
        let Reservation { record: Record { floor, .. }, reserve_after } =
            issuer(&own()).reservation(timestamp, before, wall(now), Span(age));
        prop_assert!(floor >= before && floor > timestamp);
        prop_assert!(floor >= now + RESERVATION);
        prop_assert!(reserve_after <= floor);
        // Who is asked first need not have passed the clock, nor what is taken now.
        prop_assert!(reserve_after > timestamp.max(now));
    }

    /// A clock that was not set back while the server was down never makes it wait or refuse, crash
    /// after crash. What a crash adds to the lead over the clock is at most a quarter of a second
    /// and an eighth of the time for which the server issued IDs, also where it took every ID that
    /// there was, and an early reservation was durable before the crash.
    #[test]
    fn a_crash_adds_little_to_the_lead(
        lives in prop::collection::vec((prop_oneof![1..100i64, 1..5000i64], prop_oneof![0..3i64, 0..20_000i64]), 1..20),
    ) {
        let issuer = issuer(&own());
        let mut record = issuer.reservation(NOW, NOW - Span(1), wall(NOW), Span::ZERO).record;
        let mut now = NOW;
        let mut furthest = RESERVATION;
        for (downtime, age) in lives {
            now += Span(downtime);
            let start = issuer.start(&record, now).expect("its own record");
            prop_assert!(start.after - now <= furthest, "{} ms ahead", start.after - now);
            let generator = Generator::starting_after(start.after, start.hold, Timestamp(i64::MAX));
            let mut life = Life { issuer: &issuer, record, generator, began: now, now };
            life.take_everything(Span(age))?;
            Life { now, record, .. } = life;
            furthest = furthest + ((RESERVATION + Span(age)) / 8).min(RESERVATION) + Span(1);
        }
    }

    /// Where IDs are taken all the time, what is in the register is a second ahead of the highest
    /// one at least, whether or not IDs are ahead of the clock. So a standby that lags by less than
    /// a second, and by the margin more, has a floor above all that is lost with the primary.
    #[test]
    fn a_lag_of_a_second_is_covered(
        lead in prop_oneof![Just(0), 1..5000i64, Just(600_000)],
        ages in prop::collection::vec(1..500i64, 1..10),
    ) {
        let (issuer, lead) = (issuer(&own()), Span(lead));
        let record = issuer.record(NOW + lead, wall(NOW));
        let generator = Generator::starting_after(NOW + lead, lead, Timestamp(i64::MAX));
        let mut life = Life { issuer: &issuer, record, generator, began: NOW, now: NOW };
        life.take_everything(Span(15_000))?;
        for age in ages {
            life.take_everything(Span(age))?;
            let highest = life.generator.last().expect("it has issued IDs").0;
            prop_assert!(life.record.floor >= highest + RESERVATION / 2, "{}", life.record.floor - highest);
        }
    }

    #[test]
    fn a_record_goes_no_further_than_its_field(record in records(), floor: i64) {
        prop_assert!(issuer(&record).record(Timestamp(floor), wall(NOW)).floor <= record.layout.last_timestamp());
    }
}

/// An incarnation of a server, and the register as it is on disk.
struct Life<'a> {
    issuer: &'a Issuer,
    record: Record,
    generator: Generator,
    began: Timestamp,
    now: Timestamp,
}

impl Life<'_> {
    /// Takes every ID that there is for so long. A reservation is durable as soon as it is written;
    /// an early one is published when the next call asks for one.
    fn take_everything(&mut self, age: Span) -> Result<(), TestCaseError> {
        let request = Request { first: 0, want: 1, last_sequence: 0, leave: 0 };
        let limits = Limits {
            max_burst: Some(Span::ZERO),
            reuse_window: Span::ZERO,
            max_backward_step: Some(Span::ZERO),
            max_wait: Some(Span::ZERO),
            max_queue: Span::ZERO,
        };
        let (mut seen, mut pending) = (None, None);
        let end = self.now + age;
        loop {
            let reading = Reading { now: self.now, seen };
            let decision = self.generator.take(&mut Ring::<1>::new(), reading, request, &limits);
            seen = match decision {
                Decision::Issue(_) => None,
                Decision::IssueAndReserve(Run { timestamp, .. })
                | Decision::Reserve { timestamp } => {
                    if pending.is_some() || matches!(decision, Decision::Reserve { .. }) {
                        let Reservation { record, reserve_after } =
                            pending.take().unwrap_or_else(|| self.write(timestamp));
                        self.generator.raise_floor(record.floor, reserve_after);
                    } else {
                        pending = Some(self.write(timestamp));
                    }
                    None
                }
                Decision::Reread { seen } => Some(seen),
                Decision::Wait { seen, until, reason: WaitReason::NextMillisecond } => {
                    prop_assert!(until <= self.now + Span(1));
                    if until > end {
                        return Ok(());
                    }
                    self.now = until;
                    Some(seen)
                }
                decision => return Err(TestCaseError::fail(format!("{decision:?}"))),
            };
        }
    }

    fn write(&mut self, timestamp: Timestamp) -> Reservation {
        let (floor, age) = (self.generator.floor(), self.now - self.began);
        let written = self.issuer.reservation(timestamp, floor, wall(self.now), age);
        self.record = written.record;
        written
    }
}
