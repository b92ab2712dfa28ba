//! The register never forgets by itself, whatever happens, that it is one of a copy.

use proptest::prelude::*;
use snowflake_core::generator::Generator;
use snowflake_core::issuer::Issuer;
use snowflake_core::promise::{Outcome, Promise, Request};
use snowflake_core::register::{NO_TIMELINE, Record};
use snowflake_core::time::{Span, Timestamp};

use crate::effects::{Answer, Effect, drive};
use crate::fixtures::{NOW, WRITER, own, wall};

/// A server, what it holds in memory, and its register, in the buffer pool and on disk.
struct Server {
    issuer: Issuer,
    promise: Promise,
    generator: Generator,
    register: Record,
    durable: Record,
    now: Timestamp,
}

/// A server that has been restored, and its first call.
fn restored() -> Server {
    let issuer = Issuer { is_restored: true, ..crate::fixtures::issuer(&own()) };
    let generator = Generator::starting_after(NOW, Span::ZERO, issuer.layout.last_timestamp());
    Server {
        issuer,
        promise: Promise::default(),
        generator,
        register: own(),
        durable: own(),
        now: NOW + Span(1000),
    }
}

impl Server {
    /// Does what the request asks for, but for the effect of this number, which fails. Returns what
    /// came of it.
    fn want(&mut self, request: Request, failing: Option<usize>) -> Option<Outcome> {
        let Server { issuer, promise, generator, register, durable, now } = self;
        let mut effects = 0;
        let last = drive(promise, issuer, request, |effect| {
            effects += 1;
            if failing == Some(effects) {
                return None;
            }
            Some(match effect {
                Effect::ReadClocks => Answer::Clocks(wall(*now)),
                Effect::Look | Effect::Freeze => Answer::Looked(*generator),
                Effect::Read => Answer::Read(Ok(Some(*register))),
                Effect::AskFlushed => Answer::Position(0),
                Effect::Write(record) => {
                    *register = record;
                    Answer::Position(7)
                }
                Effect::Overwrite(record) => {
                    (*register, *durable) = (record, record);
                    Answer::Done
                }
                Effect::Flush(_) => {
                    *durable = *register;
                    Answer::Done
                }
                Effect::Raise { floor, reserve_after } => {
                    generator.raise_floor(floor, reserve_after);
                    Answer::Done
                }
                Effect::Restart(restarted) => {
                    *generator = restarted;
                    Answer::Done
                }
                _ => Answer::Done,
            })
        });
        self.now += Span(1);
        match last {
            Effect::Finish(outcome, _) => Some(outcome),
            _ => None,
        }
    }

    fn reserve(&self) -> Request {
        let used = self.generator.timestamp().max(self.generator.floor()).max(self.now);
        Request::Reserve { timestamp: used + Span(1), lead: Span::DAY }
    }

    /// Takes an ID, for which it reserves.
    fn take(&mut self) {
        for _ in 0..3 {
            self.want(self.reserve(), None);
        }
        assert!(self.promise.has_begun());
    }

    fn note(&mut self) {
        self.want(Request::NoteCopy, None);
    }

    /// Starts again, with what is durable.
    fn restart(&mut self) {
        self.promise = Promise::default();
        self.register = self.durable;
        self.issuer = Issuer { is_restored: false, start_after: None, ..self.issuer };
    }

    fn restart_as(&mut self, worker_id: u32) {
        self.restart();
        self.issuer.writer.worker_id = worker_id;
    }

    fn set_floor(&mut self) {
        let set = self.want(Request::SetFloor { floor: self.register.floor, force: false }, None);
        assert!(matches!(set, Some(Outcome::FloorSet { .. })), "{set:?}");
    }

    /// Returns whether the check says so, before the next ID and after it.
    fn might_be_a_twin(&mut self) -> bool {
        let Server { issuer, promise, register, now, .. } = self;
        let starting = promise.starting(issuer, Ok(Some(*register)), wall(*now));
        let starting = starting.expect("its own record");
        let foreseen = issuer.might_be_a_twin(starting.copy_of);
        self.take();
        assert_eq!(self.promise.might_be_a_twin(&self.issuer), foreseen);
        foreseen
    }
}

