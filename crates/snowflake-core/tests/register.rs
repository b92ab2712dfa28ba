//! Property tests of the durable record and of what a start may begin from.

use proptest::prelude::*;
use snowflake_core::generator::{
    Decision, Generator, Limits, RESERVATION, Reading, Request, Seen, WaitReason,
};
use snowflake_core::jump::{BootClock, Clocks, Reference};
use snowflake_core::layout::{Layout, TWITTER_EPOCH, Widths};
use snowflake_core::register::{
    GoesBack, Issuer, LENGTH, MAGIC, NO_TIMELINE, Record, RecordError, Reservation, Start,
    StartAfterAhead, StartError, VERSION, Writer,
};
use snowflake_core::ring::Ring;

const NOW: i64 = 1_800_000_000_000;

const WRITER: Writer = Writer { datacenter_id: 1, worker_id: 2, machine: 3 };

/// How far back a step may be that is held, where a test needs a limit.
const DAY: i64 = 24 * 60 * 60 * 1000;

fn layouts() -> impl Strategy<Value = Layout> {
    (0..NOW, 0..8u32, 0..8u32, 10..12u32).prop_map(|(epoch, datacenter, worker, sequence)| {
        // At least 10 bits below the timestamp, at most 24.
        let sequence = sequence.min(24 - datacenter - worker);
        Layout::new(epoch, Widths { datacenter, worker, sequence }).expect("a valid layout")
    })
}

fn records() -> impl Strategy<Value = Record> {
    let boots =
        (any::<u128>(), any::<i64>()).prop_map(|(boot, elapsed)| BootClock { boot, elapsed });
    let writers =
        (0..1024u32, 0..1024u32, any::<u128>()).prop_map(|(datacenter_id, worker_id, machine)| {
            Writer { datacenter_id, worker_id, machine }
        });
    let layouts = (layouts(), prop::option::of(layouts()));
    (any::<u64>(), any::<u32>(), layouts, 0..1_000_000_000i64, -10_000..10_000i64, boots, writers)
        .prop_map(|(system_identifier, timeline, layouts, since, lead, boot, writer)| {
            let (layout, confirmed) = layouts;
            let floor = layout.epoch() - 1 + since;
            let written = Clocks { wall: floor - lead, boot };
            Record { system_identifier, timeline, floor, written, layout, confirmed, writer }
        })
}

/// The wall clock, on a boot of which nothing else is known.
fn wall(wall: i64) -> Clocks {
    Clocks { wall, boot: BootClock { boot: 0, elapsed: 0 } }
}

