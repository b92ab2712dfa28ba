//! What the bounds of the models leave out: a second early reservation, before the record of the first
//! one is durable, and a clock before the epoch.

use snowflake_core::generator::{Generator, RESERVATION};
use snowflake_core::promise::{Effect, Event, Promise, Refusal, Wish, first_start};
use snowflake_core::register::{Issuer, Record};

use crate::fixtures::{NOW, issuer, own, wall};

/// A server that does what the machine asks for, and nothing by itself.
struct Server {
    promise: Promise,
    issuer: Issuer,
    record: Record,
    generator: Generator,
    now: i64,
    written: u64,
    durable: u64,
}

impl Server {
    /// One that has issued IDs.
    fn start() -> Server {
        let mut server = Server {
            promise: Promise::default(),
            issuer: issuer(&own()),
            record: own(),
            generator: Generator::starting_after(i64::MIN / 2, 0, i64::MAX),
            now: NOW + RESERVATION,
            written: 0,
            durable: 0,
        };
        for _ in 0..2 {
            server.want(Wish::Reserve { timestamp: server.now, lead: 0 });
        }
        assert!(server.generator.floor() >= server.now, "{:?}", server.generator);
        server
    }

    /// Does what a session wants. Whatever is published is durable (I1).
    fn want(&mut self, wish: Wish) {
        let last = self.promise.drive(&self.issuer, Event::Wanted(wish), |effect| {
            Some(match effect {
                Effect::ReadClocks => Event::Clocks(wall(self.now)),
                Effect::Look | Effect::Freeze => Event::Looked(self.generator),
                Effect::Read => Event::Read(Ok(Some(self.record))),
                Effect::Create(record) => {
                    self.record = record;
                    Event::Done
                }
                Effect::Write(record) => {
                    self.record = record;
                    self.written += 1;
                    Event::Written(self.written)
                }
                Effect::Flush(position) => {
                    self.durable = self.durable.max(position);
                    Event::Flushed(self.durable)
                }
                Effect::AskFlushed => Event::Flushed(self.durable),
                Effect::FlushSoon(_) | Effect::SyncEntry => Event::Done,
                Effect::Raise { floor, next_after } => {
                    assert_eq!(self.durable, self.written, "a floor that is not durable");
                    self.generator.raise_floor(floor, next_after);
                    Event::Done
                }
                Effect::Restart(generator) => {
                    self.generator = generator;
                    Event::Done
                }
                _ => return None,
            })
        });
        assert!(matches!(last, Effect::Finish(..)), "{last:?}");
    }
}

#[test]
fn a_record_that_is_not_durable_is_not_published() {
    let mut server = Server::start();
    let floor = server.generator.floor();
    server.now += RESERVATION;
    server.want(Wish::ReserveEarly);
    assert!(server.record.floor > floor && server.durable < server.written);
    server.want(Wish::ReserveEarly);
    assert_eq!(server.generator.floor(), floor);
    server.durable = server.written;
    server.want(Wish::ReserveEarly);
    assert_eq!(server.generator.floor(), server.record.floor);
}

#[test]
fn the_first_start_is_not_before_the_epoch() {
    let issuer = issuer(&own());
    let epoch = issuer.layout.epoch();
    for now in [epoch, epoch + 1] {
        assert!(first_start(&issuer, wall(now)).is_ok());
    }
    let refusal = Refusal::ClockBeforeEpoch { now: epoch - 1, epoch };
    assert_eq!(first_start(&issuer, wall(epoch - 1)).err(), Some(refusal));
}

#[test]
fn a_standby_remembers_the_clock_that_it_heard_last() {
    let mut promise = Promise::default();
    assert_eq!(promise.upstream(), None);
    for upstream in [wall(NOW), wall(NOW - 1)] {
        promise.hear(upstream);
        assert_eq!(promise.upstream(), Some(upstream));
    }
}
