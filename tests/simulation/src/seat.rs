//! An identity, the server that has it and its clients, and what happens to them.

use fastrand::Rng;
use snowflake_core::call::LONGEST_RUN;
use snowflake_core::defaults;
use snowflake_core::generator::Run;
use snowflake_core::layout::Ids;
use snowflake_core::time::Timestamp;

use crate::cluster::{COVERED_LAG, Cluster, LAYOUT, Refusal};
use crate::history::History;
use crate::machine::{MILLISECOND, Machine, SECOND};
use crate::options::{BEGIN, Ignored, NIGHT, Options, Steps, World};
use crate::report::Counts;

/// The work of a server's clients.
#[derive(Clone, Copy)]
enum Load {
    Idle,
    /// A few IDs now and then: the mean time between two calls, in microseconds.
    Steady {
        pause: i64,
    },
    /// Calls one after another.
    Burst {
        want: u32,
    },
}

/// An identity, and the server that has it.
pub(crate) struct Seat {
    world: World,
    ids: Ids,
    pub(crate) cluster: Cluster,
    history: History,
    pub(crate) rng: Rng,
    load: Load,
    load_ends: i64,
    take_at: i64,
    event_at: i64,
    /// The reading of the clock of a session that was then kept from taking IDs.
    old_reading: Option<Timestamp>,
    /// The last ID of this life of the server.
    last: Option<(Timestamp, u32)>,
    /// True if its start was refused, and is counted.
    start_refused: bool,
    /// The floor that the next server has to start after.
    pub(crate) released: Option<Timestamp>,
    counts: Counts,
}

