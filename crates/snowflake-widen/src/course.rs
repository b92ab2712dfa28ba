//! One statement after the other, until the goal is reached.

use std::mem;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postgres::error::SqlState;

use crate::activity::Activity;
use crate::address::Address;
use crate::arguments::Unit;
use crate::execution::{Yielding, execute};
use crate::failure::Failure;
use crate::interrupt;
use crate::mark::duration;
use crate::progress::Progress;
use crate::session::Session;
use crate::step::Step;

/// How long a lost connection is tried again.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often a statement may succeed and be the next one again.
const REPETITIONS: u32 = 5;
/// How often autovacuums are made to yield to the same statement.
const LONG_ATTEMPTS: Duration = Duration::from_secs(30);

/// What is counted for the last line.
#[derive(Default)]
struct Counts {
    statements: u32,
    retries: u32,
    long_attempts: u32,
    reconnections: u32,
    longest_locks: f64,
    longest_rows: f64,
}

/// Follows the statements to a goal.
pub fn follow(address: &Address, unit: &Unit, goal: &'static str) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let progress = Arc::new(Progress::new(goal));
    let course = Course {
        address,
        unit,
        goal,
        progress: &progress,
        counts: Counts::default(),
        position: 0,
        scans: 0,
        waits: 0,
        last: (String::new(), 0),
        trouble: Trouble::default(),
    };
    let result = course.run();
    if result.is_err() {
        progress.clear();
    }
    result
}

struct Course<'a> {
    address: &'a Address,
    unit: &'a Unit,
    goal: &'static str,
    progress: &'a Arc<Progress>,
    counts: Counts,
    /// Where the backfill goes on.
    position: i64,
    /// How often all rows were looked at in vain.
    scans: u64,
    /// How often there was something to wait for before a statement.
    waits: u64,
    /// The last statement that has succeeded, and how often it did, one time after the other.
    last: (String, u32),
    trouble: Trouble,
}

/// What is in the way of a statement.
#[derive(Default)]
struct Trouble {
    title: String,
    attempts: u32,
    /// The last attempt that made autovacuums yield.
    last_long: Option<Instant>,
    /// The tables for which the next attempt does.
    yielding: Vec<String>,
}

