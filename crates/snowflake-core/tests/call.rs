//! A call for IDs, by a session whose decisions are given.

use std::collections::VecDeque;
use std::time::Duration;

use snowflake_core::call::{self, Session};
use snowflake_core::defaults;
use snowflake_core::generator::{
    Decision, Generator, Limits, Reading, Request, Run, Seen, WaitReason,
};
use snowflake_core::promise;
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

const LIMITS: Limits = Limits { max_wait: Some(Span(100)), ..defaults::LIMITS };
const NOW: Timestamp = Timestamp(0);
const RUN: Run = Run { timestamp: NOW, first: 0, count: 1 };

/// Decisions to come, the time that a wait lasts, and deeds.
struct Script(VecDeque<Decision>, Duration, Vec<String>);

impl Session for Script {
    type Error = Decision;

    fn read(&mut self, seen: Option<Seen>) -> Result<Reading, Decision> {
        Ok(Reading { now: NOW, seen })
    }

    fn take(&mut self, _: Reading, want: u32, limits: &Limits) -> Result<Decision, Decision> {
        self.2.push(format!("take {want} {}", limits.max_wait.expect("a limit")));
        Ok(self.0.pop_front().expect("no more than is asked for"))
    }

    fn wait(&mut self, until: Timestamp, longest: Span) -> Result<Duration, Decision> {
        self.2.push(format!("wait {until} {longest}"));
        Ok(self.1)
    }

    fn reserve(&mut self, request: promise::Request) -> Result<(), Decision> {
        self.2.push(format!("{request:?}"));
        Ok(())
    }

    fn log_step_back(&mut self, lead: Span, is_held: bool) -> Result<(), Decision> {
        self.2.push(format!("log {lead} {is_held}"));
        Ok(())
    }
}

/// A state that a session has seen.
fn seen() -> Seen {
    let request = call::request(0, 1, 0, || None);
    let by = Reading { now: NOW, seen: None };
    let mut generator = Generator::starting_after(NOW, Span::ZERO, NOW);
    match generator.take(&mut Ring::<1>::new(), by, request, &LIMITS) {
        Decision::Reread { seen } => seen,
        decision => panic!("{decision:?}"),
    }
}

/// Calls for three IDs. Returns the result and the deeds.
fn take(decisions: &[Decision], lasts: u64) -> (Result<Run, Decision>, Vec<String>) {
    let mut script = Script(decisions.to_vec().into(), Duration::from_millis(lasts), Vec::new());
    (call::take(&mut script, 3, &LIMITS), script.2)
}

#[test]
fn what_is_decided_is_done_before_ids_are_returned() {
    let queue = |reserve| Decision::Queue { run: RUN, until: Timestamp(5), reserve };
    let reuse = |is_first| Decision::Reuse { run: RUN, lead: Span(7), is_first };
    let (seen, reason) = (seen(), WaitReason::NextMillisecond);
    let (again, reserve) = ("take 3 100", "Reserve { timestamp: Timestamp(1), lead: Span(0) }");
    for (decision, done) in [
        (Decision::Issue(RUN), &[][..]),
        (Decision::IssueAndReserve(RUN), &["ReserveEarly"]),
        (queue(false), &["wait 5 8"]),
        (queue(true), &["wait 5 8", "ReserveEarly"]),
        (reuse(false), &[]),
        (reuse(true), &["log 7 false"]),
        (Decision::Reread { seen }, &[again]),
        (Decision::Hold { seen, lead: Span(7) }, &["log 7 true", again]),
        (Decision::Wait { seen, until: Timestamp(5), reason }, &["wait 5 100", again]),
        (Decision::Reserve { timestamp: Timestamp(1) }, &[reserve, again]),
    ] {
        let (came, did) = take(&[decision, Decision::Issue(RUN)], 0);
        assert_eq!(came, Ok(RUN));
        assert_eq!(did, [&["take 3 100"], done].concat());
    }
    for refusal in
        [Decision::Refuse { timestamp: NOW, lead: Span(1), until: NOW }, Decision::EndOfField]
    {
        assert_eq!(take(&[refusal], 0).0, Err(refusal));
    }
}

/// The waits of a call for a clock that is behind share `max_wait`. After all of its waits together
/// were longer than the queue, it takes one ID.
#[test]
fn waits_of_a_call_add_up() {
    let wait = |reason| Decision::Wait { seen: seen(), until: NOW, reason };
    let (behind, full) = (wait(WaitReason::ClockBehind), wait(WaitReason::NextMillisecond));
    let did = take(&[behind, full, behind, Decision::Issue(RUN)], 4).1;
    let takes = ["take 3 100", "take 3 96", "take 3 96", "take 1 92"];
    assert_eq!(did.into_iter().step_by(2).collect::<Vec<_>>(), takes);
}

#[test]
fn only_a_run_leaves_ids_to_others_and_only_where_they_would_wait() {
    for (want, max_burst, leave) in [(1, 0, 0), (2, 0, 128), (2, 1, 0)] {
        let expected = Request { first: 5, want, last_sequence: 4095, leave };
        assert_eq!(call::request(5, want, 4095, || Some(Span(max_burst))), expected);
    }
}