impl Seat {
    pub(crate) fn new(options: &Options, node: usize) -> Seat {
        let mut rng =
            Rng::with_seed(options.seed ^ (node as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let workers = LAYOUT.last_worker_id() + 1;
        let (datacenter, worker) = (node as u32 / workers, node as u32 % workers);
        let machine = machine(&mut rng, &options.world, BEGIN);
        let standby = machine_beside(&mut rng, &options.world, BEGIN);
        let mut cluster = Cluster::new(&mut rng, BEGIN, machine, standby, options.world.unusual);
        cluster.ignored = options.ignored;
        let mut seat = Seat {
            world: options.world,
            ids: LAYOUT.ids(datacenter, worker).expect("an identity of the layout"),
            cluster,
            history: History::default(),
            load: Load::Idle,
            load_ends: BEGIN,
            take_at: BEGIN + rng.i64(0..SECOND),
            event_at: 0,
            old_reading: None,
            last: None,
            start_refused: false,
            released: None,
            counts: Counts::default(),
            rng,
        };
        seat.event_at = BEGIN + seat.until_event();
        seat
    }

    pub(crate) fn advance(
        &mut self,
        until: i64,
        counts: &mut Counts,
        watch: &mut impl FnMut(i64, i64),
    ) {
        self.counts = *counts;
        while self.released.is_none() {
            if self.event_at.min(self.take_at) >= until {
                break;
            } else if self.event_at <= self.take_at {
                let at = self.event_at;
                self.event_at = at + self.until_event();
                self.happen(at);
            } else if self.take_at >= self.load_ends {
                self.change_load();
            } else {
                self.take(watch);
            }
        }
        *counts = self.counts;
    }

    fn take(&mut self, watch: &mut impl FnMut(i64, i64)) {
        let want = match self.load {
            Load::Burst { want } => want,
            _ => self.rng.u32(1..=8),
        };
        let mut at = self.take_at;
        let old = self.old_reading.take_if(|_| self.rng.u8(..) == 0);
        match self.cluster.take(&mut self.rng, &mut at, old, want) {
            Ok(run) => {
                self.keep(run);
                watch(self.ids.compose(run.timestamp, run.first), at);
                self.take_at = at + self.pause();
            }
            Err(refusal) => {
                self.counts.refused_takes += u64::from(refusal != Refusal::Fenced);
                let is_start = refusal == Refusal::Start;
                self.counts.refused_starts += u64::from(is_start && !self.start_refused);
                self.start_refused |= is_start;
                self.take_at = at + self.rng.i64(50..500) * MILLISECOND;
            }
        }
        if self.old_reading.is_none() && self.world.unusual {
            self.old_reading = Some(self.cluster.machine.wall(at));
        }
        self.event_at = self.event_at.max(at);
    }

    fn keep(&mut self, run: Run) {
        self.counts.takes += 1;
        self.counts.ids += u64::from(run.count);
        self.counts.duplicates += self.history.add(run);
        let first = (run.timestamp, run.first);
        self.counts.misplaced += u64::from(self.last.is_some_and(|last| first <= last));
        self.last = Some((run.timestamp, run.first + run.count - 1));
    }

    fn pause(&mut self) -> i64 {
        match self.load {
            Load::Idle => SECOND,
            Load::Steady { pause } => self.rng.i64(0..2 * pause),
            Load::Burst { .. } => self.rng.i64(2..60),
        }
    }

    fn change_load(&mut self) {
        let at = self.take_at;
        let (load, lasts) = match self.rng.u8(0..100) {
            0..25 => (Load::Idle, 10 * SECOND),
            25..45 => (Load::Steady { pause: SECOND }, 20 * SECOND),
            45..75 => {
                let pause = self.rng.i64(5..100) * MILLISECOND;
                (Load::Steady { pause }, 20 * SECOND)
            }
            75..90 => (Load::Steady { pause: self.rng.i64(500..5000) }, 4 * SECOND),
            90..96 => (Load::Burst { want: 8 }, 60 * MILLISECOND),
            96..98 => (Load::Burst { want: LONGEST_RUN }, 10 * MILLISECOND),
            _ => (Load::Idle, 60 * SECOND),
        };
        self.load = load;
        self.load_ends = at + self.rng.i64(0..lasts);
        if matches!(load, Load::Idle) {
            self.take_at = self.load_ends;
        }
    }

    /// Most events are apart, and some follow at once, as a crash follows a start.
    fn until_event(&mut self) -> i64 {
        if self.world.steps == Steps::None && !self.world.faults {
            i64::MAX / 4
        } else if self.rng.u8(0..5) == 0 {
            self.rng.i64(0..200 * MILLISECOND)
        } else {
            self.rng.i64(0..20 * SECOND)
        }
    }

    fn happen(&mut self, at: i64) {
        let is_wrong = self.cluster.machine.ahead(at).abs() > SECOND;
        match self.rng.u8(0..100) {
            0..50 if is_wrong => self.step(at, true),
            0..40 => self.step(at, false),
            40..45 => {
                let ahead = self.step_to(self.cluster.standby.ahead(at));
                self.set(at, true, ahead);
            }
            _ if !self.world.faults => {}
            45..60 => self.crash(at),
            60..72 => self.restart(at),
            72..88 => self.fail_over(at),
            88..92 => self.restore(at),
            _ => self.release(at),
        }
    }

    fn step(&mut self, at: i64, is_set_right: bool) {
        let ahead = if is_set_right {
            self.rng.i64(-self.world.spread..=self.world.spread)
        } else {
            self.step_to(self.cluster.machine.ahead(at))
        };
        self.set(at, false, ahead);
        if ahead.abs() > defaults::MAX_FORWARD_STEP.0 * MILLISECOND {
            // Somebody notices.
            self.event_at = self.event_at.min(at + self.rng.i64(0..5 * SECOND));
        }
    }

    fn set(&mut self, at: i64, standby: bool, ahead: i64) {
        if self.world.steps != Steps::None {
            let Cluster { machine, standby: other, .. } = &mut self.cluster;
            if standby {
                other.set(at, ahead)
            } else {
                machine.set(at, ahead)
            }
            self.counts.steps += 1;
        }
    }

    /// Returns how far ahead of true time a step leaves a clock.
    fn step_to(&mut self, ahead: i64) -> i64 {
        const DAY: i64 = defaults::MAX_FORWARD_STEP.0 * MILLISECOND;
        if self.world.steps == Steps::Small {
            return self.rng.i64(-SECOND..=SECOND);
        }
        let by = match self.rng.u16(0..1000) {
            0..900 => 500 * MILLISECOND,
            900..975 => 30 * SECOND,
            975..985 => 3600 * SECOND,
            985..988 => DAY - SECOND,
            // Beyond the limits, and not added to a step of that size that is there already.
            _ => {
                let by = self.rng.i64(DAY..3 * DAY);
                return if self.rng.bool() { by } else { -by };
            }
        };
        ahead + self.rng.i64(-by..=by)
    }

    /// Nobody takes IDs, and somebody sets the clocks right meanwhile.
    pub(crate) fn sleep(&mut self, until: i64) {
        self.old_reading = None;
        for time in [&mut self.take_at, &mut self.load_ends, &mut self.event_at] {
            *time += NIGHT;
        }
        for machine in [&mut self.cluster.machine, &mut self.cluster.standby] {
            machine.set(until, self.rng.i64(-self.world.spread..=self.world.spread));
        }
    }

    /// A new life of the server begins, some time later.
    fn live_again(&mut self, at: i64, longest: i64) {
        self.last = None;
        self.old_reading = None;
        self.start_refused = false;
        self.take_at = at + self.rng.i64(0..longest);
        self.load_ends = self.load_ends.max(self.take_at + 1);
    }

    fn crash(&mut self, at: i64) {
        let keeps_unflushed = self.rng.bool();
        self.cluster.crash(at, keeps_unflushed);
        if self.rng.u8(0..4) == 0 {
            self.cluster.machine.reboot(&mut self.rng, at);
            self.counts.reboots += 1;
        }
        self.counts.crashes += 1;
        self.live_again(at, SECOND);
    }

    fn restart(&mut self, at: i64) {
        self.cluster.crash(at, true);
        self.counts.restarts += 1;
        self.live_again(at, SECOND);
    }

    fn fail_over(&mut self, at: i64) {
        let lag = match self.rng.u8(0..10) {
            0..3 => 0,
            3..6 => self.rng.i64(0..20 * MILLISECOND),
            6..9 => self.rng.i64(0..=COVERED_LAG),
            _ if self.cluster.ignored == Ignored::Formula => 0,
            _ => self.rng.i64(0..60 * SECOND),
        };
        let highest = self.history.highest();
        let is_lossy = self.cluster.fail_over(&mut self.rng, at, lag, highest);
        self.counts.failovers += 1;
        self.counts.lossy += u64::from(is_lossy);
        if self.rng.bool() {
            self.cluster.standby = machine_beside(&mut self.rng, &self.world, at);
        } else {
            self.cluster.standby.reboot(&mut self.rng, at);
        }
        self.live_again(at, 2 * SECOND);
    }

    fn restore(&mut self, at: i64) {
        if self.rng.bool() {
            self.cluster.machine = machine(&mut self.rng, &self.world, at);
        }
        self.cluster.restore(&mut self.rng, at, self.history.highest());
        self.counts.restores += 1;
        self.live_again(at, 5 * SECOND);
    }

    /// The server gives its identity back, with the floor up to which it might have issued IDs.
    fn release(&mut self, at: i64) {
        if let Some(floor) = self.cluster.floor() {
            self.cluster.crash(at, true);
            self.released = Some(floor);
        }
    }

    /// A new server is made for the identity.
    pub(crate) fn found_cluster(&mut self, at: i64) {
        let machine = machine_beside(&mut self.rng, &self.world, at);
        let standby = machine_beside(&mut self.rng, &self.world, at);
        let ignored = self.cluster.ignored;
        self.cluster = Cluster::new(&mut self.rng, at, machine, standby, self.world.unusual);
        self.cluster.ignored = ignored;
    }

    /// The server that is here now has the identity.
    pub(crate) fn take_over(&mut self, at: i64, counts: &mut Counts) {
        let Some(floor) = self.released.take() else { return };
        self.cluster.take_identity(floor);
        counts.hand_overs += 1;
        self.event_at = self.event_at.max(at);
        self.live_again(at, 5 * SECOND);
    }
}

/// A machine whose clock is right.
fn machine(rng: &mut Rng, world: &World, at: i64) -> Machine {
    Machine::new(rng, at, world.spread, world.drift)
}

/// A machine whose clock might be wrong, since nothing has depended on it so far.
fn machine_beside(rng: &mut Rng, world: &World, at: i64) -> Machine {
    let is_wrong = world.steps == Steps::All && rng.u8(0..8) == 0;
    let spread = if is_wrong { 30 * SECOND } else { world.spread };
    Machine::new(rng, at, spread, world.drift)
}