impl<'a> Course<'a> {
    fn run(mut self) -> Result<ExitCode, Failure> {
        let begin = Instant::now();
        let mut session = self.open()?;
        loop {
            interrupt::check()?;
            match self.advance(&mut session) {
                Ok(None) => (),
                Ok(Some(last)) => {
                    self.progress.end(&self.summary(&last, begin.elapsed()));
                    return Ok(ExitCode::SUCCESS);
                }
                Err(failure) if failure.lost_session() => {
                    session = self.reopen(&failure)?;
                    // A server that crashed may have lost what succeeded.
                    self.last = Default::default();
                    self.counts.reconnections += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Does what comes next; the last step if there is nothing left.
    fn advance(&mut self, session: &mut Session<'a>) -> Result<Option<Step>, Failure> {
        let step = session.next(self.goal, self.position)?;
        let title = step.title();
        if self.trouble.title != title {
            self.trouble = Trouble { title, ..Trouble::default() };
        }
        if let Some(wait) = &step.wait {
            self.position = step.next_position;
            self.waits += 1;
            let text = format!("{}: waits: {wait}", step.title());
            let time = Duration::from_secs(self.waits.min(10));
            self.pause(session, &text, self.waits == 1, time)?;
            return Ok(None);
        }
        let Some(statement) = &step.statement else { return Ok(Some(step)) };
        if let Some(mark) = self.progress.begin(&step) {
            session.show(&mark)?;
        }
        let tables = mem::take(&mut self.trouble.yielding);
        let yielding = match tables.is_empty() {
            true => None,
            false => {
                let timeout = session.deadlock_timeout()? + 1000;
                Some(Yielding { tables: &tables, timeout })
            }
        };
        let outcome = execute(session, &step, statement, yielding.as_ref(), self.progress);
        match outcome.result {
            Ok(held) => {
                self.counts.statements += 1;
                let longest = match (&step.locks, &*step.phase) {
                    (Some(_), _) => Some(&mut self.counts.longest_locks),
                    (None, "backfill") => Some(&mut self.counts.longest_rows),
                    _ => None,
                };
                if let Some((longest, held)) = longest.zip(held) {
                    *longest = longest.max(held);
                }
                self.trouble = Trouble::default();
                self.position = step.next_position;
                self.check_progress(&step, statement)?;
                // Its dead rows may be what is waited for.
                if step.phase != "vacuum" {
                    self.waits = 0;
                }
            }
            // Rows that were locked were skipped, and are found by another scan.
            Err(failure) if failure.state() == Some(&SqlState::CHECK_VIOLATION) => {
                self.position = 0;
                self.scans += 1;
                let text = format!("{}: not all rows are copied yet", step.title());
                self.pause(session, &text, true, Duration::from_secs(self.scans.min(30)))?;
            }
            Err(failure) if failure.may_pass() => {
                self.back_off(session, &step, &failure, outcome.seen)?;
            }
            Err(failure) => return Err(failure),
        }
        Ok(None)
    }

    /// An error if the same statement succeeds again and again, and is still the next one. VACUUM is
    /// repeated until it has nothing to wait for.
    fn check_progress(&mut self, step: &Step, statement: &str) -> Result<(), Failure> {
        let (last, times) = &mut self.last;
        *times = if last == statement && step.phase != "vacuum" { *times + 1 } else { 1 };
        statement.clone_into(last);
        if *times < REPETITIONS {
            return Ok(());
        }
        Err(Failure::Own(
            format!(
                "{}: a statement has succeeded {times} times, and is still the next one",
                step.title()
            ),
            Some(format!("The statement is: {statement}")),
            Some("Nothing is lost: abandon, or report this.".into()),
        ))
    }

    /// Says what was in the way, and waits, longer each time.
    fn back_off(
        &mut self,
        session: &mut Session<'a>,
        step: &Step,
        failure: &Failure,
        seen: Option<Activity>,
    ) -> Result<(), Failure> {
        interrupt::check()?;
        let trouble = &mut self.trouble;
        trouble.attempts += 1;
        self.counts.retries += 1;
        let is_first = trouble.attempts == 1;
        let title = step.title();
        let blockers = seen.map(|seen| seen.blockers).unwrap_or_default();
        if let Some(blocker) = blockers.iter().find(|blocker| blocker.prevents_wraparound) {
            let text = format!("{title}: waits for {blocker}, which does not yield");
            return self.pause(session, &text, is_first, Duration::from_secs(5));
        }
        if let Some(blocker) = blockers.first()
            // With somebody else in the way, it would be in vain as well.
            && blockers.iter().all(|blocker| blocker.is_autovacuum)
            && trouble.last_long.is_none_or(|time| time.elapsed() > LONG_ATTEMPTS)
        {
            trouble.last_long = Some(Instant::now());
            trouble.yielding = blockers.iter().flat_map(|blocker| blocker.tables.clone()).collect();
            self.counts.long_attempts += 1;
            self.progress.say(&format!(
                "{title}: one attempt that lasts longer than deadlock_timeout, to which {blocker} yields"
            ));
            return Ok(());
        }
        let who: Vec<String> = blockers.iter().map(ToString::to_string).collect();
        let who = if who.is_empty() { failure_text(failure) } else { who.join("; ") };
        let text = format!("{title}: attempt {} was in vain: {who}", trouble.attempts);
        // Not the same for two programs.
        let longest = (100 << trouble.attempts.min(6)).min(5000);
        let time = Duration::from_millis(fastrand::u64(longest / 2..=longest));
        self.pause(session, &text, is_first, time)
    }

    /// Says here and to the server what is waited for, and waits.
    fn pause(
        &self,
        session: &mut Session<'a>,
        text: &str,
        is_first: bool,
        time: Duration,
    ) -> Result<(), Failure> {
        self.progress.wait(text, is_first);
        session.remark(text)?;
        interrupt::sleep(time)
    }

    /// The first session. Waits for another program that works on the table.
    fn open(&self) -> Result<Session<'a>, Failure> {
        let mut session = Session::open(self.address, self.unit, self.progress)?;
        let mut is_first = true;
        while let Some(pid) = session.lock()? {
            let text =
                format!("waits for session {pid}, in which the same program works on the table");
            self.progress.wait(&text, is_first);
            is_first = false;
            interrupt::sleep(Duration::from_millis(500))?;
        }
        Ok(session)
    }

    /// Another session in place of one that is lost.
    fn reopen(&self, lost: &Failure) -> Result<Session<'a>, Failure> {
        let begin = Instant::now();
        self.progress
            .say(&format!("the connection was lost, and is tried again: {}", failure_text(lost)));
        loop {
            match self.open() {
                Ok(session) => {
                    self.progress.say("connected again");
                    return Ok(session);
                }
                Err(failure) if !is_temporary(&failure) => return Err(failure),
                Err(failure) if begin.elapsed() > PATIENCE => {
                    return Err(Failure::Connection(failure_text(&failure)));
                }
                Err(failure) => {
                    let text = format!("not yet: {}", failure_text(&failure));
                    self.progress.wait(&text, false);
                }
            }
            interrupt::sleep(Duration::from_millis(500))?;
        }
    }

    fn summary(&self, last: &Step, time: Duration) -> String {
        let Counts { statements, retries, long_attempts, reconnections, .. } = self.counts;
        // The statement after which a session was lost might have been executed.
        let is_idle = statements == 0 && reconnections == 0;
        let end = match (self.goal, &*last.phase) {
            ("swap", "done") if is_idle => "nothing to swap: the key is bigint".to_owned(),
            ("abandon", _) if is_idle => "nothing to abandon".to_owned(),
            ("prepare", "ready") => "ready to swap".to_owned(),
            ("swap", "done") => "swapped".to_owned(),
            ("abandon", _) => "abandoned: the tables are as before".to_owned(),
            (_, phase) => phase.to_owned(),
        };
        let Counts { longest_locks, longest_rows, .. } = self.counts;
        let time = duration(time.as_secs_f64());
        let mut text = format!("{end} ({statements} statements in {time}");
        for (what, longest) in [("tables", longest_locks), ("rows", longest_rows)] {
            if longest > 0.0 {
                text += &format!("; {what} were locked for {longest:.0} ms at most");
            }
        }
        text += &format!("; {retries} attempts were in vain");
        if long_attempts > 0 {
            text += &format!(", {long_attempts} longer ones made autovacuums yield");
        }
        if reconnections > 0 {
            text += &format!("; connected again {reconnections} times");
        }
        text + ")"
    }
}

/// What a failure says, in one line.
fn failure_text(failure: &Failure) -> String {
    match failure {
        Failure::Server(error) => error.message().to_owned(),
        Failure::Own(message, ..) | Failure::Connection(message) => message.clone(),
        Failure::Interrupted => "a signal".into(),
    }
}

/// Whether there may be a session later: the server is not there, starts, or has no place left.
fn is_temporary(failure: &Failure) -> bool {
    failure.lost_session() || failure.state() == Some(&SqlState::TOO_MANY_CONNECTIONS)
}