type Act = fn(&mut Server);

/// Events that can happen to a copy, and do not settle it.
const EVENTS: [(&str, Act); 10] = [
    ("an ID", Server::take),
    ("a note", Server::note),
    ("a restart", Server::restart),
    ("a restore", |server| {
        server.restart();
        server.issuer.is_restored = true;
    }),
    ("a promotion", |server| {
        server.restart();
        server.issuer.timeline += 1;
    }),
    ("another identity, and back", |server| {
        server.restart_as(9);
        server.take();
        server.restart_as(WRITER.worker_id);
    }),
    ("a start after what it knows", |server| {
        server.restart();
        server.issuer.start_after = Some(server.register.floor);
    }),
    ("a floor that is too far ahead", |server| {
        server.issuer.max_backward_step = Some(Span::DAY);
        let denied = server
            .want(Request::SetFloor { floor: server.now + Span::DAY * 2, force: false }, None);
        assert!(matches!(denied, Some(Outcome::Denied(_))), "{denied:?}");
    }),
    ("confirmations", |server| {
        let confirm = Request::ConfirmSystemIdentifier { force: false, has_identity: true };
        for request in [Request::ConfirmClock, Request::ConfirmLayout, confirm] {
            server.want(request, None);
        }
    }),
    ("what fails before a floor is written", |server| {
        let far = Request::SetFloor { floor: server.register.floor, force: true };
        for request in [server.reserve(), Request::ReserveEarly, Request::NoteCopy, far] {
            for failing in 1..5 {
                server.want(request, Some(failing));
            }
        }
    }),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// From its first ID on, or from the end of the recovery.
    #[test]
    fn a_copy_does_not_forget_its_original(
        is_noted in any::<bool>(),
        events in prop::collection::vec(prop::sample::select(&EVENTS[..]), 0..12),
    ) {
        let mut server = restored();
        if is_noted { server.note() } else { server.take() }
        for (_, event) in events {
            event(&mut server);
            prop_assert_eq!(server.durable.copy_of, Some(WRITER));
        }
        prop_assert!(server.might_be_a_twin());
        server.set_floor();
        prop_assert!(!server.might_be_a_twin());
        server.restart();
        prop_assert!(!server.might_be_a_twin());
        prop_assert_eq!(server.durable.copy_of, None);
    }
}

/// In the same incarnation, and for every later one; also before the first ID.
#[test]
fn a_floor_settles_a_copy() {
    for is_noted in [true, false] {
        let mut server = restored();
        if is_noted {
            server.note();
        }
        server.set_floor();
        server.note();
        assert!(!server.might_be_a_twin());
        server.restart();
        assert!(!server.might_be_a_twin());
    }
}

/// Not a start after what the copy knows itself, as the copy's own floor says.
#[test]
fn a_start_after_all_that_is_known_settles_a_copy() {
    for ahead in [Span(0), Span(1)] {
        let mut server = restored();
        server.issuer.start_after = Some(server.register.floor + ahead);
        server.note();
        assert_eq!(server.might_be_a_twin(), ahead == Span(0));
        server.restart();
        assert_eq!(server.might_be_a_twin(), ahead == Span(0));
    }
}

/// For as long as the copy has it. What it starts after then is no matter of its original.
#[test]
fn another_identity_settles_a_copy() {
    let mut server = restored();
    server.issuer.writer.worker_id = 9;
    assert!(!server.might_be_a_twin());
    server.restart_as(8);
    server.issuer.start_after = Some(server.register.floor + Span(1));
    assert!(!server.might_be_a_twin());
    server.restart_as(WRITER.worker_id);
    assert!(server.might_be_a_twin());
}

/// The original never runs again.
#[test]
fn a_system_identifier_that_is_confirmed_by_force_settles_a_copy() {
    let mut server = restored();
    server.take();
    server.restart();
    server.issuer.system_identifier = 8;
    server.want(Request::ConfirmSystemIdentifier { force: true, has_identity: true }, None);
    assert_eq!(server.durable, Record { copy_of: None, ..server.durable });
    assert_eq!(server.durable.timeline, NO_TIMELINE);
    assert!(!server.might_be_a_twin());
}