fn issuer(record: &Record) -> Issuer {
    Issuer {
        system_identifier: record.system_identifier,
        timeline: record.timeline,
        layout: record.layout,
        writer: WRITER,
        failover_margin: 5000,
        max_backward_step: i64::MAX,
        start_after: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decode_inverts_encode(record in records()) {
        prop_assert_eq!(Record::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn any_flipped_bit_is_noticed(record in records(), bit in 0..LENGTH * 8) {
        let mut bytes = record.encode();
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Record::decode(&bytes).is_err());
    }

    #[test]
    fn other_content_is_damage(bytes in prop::array::uniform32(any::<u8>())) {
        let bytes: [u8; LENGTH] = [bytes; 4].concat()[..LENGTH].try_into().expect("as many bytes");
        prop_assert_eq!(Record::decode(&bytes), Err(RecordError::Damaged));
    }

    /// What makes IDs unique across a start: it begins above the record, whatever the clock says.
    #[test]
    fn a_start_begins_above_the_record(
        record in records(),
        other in prop::option::of(any::<u32>()),
        now in 0..2 * NOW,
    ) {
        // With a confirmed layout, it depends on the timeline whether there is a start.
        let record = Record { confirmed: record.confirmed.filter(|_| other.is_none()), ..record };
        let timeline = other.unwrap_or(record.timeline);
        let issuer = Issuer { timeline, ..issuer(&record) };
        let start = issuer.start(&record, now).expect("the record is the server's own");
        prop_assert!(start.after >= record.floor);
        prop_assert_eq!(start.after, (record.floor + start.margin).min(record.layout.last_timestamp()));
        prop_assert_eq!(start.margin == 0, timeline == record.timeline);
        prop_assert_eq!(issuer.floor(Some(&record)), Some(start.after));
        // It explains no more than the lead that there is; on its own timeline, no more than the
        // record had.
        prop_assert!(start.hold >= 0);
        prop_assert!(start.hold <= (start.after - now).max(0));
        if timeline == record.timeline {
            prop_assert!(start.hold <= (record.floor - record.written.wall).max(0));
        }
    }

    /// Each timeline adds a margin: a server that began on one of them may have been lost before a
    /// record of its own was received.
    #[test]
    fn every_timeline_adds_a_margin(
        timeline in 1..1000u32,
        more in 1..100u32,
        margin in 0..100_000i64,
    ) {
        let record = Record { timeline, ..own() };
        let issuer = Issuer { timeline: timeline + more, failover_margin: margin, ..issuer(&record) };
        let start = issuer.start(&record, NOW).expect("its own record");
        prop_assert_eq!(start.margin, i64::from(more) * margin);
        prop_assert_eq!(start.after, NOW + start.margin);
    }

    /// A timeline that begins is the clock of another machine: whatever is followed at all is no
    /// step.
    #[test]
    fn a_promotion_explains_its_lead(behind in 0..3 * DAY) {
        let issuer = Issuer { timeline: 4, max_backward_step: DAY, ..issuer(&own()) };
        let start = issuer.start(&own(), NOW - behind).expect("its own record");
        let lead = behind + 5000;
        let explained = if lead <= DAY { lead } else { RESERVATION + 5000 };
        prop_assert_eq!(start.hold, explained);
    }

    /// Every start begins above start_after, which explains its own lead, or is refused.
    #[test]
    fn a_start_begins_above_start_after(
        after in NOW - 2 * DAY..NOW + 3 * DAY,
        ahead in -DAY..DAY,
        timeline in 3..5u32,
    ) {
        let now = NOW + ahead;
        let issuer = Issuer {
            start_after: Some(after), timeline, max_backward_step: DAY, ..issuer(&own())
        };
        let plain = Issuer { start_after: None, ..issuer }.start(&own(), now).expect("its own record");
        match issuer.start(&own(), now) {
            Ok(start) if after <= plain.after => prop_assert_eq!(start, plain),
            Ok(start) => {
                prop_assert_eq!(start.after, after);
                prop_assert!(after - now <= DAY);
                prop_assert_eq!(start.hold, (after - now).max(0));
            }
            Err(error) => {
                prop_assert!(after - now > DAY && after > plain.after);
                prop_assert_eq!(error, StartError::from(StartAfterAhead { lead: after - now }));
            }
        }
        match issuer.first_start(now) {
            Ok(start) => prop_assert_eq!(start.after, after.max(now - 1)),
            Err(_) => prop_assert!(after - now > DAY),
        }
    }

    /// A record never takes back what an earlier one has promised, wherever the clock is.
    #[test]
    fn a_reservation_only_adds(
        timestamp in 0..NOW,
        before in 0..NOW * 3 / 2,
        now in 0..NOW * 3 / 2,
        age in -DAY..DAY,
    ) {
        let Reservation { record: Record { floor, .. }, next_after } =
            issuer(&own()).reservation(timestamp, before, wall(now), age);
        prop_assert!(floor >= before && floor > timestamp);
        prop_assert!(floor >= now + RESERVATION);
        prop_assert!(next_after <= floor);
        // Who is asked first need not have passed the clock, nor what is taken now.
        prop_assert!(next_after > timestamp.max(now));
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
        let mut record = issuer.reservation(NOW, NOW - 1, wall(NOW), 0).record;
        let mut now = NOW;
        let mut furthest = RESERVATION;
        for (downtime, age) in lives {
            now += downtime;
            let start = issuer.start(&record, now).expect("its own record");
            prop_assert!(start.after - now <= furthest, "{} ms ahead", start.after - now);
            let generator = Generator::starting_after(start.after, start.hold, i64::MAX);
            let mut life = Life { issuer: &issuer, record, generator, began: now, now };
            life.take_everything(age)?;
            Life { now, record, .. } = life;
            furthest += ((RESERVATION + age) / 8).min(RESERVATION) + 1;
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
        let issuer = issuer(&own());
        let record = issuer.record(NOW + lead, wall(NOW));
        let generator = Generator::starting_after(NOW + lead, lead, i64::MAX);
        let mut life = Life { issuer: &issuer, record, generator, began: NOW, now: NOW };
        life.take_everything(15_000)?;
        for age in ages {
            life.take_everything(age)?;
            let highest = life.generator.last().expect("it has issued IDs").0;
            prop_assert!(life.record.floor >= highest + RESERVATION / 2, "{}", life.record.floor - highest);
        }
    }

    #[test]
    fn a_record_goes_no_further_than_its_field(record in records(), floor: i64) {
        prop_assert!(issuer(&record).record(floor, wall(NOW)).floor <= record.layout.last_timestamp());
    }

    /// A change of layout is accepted only when every ID of the new one is above every ID of the
    /// old one.
    #[test]
    fn a_changed_layout_goes_on_above_the_old_one(
        record in records(),
        layout in layouts(),
        old_bits: i64,
        new_bits: i64,
        ago in 0..1000i64,
    ) {
        let issuer = Issuer { layout, ..issuer(&record) };
        if issuer.confirm_layout(&record).is_ok() && layout != record.layout {
            let mask = |layout: Layout| (1 << layout.timestamp_shift()) - 1;
            let old = ((record.floor - ago - record.layout.epoch()) << record.layout.timestamp_shift()) | (old_bits & mask(record.layout));
            let new = ((record.floor + 1 - layout.epoch()) << layout.timestamp_shift()) | (new_bits & mask(layout));
            prop_assert!(new > old);
        }
    }
}

/// An incarnation of a server, and the register as it is on disk.
struct Life<'a> {
    issuer: &'a Issuer,
    record: Record,
    generator: Generator,
    began: i64,
    now: i64,
}

impl Life<'_> {
    /// Takes every ID that there is for so long. A reservation is durable as soon as it is written;
    /// an early one is published when the next call asks for one.
    fn take_everything(&mut self, age: i64) -> Result<(), TestCaseError> {
        let request = Request { first: 0, want: 1, last_sequence: 0, leave: 0 };
        let limits = Limits { max_burst: 0, reuse_window: 0, max_backward_step: 0, max_wait: 0 };
        let (mut seen, mut pending) = (Seen::NOTHING, None);
        let end = self.now + age;
        loop {
            let reading = Reading { now: self.now, seen };
            seen = match self.generator.take(&mut Ring::<1>::new(), reading, request, &limits) {
                Decision::Issue(_) => Seen::NOTHING,
                Decision::IssueAndReserve(_) => {
                    match pending.take() {
                        Some(published) => self.publish(published),
                        None => pending = Some(self.write(self.generator.timestamp())),
                    }
                    Seen::NOTHING
                }
                Decision::Reread { seen } => seen,
                Decision::Wait { seen, until, reason: WaitReason::NextMillisecond } => {
                    prop_assert!(until <= self.now + 1);
                    if until > end {
                        return Ok(());
                    }
                    self.now = until;
                    seen
                }
                Decision::Reserve { timestamp } => {
                    if let Some(published) = pending.take() {
                        self.publish(published);
                    } else {
                        let published = self.write(timestamp);
                        self.publish(published);
                    }
                    Seen::NOTHING
                }
                decision => return Err(TestCaseError::fail(format!("{decision:?}"))),
            };
        }
    }

    fn write(&mut self, timestamp: i64) -> Reservation {
        let (floor, age) = (self.generator.floor(), self.now - self.began);
        let written = self.issuer.reservation(timestamp, floor, wall(self.now), age);
        self.record = written.record;
        written
    }

    fn publish(&mut self, reservation: Reservation) {
        self.generator.raise_floor(reservation.record.floor, reservation.next_after);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Layouts are configured and confirmed in any order, with IDs in between and without: IDs
    /// increase, and the layout of those that were issued last is never refused.
    #[test]
    fn whatever_layouts_are_confirmed_ids_increase(
        layouts in prop::array::uniform3(recent_layouts()),
        steps in prop::collection::vec((0..3usize, any::<bool>(), any::<bool>(), 0..5000i64), 1..30),
    ) {
        let mut record = Record { layout: layouts[0], ..own() };
        let mut highest = record.highest_id().expect("a floor in the field");
        let mut now = NOW;
        for (layout, confirms, takes, passed) in steps {
            now += passed;
            let issued = record.layout;
            let issuer = Issuer { layout: layouts[layout], ..issuer(&record) };
            if confirms {
                match issuer.confirm_layout(&record) {
                    Ok(Some(confirmed)) => record = confirmed,
                    Ok(None) => {}
                    Err(GoesBack) => prop_assert_ne!(issuer.layout, issued),
                }
                prop_assert_eq!(issuer.confirm_layout(&record).unwrap_or(None), None);
            }
            let Ok(start) = issuer.start(&record, now) else {
                prop_assert_ne!(issuer.layout, issued);
                continue;
            };
            if takes {
                let lowest = issuer.layout.first_id(start.after + 1).expect("in the field");
                prop_assert!(lowest > highest, "{lowest} after {highest}");
                record = issuer.reservation(start.after + 1, start.after, wall(now), 0).record;
                highest = record.highest_id().expect("in the field");
            }
        }
    }

    /// A server is lost with the first IDs after a layout was confirmed. Whichever of the two layouts
    /// they were of, and whichever the promoted server has, what it issues is above those within the
    /// margin, or it issues nothing.
    #[test]
    fn a_confirmed_layout_that_is_lost_with_its_first_ids(
        issued in prop::array::uniform2(recent_layouts()),
        promoted in 0..2usize,
        margin in 0..10_000_000i64,
    ) {
        let record = Record { layout: issued[0], ..own() };
        let lost = Issuer { layout: issued[1], failover_margin: margin, ..issuer(&record) };
        let Ok(Some(confirmed)) = lost.confirm_layout(&record) else { return Ok(()) };
        let issuer = Issuer { layout: issued[promoted], timeline: lost.timeline + 1, ..lost };
        let Ok(start) = issuer.start(&confirmed, NOW) else {
            prop_assert!(issuer.confirm_layout(&confirmed).is_err() || issued[0] == issued[1]);
            return Ok(());
        };
        let lowest = issuer.layout.first_id(start.after + 1).expect("in the field");
        for layout in issued {
            let highest = layout.last_id(confirmed.floor + margin).expect("in the field");
            prop_assert!(lowest > highest, "{lowest} after {highest}");
        }
    }
}

/// Layouts whose field holds the years around now.
fn recent_layouts() -> impl Strategy<Value = Layout> {
    layouts().prop_map(|layout| {
        let epoch = NOW - layout.epoch() % (10 * 365 * DAY);
        Layout::new(epoch, layout.widths()).expect("a valid layout")
    })
}

fn own() -> Record {
    Record {
        system_identifier: 7,
        timeline: 3,
        floor: NOW,
        written: wall(NOW - RESERVATION),
        layout: Layout::TWITTER,
        confirmed: None,
        writer: WRITER,
    }
}

#[test]
fn a_start_of_another_system_or_layout_is_refused() {
    let other = Issuer { system_identifier: 8, ..issuer(&own()) };
    assert_eq!(other.start(&own(), NOW), Err(StartError::SystemIdentifier { recorded: 7 }));
    let layout = Layout::new(TWITTER_EPOCH + 1, Layout::TWITTER.widths()).expect("a valid layout");
    let other = Issuer { layout, ..issuer(&own()) };
    assert_eq!(other.start(&own(), NOW), Err(StartError::Layout { recorded: Layout::TWITTER }));
}

/// A mistake is undone by setting the server right, until there is an ID of the other layout.
#[test]
fn a_confirmed_layout_and_the_former_one_are_accepted_until_the_first_reservation() {
    let former = issuer(&own());
    let layout =
        |bits| Layout::new(TWITTER_EPOCH, Widths { sequence: bits, ..own().layout.widths() });
    let [confirmed, third] =
        [13, 14].map(|bits| Issuer { layout: layout(bits).expect("a valid layout"), ..former });
    let record = confirmed.confirm_layout(&own()).expect("larger IDs").expect("a change");
    assert_eq!(Record::decode(&record.encode()), Ok(record));
    assert_eq!(record.highest_id(), own().highest_id());
    for (issuer, accepted) in [(former, true), (confirmed, true), (third, false)] {
        assert_eq!(issuer.start(&record, NOW).is_ok(), accepted);
    }
    for (issuer, other) in [(former, confirmed), (confirmed, former)] {
        let record = issuer.reservation(NOW + 1, NOW, wall(NOW), 0).record;
        assert!(issuer.start(&record, NOW).is_ok());
        assert_eq!(other.start(&record, NOW), Err(StartError::Layout { recorded: issuer.layout }));
    }
    // The former one is confirmed in its turn, or a third one.
    assert_eq!(former.confirm_layout(&record), Ok(Some(own())));
    let record = third.confirm_layout(&record).expect("larger IDs").expect("a change");
    assert!(third.start(&record, NOW).is_ok());
    assert!(confirmed.start(&record, NOW).is_err());
}

/// `own()` with a confirmed layout of larger IDs, and the issuer that it was confirmed on.
fn confirmed_on(timeline: u32) -> (Record, Issuer) {
    let widths = Widths { sequence: 13, ..Layout::TWITTER.widths() };
    let layout = Layout::new(TWITTER_EPOCH, widths).expect("a valid layout");
    let issuer = Issuer { layout, timeline, ..issuer(&own()) };
    (issuer.confirm_layout(&own()).expect("larger IDs").expect("a change"), issuer)
}

/// It is that of the IDs that were issued, or, where those of the confirmed one might be lost, that one.
#[test]
fn a_refusal_names_the_layout_that_is_in_the_way() {
    let (record, confirmed) = confirmed_on(3);
    let third = Layout::new(TWITTER_EPOCH + 1, Layout::TWITTER.widths()).expect("a valid layout");
    let third = Issuer { layout: third, ..confirmed };
    let recorded = Layout::TWITTER;
    assert_eq!(third.start(&record, NOW), Err(StartError::Layout { recorded }));
    let promoted = Issuer { timeline: 4, ..issuer(&own()) };
    let recorded = confirmed.layout;
    assert_eq!(promoted.start(&record, NOW), Err(StartError::Layout { recorded }));
}

/// The record is of the new timeline from then on, so that its start adds no margin any more.
#[test]
fn a_confirmation_after_a_promotion_keeps_the_margin() {
    let (record, promoted) = confirmed_on(4);
    assert_eq!((record.timeline, record.floor), (4, NOW + 5000));
    let start = promoted.start(&record, NOW).expect("its own record");
    assert_eq!((start.after, start.margin), (NOW + 5000, 0));
}

/// A server whose timeline is new may have lost records of another one, which are up to a margin
/// above the one that it has.
#[test]
fn a_layout_is_confirmed_if_it_is_above_the_margin_of_a_promotion() {
    let record = own();
    // Just above the floor. Its IDs grow half as fast.
    let former = record.layout;
    let widths = Widths { sequence: former.widths().sequence - 1, ..former.widths() };
    let epoch = 2 * former.epoch() - (NOW + 1);
    let layout = Layout::new(epoch, widths).expect("a valid layout");
    let issuer = Issuer { layout, failover_margin: 5000, ..issuer(&record) };
    assert!(issuer.confirm_layout(&record).is_ok());
    let promoted = Issuer { timeline: record.timeline + 1, ..issuer };
    assert_eq!(promoted.confirm_layout(&record), Err(GoesBack));
    let layout = Layout::new(epoch - 5000, widths).expect("a valid layout");
    assert!(Issuer { layout, ..promoted }.confirm_layout(&record).is_ok());
}

/// It is written out for whoever reads the page without knowing the layout; -1 stands for none.
#[test]
fn a_record_holds_the_highest_id_that_it_permits() {
    for (floor, highest) in [
        (NOW, ((NOW - TWITTER_EPOCH) << 22) | ((1 << 22) - 1)),
        (TWITTER_EPOCH, (1 << 22) - 1),
        (TWITTER_EPOCH - 1, -1),
    ] {
        let record = Record { floor, ..own() };
        assert_eq!(record.highest_id().unwrap_or(-1), highest);
        assert_eq!(record.encode()[32..40], highest.to_le_bytes());
    }
}

/// The machine is no part of the identity.
#[test]
fn an_identity_is_the_datacenter_and_the_worker() {
    assert!(WRITER.has_identity_of(&Writer { machine: 4, ..WRITER }));
    assert!(!WRITER.has_identity_of(&Writer { datacenter_id: 2, ..WRITER }));
    assert!(!WRITER.has_identity_of(&Writer { worker_id: 3, ..WRITER }));
}

/// Records without a confirmed layout are as they were before there were any with one.
#[test]
fn a_record_without_a_confirmed_layout_is_112_bytes_long() {
    let bytes = own().encode();
    assert_eq!(bytes[112..], [0; LENGTH - 112]);
    assert_eq!(bytes[108..112], crc32fast::hash(&bytes[..108]).to_le_bytes());
}

#[test]
fn a_start_holds_what_it_explains() {
    let issuer = issuer(&own());
    for (now, hold) in [(NOW + 1, 0), (NOW, 0), (NOW - 1500, 1500), (NOW - 3_600_000, RESERVATION)]
    {
        assert_eq!(
            issuer.start(&own(), now),
            Ok(Start { after: NOW, hold, margin: 0 }),
            "at {now}"
        );
    }
}

/// The bytes of version 1, which had 64 of them, with a checksum that is right.
fn of_version_1() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..60].copy_from_slice(&own().encode()[..60]);
    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..60]);
    bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// No release wrote such a record. It is refused by its number, and never misread.
