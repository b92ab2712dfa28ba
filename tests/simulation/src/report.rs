//! What a run of the simulation counts.

use std::fmt;

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counts {
    pub ids: u64,
    pub takes: u64,
    pub crashes: u64,
    pub reboots: u64,
    pub restarts: u64,
    pub failovers: u64,
    /// Failovers that lost WAL.
    pub lossy: u64,
    pub restores: u64,
    pub hand_overs: u64,
    pub steps: u64,
    pub refused_starts: u64,
    pub refused_takes: u64,
    pub duplicates: u64,
    /// Runs that were not above one that the same life of the server had issued before.
    pub misplaced: u64,
}

impl Counts {
    fn named(&self) -> [(&'static str, u64); 14] {
        [
            ("IDs", self.ids),
            ("calls that got IDs", self.takes),
            ("crashes", self.crashes),
            ("crashes with a reboot", self.reboots),
            ("restarts", self.restarts),
            ("failovers", self.failovers),
            ("failovers that lost WAL", self.lossy),
            ("restores to an earlier point", self.restores),
            ("hand-overs of an identity", self.hand_overs),
            ("clock steps", self.steps),
            ("refused starts", self.refused_starts),
            ("refused calls", self.refused_takes),
            ("IDs out of order", self.misplaced),
            ("duplicates", self.duplicates),
        ]
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        let Counts {
            ids,
            takes,
            crashes,
            reboots,
            restarts,
            failovers,
            lossy,
            restores,
            hand_overs,
            steps,
            refused_starts,
            refused_takes,
            duplicates,
            misplaced,
        } = other;
        self.ids += ids;
        self.takes += takes;
        self.crashes += crashes;
        self.reboots += reboots;
        self.restarts += restarts;
        self.failovers += failovers;
        self.lossy += lossy;
        self.restores += restores;
        self.hand_overs += hand_overs;
        self.steps += steps;
        self.refused_starts += refused_starts;
        self.refused_takes += refused_takes;
        self.duplicates += duplicates;
        self.misplaced += misplaced;
    }

    /// Whether no promise was broken.
    pub fn is_sound(&self) -> bool {
        self.duplicates == 0 && self.misplaced == 0
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// How many identities there are.
    pub nodes: usize,
    /// How much true time has passed, without the nights, in seconds.
    pub seconds: i64,
    /// What happened.
    pub counts: Counts,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{:<30} {:>15}", "nodes", grouped(self.nodes as u64))?;
        writeln!(f, "{:<30} {:>15}", "seconds of activity", grouped(self.seconds as u64))?;
        self.counts
            .named()
            .iter()
            .try_for_each(|(name, count)| writeln!(f, "{name:<30} {:>15}", grouped(*count)))
    }
}

/// A number with commas.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// IDs that were taken at once, and when.
#[derive(Clone, Copy, Debug)]
pub struct Issued {
    /// The first ID.
    pub first: i64,
    /// True time, in microseconds.
    pub at: i64,
}
