//! A call for IDs, by a session whose decisions are given.

use std::collections::VecDeque;
use std::time::Duration;

use snowflake_core::call::{self, Session};
use snowflake_core::defaults;
use snowflake_core::generator::{Decision, Limits, Reading, Request, Run, Seen, WaitReason};
use snowflake_core::promise::Wish;

const LIMITS: Limits = Limits { max_wait: 100, ..defaults::LIMITS };
const RUN: Run = Run { timestamp: 0, first: 0, count: 1 };

/// Decisions to come, the time that a wait lasts, and deeds.
struct Script(VecDeque<Decision>, Duration, Vec<String>);

impl Session for Script {
    type Error = Decision;

    fn read(&mut self, seen: Seen) -> Result<Reading, Decision> {
        Ok(Reading { now: 0, seen })
    }

    fn take(&mut self, _: Reading, want: u32, limits: &Limits) -> Result<Decision, Decision> {
        self.2.push(format!("take {want} {}", limits.max_wait));
        Ok(self.0.pop_front().expect("no more than is asked for"))
    }

    fn wait(&mut self, until: i64, longest: i64) -> Result<Duration, Decision> {
        self.2.push(format!("wait {until} {longest}"));
        Ok(self.1)
    }

    fn reserve(&mut self, wish: Wish) -> Result<(), Decision> {
        self.2.push(format!("{wish:?}"));
        Ok(())
    }

    fn log_step_back(&mut self, lead: i64, is_held: bool) -> Result<(), Decision> {
        self.2.push(format!("log {lead} {is_held}"));
        Ok(())
    }
}

/// Calls for three IDs. Returns the result and the deeds.
fn take(decisions: &[Decision], lasts: u64) -> (Result<Run, Decision>, Vec<String>) {
    let mut script = Script(decisions.to_vec().into(), Duration::from_millis(lasts), Vec::new());
    (call::take(&mut script, 3, &LIMITS), script.2)
}

#[test]
fn what_is_decided_is_done_before_ids_are_returned() {
    let queue = |reserve| Decision::Queue { run: RUN, until: 5, reserve };
    let reuse = |is_first| Decision::Reuse { run: RUN, lead: 7, is_first };
    let (seen, reason) = (Seen::NOTHING, WaitReason::NextMillisecond);
    let (again, reserve) = ("take 3 100", "Reserve { timestamp: 1, lead: 0 }");
    for (decision, done) in [
        (Decision::Issue(RUN), &[][..]),
        (Decision::IssueAndReserve(RUN), &["ReserveEarly"]),
        (queue(false), &["wait 5 8"]),
        (queue(true), &["wait 5 8", "ReserveEarly"]),
        (reuse(false), &[]),
        (reuse(true), &["log 7 false"]),
        (Decision::Reread { seen }, &[again]),
        (Decision::Hold { seen, lead: 7 }, &["log 7 true", again]),
        (Decision::Wait { seen, until: 5, reason }, &["wait 5 100", again]),
        (Decision::Reserve { timestamp: 1 }, &[reserve, again]),
    ] {
        let (came, did) = take(&[decision, Decision::Issue(RUN)], 0);
        assert_eq!(came, Ok(RUN));
        assert_eq!(did, [&["take 3 100"], done].concat());
    }
    for refusal in [Decision::Refuse { timestamp: 0, lead: 1, until: 0 }, Decision::EndOfField] {
        assert_eq!(take(&[refusal], 0).0, Err(refusal));
    }
}

/// The waits of a call for a clock that is behind share `max_wait`. After all of its waits together
/// were longer than the queue, it takes one ID.
#[test]
fn waits_of_a_call_add_up() {
    let wait = |reason| Decision::Wait { seen: Seen::NOTHING, until: 0, reason };
    let (behind, full) = (wait(WaitReason::ClockBehind), wait(WaitReason::NextMillisecond));
    let did = take(&[behind, full, behind, Decision::Issue(RUN)], 4).1;
    let takes = ["take 3 100", "take 3 96", "take 3 96", "take 1 92"];
    assert_eq!(did.into_iter().step_by(2).collect::<Vec<_>>(), takes);
}

#[test]
fn only_a_run_leaves_ids_to_others_and_only_where_they_would_wait() {
    for (want, max_burst, leave) in [(1, 0, 0), (2, 0, 128), (2, 1, 0)] {
        let expected = Request { first: 5, want, last_sequence: 4095, leave };
        assert_eq!(call::request(5, want, 4095, || max_burst), expected);
    }
}