#[test]
fn a_record_of_an_older_version_is_refused() {
    assert_eq!(Record::decode(&of_version_1()), Err(RecordError::OlderVersion(1)));
    for version in 0..VERSION {
        let mut older = own().encode();
        older[8..12].copy_from_slice(&version.to_le_bytes());
        assert_eq!(Record::decode(&older), Err(RecordError::OlderVersion(version)));
    }
}

#[test]
fn zeros_and_later_versions_are_refused() {
    assert_eq!(Record::decode(&[0; LENGTH]), Err(RecordError::Damaged));
    let mut later = [0xff; LENGTH];
    later[..8].copy_from_slice(&MAGIC);
    later[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
    assert_eq!(Record::decode(&later), Err(RecordError::NewerVersion(VERSION + 1)));
}

#[test]
fn a_layout_of_larger_ids_may_follow_another() {
    let record = own();
    let may = |epoch, datacenter, worker, sequence| {
        let layout =
            Layout::new(epoch, Widths { datacenter, worker, sequence }).expect("a valid layout");
        Issuer { layout, ..issuer(&record) }.confirm_layout(&record).is_ok()
    };
    // Wider parts, or an earlier epoch: larger IDs.
    assert!(may(TWITTER_EPOCH, 5, 5, 14));
    assert!(may(0, 5, 5, 12));
    // Narrower parts, or a later epoch: IDs that were issued before.
    assert!(!may(TWITTER_EPOCH, 5, 5, 10));
    assert!(!may(TWITTER_EPOCH + 86_400_000, 5, 5, 12));
    // The same sum of widths means the same IDs, whatever the parts are called.
    assert!(may(TWITTER_EPOCH, 0, 10, 12));
}

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

#[test]
fn a_record_of_no_timeline_adds_one_margin() {
    let record = Record { timeline: NO_TIMELINE, ..own() };
    let issuer = Issuer { timeline: 7, ..issuer(&record) };
    assert_eq!(issuer.start(&record, NOW).expect("its own record").margin, 5000);
}

#[test]
fn start_after_may_be_as_far_ahead_as_a_step_that_is_held() {
    let issuer = Issuer { start_after: Some(NOW + DAY), max_backward_step: DAY, ..issuer(&own()) };
    let start = Start { after: NOW + DAY, hold: DAY, margin: 0 };
    assert_eq!(issuer.start(&own(), NOW), Ok(start));
    assert_eq!(issuer.start(&own(), NOW - 1), Err(StartAfterAhead { lead: DAY + 1 }.into()));
}

/// Whoever set it to the floor that was handed over has reached it since: it refuses nothing.
#[test]
fn a_start_after_that_the_floor_has_reached_changes_nothing() {
    let issuer = Issuer { max_backward_step: 0, ..issuer(&own()) };
    let plain = issuer.start(&own(), NOW - DAY).expect("its own record");
    for start_after in [NOW - 1, NOW] {
        let told = Issuer { start_after: Some(start_after), ..issuer };
        assert_eq!(told.start(&own(), NOW - DAY), Ok(plain));
    }
}

/// Only where the upstream's clock alone is in the way.
#[test]
fn a_refusal_that_the_upstream_is_the_reason_for_is_kept() {
    let issuer = Issuer { timeline: 4, ..issuer(&own()) };
    let at = |wall| Clocks { wall, boot: BootClock { boot: 1, elapsed: 1000 } };
    let kept = |now: i64, upstream: i64| {
        let reference = issuer.reference(&own(), Some(at(upstream)));
        issuer.record_of_refusal(&own(), &reference, &at(now), Some(DAY))
    };
    let refused = Record { written: at(NOW), ..own() };
    assert_eq!(kept(NOW + 40 * DAY, NOW), Some(refused));
    assert_eq!(kept(NOW + 1000, NOW), None);
    assert_eq!(kept(NOW + 800 * DAY, NOW), None);
}

/// What a server says of itself before its first ID is where that ID will start.
#[test]
fn a_floor_is_above_start_after_too() {
    let record = Record { floor: NOW, ..own() };
    let at = |start_after| Issuer { start_after, ..issuer(&record) };
    assert_eq!(at(None).floor(None), None);
    assert_eq!(at(Some(NOW)).floor(None), Some(NOW));
    assert_eq!(at(Some(NOW + 1)).floor(Some(&record)), Some(NOW + 1));
    assert_eq!(at(Some(NOW - 1)).floor(Some(&record)), Some(NOW));
}
