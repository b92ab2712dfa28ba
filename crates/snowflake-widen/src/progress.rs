//! What is shown while statements are executed: a bar on a terminal, and a line every few seconds
//! elsewhere.

use std::io::{IsTerminal, Write, stdout};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::activity::Activity;
use crate::mark::{Mark, duration, now};
use crate::step::Step;

/// How often a line is printed that only says how far it is, or repeats what is waited for.
const INTERVAL: Duration = Duration::from_secs(5);

/// What is shown.
pub struct Progress {
    goal: &'static str,
    bar: Option<ProgressBar>,
    shown: Mutex<Shown>,
}

struct Shown {
    title: String,
    /// The title, with how far it is.
    text: String,
    mark: Mark,
    /// When the session said so last.
    marked: Instant,
    /// When a line was printed that is not printed each time.
    printed: Instant,
}

impl Progress {
    /// For a goal.
    pub fn new(goal: &'static str) -> Progress {
        let bar = stdout().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stdout());
            let style = ProgressStyle::with_template("[{elapsed_precise}] {bar:30} {wide_msg}");
            bar.set_style(style.expect("a template"));
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let mark = Mark { done: 0, total: 0, first: 0, since: now(), what: goal.into() };
        let shown = Shown {
            title: String::new(),
            text: String::new(),
            mark,
            marked: Instant::now(),
            printed: Instant::now(),
        };
        Progress { goal, bar, shown: Mutex::new(shown) }
    }

    /// A step begins. Returns what the session says of itself, if it is time to say it again.
    pub fn begin(&self, step: &Step) -> Option<Mark> {
        let mut shown = self.shown.lock().expect("no panic");
        let title = step.title();
        let is_new = shown.title != title;
        let (done, total) = step.measure.unwrap_or((0, 0));
        // A statement that is tried again has not moved: what is in the way is said instead.
        let has_moved = done != shown.mark.done;
        let (first, since) = match is_new || done < shown.mark.first {
            true => (done, now()),
            false => (shown.mark.first, shown.mark.since),
        };
        let what = format!("{}, {}", self.goal, step.phase);
        shown.mark = Mark { done, total, first, since, what };
        let text = shown.mark.text(&title, step.phase == "backfill");
        if let Some(bar) = &self.bar {
            bar.set_length(total.max(1) as u64);
            bar.set_position(done.max(0) as u64);
            bar.set_message(text.clone());
        }
        let is_time = self.bar.is_none() && shown.printed.elapsed() >= INTERVAL;
        if is_new || has_moved && is_time {
            self.say(if is_new { &title } else { &text });
            shown.printed = Instant::now();
        }
        shown.title = title;
        shown.text = text;
        if is_new || shown.marked.elapsed() >= INTERVAL {
            shown.marked = Instant::now();
            let Mark { done, total, first, since, ref what } = shown.mark;
            return Some(Mark { done, total, first, since, what: what.clone() });
        }
        None
    }

    /// Says something once.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => print(text),
        }
    }

    /// Says what is waited for, at first and then every few seconds.
    pub fn wait(&self, text: &str, is_first: bool) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
            return;
        }
        let mut shown = self.shown.lock().expect("no panic");
        if is_first || shown.printed.elapsed() >= INTERVAL {
            shown.printed = Instant::now();
            print(text);
        }
    }

    /// A statement takes longer: says how far it is, or what it waits for.
    pub fn observe(&self, activity: &Activity) {
        let shown = self.shown.lock().expect("no panic");
        let (title, text) = (shown.title.clone(), shown.text.clone());
        drop(shown);
        if let Some(blocker) = activity.blockers.first() {
            self.wait(&format!("{title}: waits for {blocker}"), false);
        } else if let Some((part, done, total)) = &activity.part {
            self.wait(&format!("{title}: {part}, {done} of {total}"), false);
        } else {
            self.wait(&text, false);
        }
    }

    /// The end.
    pub fn end(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        print(text);
    }

    /// Takes the bar away before an error is printed.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Mark {
    /// How far it is, for whoever reads it.
    fn text(&self, title: &str, in_blocks: bool) -> String {
        let Mark { done, total, .. } = self;
        if *total <= 0 {
            return title.to_owned();
        }
        let unit = if in_blocks { " blocks" } else { "" };
        let mut text = format!("{title}: {done} of {total}{unit} ({} %)", done * 100 / total);
        if in_blocks && let Some((rate, left)) = self.rate() {
            text += &format!(", {rate:.0} a second, {} left", duration(left));
        }
        text
    }
}

/// Prints a line. Whoever reads it may be gone, for which nothing is given up.
fn print(text: &str) {
    let _ = writeln!(stdout(), "{text}");
}
