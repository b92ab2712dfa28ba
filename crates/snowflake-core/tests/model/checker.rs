//! The events that can happen in a world, their results, and the invariants.

use snowflake_core::promise::{Promise, Request};
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};
use stateright::{Model, Property};

use crate::bounds::{Bounds, Design, RESERVATION, Rows, layouts};
use crate::driver::Failure;
use crate::relative::START;
use crate::world::{ADMINISTRATOR, BACKENDS, Counts, Entry, Session, World, idle, unstarted};

pub const PROMISES: &str = "IDs increase, and every wait has a reason";

/// A world is large, and moved about.
type State = Box<World>;

#[expect(clippy::large_enum_variant, reason = "it is copied wherever a state is")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    SetReuse(bool),
    MoveClock(i64),
    Pass(i64),
    /// Sessions take every ID that there is; what each of them does is no choice.
    Rush(i64),
    /// Commits wait for this standby from now on.
    Require(Option<usize>),
    /// The next act of the administrator.
    Administer(Session),
    /// A session's next step.
    Step(usize),
    /// The act of a session with the lock held fails.
    Fail(usize, Failure),
    FlushWal,
    Checkpoint,
    /// With or without the part of the WAL that nobody had flushed.
    Crash {
        keeps_unflushed: bool,
    },
    /// With this layout, and as this system.
    Restart {
        layout: usize,
        system_identifier: u64,
    },
    /// From a backup of its own.
    Restore,
    Stream(usize),
    Promote {
        standby: usize,
        offset: i64,
    },
}

impl Model for Bounds {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![Box::new(World {
            clock: START,
            elapsed: 0,
            promise: Promise::default(),
            ahead_then: 0,
            accepted: 0,
            confirmed: None,
            set_back: false,
            up: true,
            timeline: 1,
            system_identifier: 1,
            layout: 0,
            is_restored: false,
            is_copy: false,
            generator: unstarted(),
            ring: Ring::new(),
            issued_with_reuse: Vec::new(),
            sessions: idle(),
            latest_reading: START,
            judged_by: None,
            buffer: None,
            disk: None,
            redo: 0,
            wal: Vec::new(),
            flushed: 0,
            standbys: [0, 1].map(|standby| (standby < self.standbys).then_some(0)),
            required: None,
            base_of_primary: None,
            returned: [None; 2],
            waiting: Vec::new(),
            acknowledged_at: 0,
            acknowledged: None,
            began: 0,
            busy: 0,
            lag: None,
            highest: None,
            highest_number: -1,
            seen: None,
            counts: Counts { crashes: self.crashes, ..Counts::default() },
            broken: None,
        })]
    }

    fn actions(&self, world: &State, actions: &mut Vec<Action>) {
        if world.broken.is_some() {
            return;
        }
        if world.counts.clock_moves < self.clock_moves {
            actions.extend(self.moves.iter().map(|by| Action::MoveClock(*by)));
            actions.extend(self.passes.iter().map(|by| Action::Pass(*by)));
        }
        if world.up {
            if world.counts.switches < self.switches {
                actions.extend([true, false].map(Action::SetReuse));
            }
            if world.counts.requirements < self.requirements && world.may_crash() {
                let others =
                    [None, Some(0), Some(1)].into_iter().filter(|to| *to != world.required);
                actions.extend(others.map(Action::Require));
            }
            let administers = world.sessions[ADMINISTRATOR] != Session::Idle;
            if administers {
                actions.push(Action::Step(ADMINISTRATOR));
            } else if world.counts.administrations < self.administrations
                && (self.rushes.is_empty() || world.lag.is_some())
            {
                actions.extend(self.requests(world.clock).map(Action::Administer));
            }
            if self.rushes.is_empty() {
                actions.extend((0..BACKENDS).map(Action::Step));
                if world.counts.failures < self.failures {
                    actions.extend(failures(world));
                }
            } else if world.counts.clock_moves < self.clock_moves && !administers {
                actions.extend(self.rushes.iter().map(|by| Action::Rush(*by)));
            }
            if world.flushed < world.wal.len() {
                actions.push(Action::FlushWal);
            }
            if world.counts.checkpoints < self.checkpoints && world.may_crash() {
                actions.push(Action::Checkpoint);
            }
            if world.counts.crashes > 0 {
                actions.push(Action::Crash { keeps_unflushed: false });
                actions.push(Action::Crash { keeps_unflushed: true });
            }
        } else {
            let (layout, system_identifier) = (world.layout, world.system_identifier);
            actions.push(Action::Restart { layout, system_identifier });
            if world.counts.changes < self.changes {
                let others = (0..layouts().len()).filter(|other| *other != layout);
                actions.extend(others.map(|layout| Action::Restart { layout, system_identifier }));
                let system_identifier = system_identifier + 1;
                actions.push(Action::Restart { layout, system_identifier });
            }
            if world.counts.restores < self.restores {
                actions.push(Action::Restore);
            }
        }
        for standby in 0..2 {
            let Some(received) = world.standbys[standby] else { continue };
            if !world.up {
                actions.extend(
                    self.offsets.iter().map(|offset| Action::Promote { standby, offset: *offset }),
                );
            }
            if received < world.flushed && world.may_crash() {
                actions.push(Action::Stream(standby));
            }
        }
    }

    fn next_state(&self, world: &State, action: Action) -> Option<State> {
        let mut next = world.clone();
        if !matches!(action, Action::Rush(_) | Action::Stream(_) | Action::FlushWal) {
            next.busy = 0;
        }
        match action {
            Action::SetReuse(on) => {
                next.set_reuse(self, on);
                next.counts.switches += 1;
            }
            Action::MoveClock(by) | Action::Pass(by) => {
                next.clock += Span(by);
                next.elapsed += if matches!(action, Action::Pass(_)) { by } else { 0 };
                next.counts.clock_moves += 1;
                next.set_back |= by < 0;
                next.latest_reading = next.latest_reading.max(next.clock);
                next.lag = None;
            }
            Action::Rush(by) => next.take_everything(self, by),
            Action::Require(standby) => {
                next.required = standby;
                next.counts.requirements += 1;
                next.release();
            }
            Action::Administer(session) => {
                next.sessions[ADMINISTRATOR] = session;
                next.counts.administrations += 1;
                (next.latest_reading, next.judged_by) = (next.clock, None);
            }
            Action::Step(number) => {
                next.sessions[number] = next.step(self, world.sessions[number].clone())?;
            }
            Action::Fail(number, how) => {
                let Session::Do(turn, effect) = world.sessions[number].clone() else { return None };
                next.sessions[number] = next.fail(self, turn, effect, how);
                next.counts.failures += 1;
            }
            Action::FlushWal => next.flushed = next.wal.len(),
            Action::Checkpoint => {
                // The page goes to disk after the WAL that changed it.
                next.flushed = next.wal.len();
                next.disk = next.buffer;
                next.redo = next.wal.len();
                next.counts.checkpoints += 1;
            }
            Action::Crash { keeps_unflushed } => {
                if !keeps_unflushed {
                    next.wal.truncate(next.flushed);
                }
                next.up = false;
                next.counts.crashes -= 1;
                next.is_restored = false;
                next.lose_memory();
            }
            Action::Restart { layout, system_identifier } => {
                let is_other =
                    (layout, system_identifier) != (world.layout, world.system_identifier);
                next.counts.changes += u8::from(is_other);
                (next.layout, next.system_identifier) = (layout, system_identifier);
                next.recover();
                next.up = true;
            }
            Action::Restore => {
                next.recover();
                next.up = true;
                next.is_restored = next.buffer.is_some();
                next.counts.restores += 1;
            }
            Action::Stream(standby) => {
                next.standbys[standby] = Some(next.flushed);
                next.release();
                let is_old_enough = next.elapsed - next.began >= 14_000 + RESERVATION;
                next.lag = (is_old_enough && next.busy >= RESERVATION).then_some(0);
            }
            Action::Promote { standby, offset } => {
                // The WAL that the standby has not received is gone; it replays all that it has.
                let received = next.standbys[standby].take()?;
                let knows_primary = next.known_timeline(received) == next.timeline;
                let base = next.base_of_primary.take().filter(|_| knows_primary);
                next.wal.truncate(received);
                // A standby that is ahead of this one cannot follow it.
                next.standbys = next
                    .standbys
                    .map(|other| other.filter(|other_received| *other_received <= received));
                next.redo = 0;
                next.disk = None;
                next.recover();
                if self.design == Design::StandbyWithoutRegister {
                    next.buffer = None;
                }
                next.timeline = next.known_timeline(received) + 1;
                next.wal.push(Entry::Timeline(next.timeline));
                next.flushed = next.wal.len();
                // The upstream's clock, as the standby last heard of it, by its own boot clock.
                if self.max_forward_step.is_some() && self.design != Design::ForgetTheUpstream {
                    next.promise.hear(next.clocks());
                }
                next.accept(self, next.ahead());
                next.clock += Span(offset);
                next.up = true;
                let row = next.last_row(received);
                // The promise for IDs that were lost.
                let floor = next.buffer.map(|record| Some(record.floor).max(base));
                let margin = Span(self.margin + self.max_observed_lead);
                let promised = floor.flatten().map(|floor| floor.saturating_add(margin));
                let covers = next.lag.take().is_some_and(|lag| lag < self.margin + RESERVATION / 2);
                let returned = std::mem::take(&mut next.returned)[standby];
                next.required = None;
                next.highest = match next.highest {
                    _ if self.rows == Rows::None => row.max(returned),
                    lost if covers => lost,
                    Some(lost) if Some(lost.0) <= promised => Some(lost),
                    _ => row,
                };
                next.seen = next.seen.min(next.highest.map(|highest| highest.0));
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(PROMISES, |_, world: &State| world.broken.is_none()),
            Property::always("what is published is durable (I1)", |_, world: &State| {
                let durable = world.recovered(world.redo, world.flushed);
                !world.promise.has_begun()
                    || durable.is_some_and(|record| record.floor >= world.generator.floor())
                    // A promoted server begins a margin above what it has.
                    || world.generator.timestamp() == world.generator.floor()
            }),
            Property::always("a copy does not forget its original", |_, world: &State| {
                let durable = world.recovered(world.redo, world.flushed);
                !world.is_copy || durable.is_some_and(|record| record.copy_of.is_some())
            }),
            Property::sometimes(
                "a server issues IDs after a crash",
                |bounds: &Bounds, world: &State| {
                    bounds.crashes == 0
                        || (world.counts.crashes < bounds.crashes
                            && world.promise.has_begun()
                            && world.counts.issued > 1)
                },
            ),
            Property::sometimes(
                "an ID is smaller than an earlier one",
                |bounds: &Bounds, world: &State| {
                    bounds.limits.reuse_window == Span::ZERO || !world.issued_with_reuse.is_sorted()
                },
            ),
            Property::sometimes(
                "two sessions sleep in the queue",
                |bounds: &Bounds, world: &State| {
                    let sleeps = |session: &Session| matches!(session, Session::Sleep(..));
                    bounds.limits.max_queue == Span::ZERO
                        || world.sessions[..BACKENDS].iter().all(sleeps)
                },
            ),
            Property::sometimes(
                "IDs follow a clock that was confirmed",
                |bounds: &Bounds, world: &State| {
                    let followed = world
                        .generator
                        .last()
                        .is_some_and(|(timestamp, _)| timestamp == world.clock);
                    bounds.max_forward_step.is_none()
                        || (world.confirmed == Some(world.ahead()) && followed)
                },
            ),
            Property::sometimes(
                "an ID is issued after one that was observed",
                |bounds: &Bounds, world: &State| {
                    let last = world.generator.last();
                    bounds.observed.is_empty()
                        || world.seen.is_some_and(|seen| last.is_some_and(|last| last.0 > seen))
                },
            ),
            Property::sometimes(
                "a promoted server issues IDs",
                |bounds: &Bounds, world: &State| {
                    bounds.standbys == 0
                        || (world.timeline > 1
                            && world.promise.has_begun()
                            && world.counts.issued > 1)
                },
            ),
        ]
    }
}

impl Bounds {
    /// Lists the acts of an administrator that are possible at this time of the clock.
    fn requests(&self, clock: Timestamp) -> impl Iterator<Item = Session> {
        let floors = self.floors.iter().map(move |&(ahead, force)| {
            Session::Want(Request::SetFloor { floor: clock + Span(ahead), force })
        });
        let confirmations = self.confirmations.iter().map(|request| Session::Want(*request));
        let observed = self
            .observed
            .iter()
            .map(move |ahead| Session::Look { timestamp: clock + Span(*ahead) });
        floors.chain(confirmations).chain(observed)
    }
}

/// Lists the failures of a session with the lock held, before its act is done or after.
fn failures(world: &World) -> impl Iterator<Item = Action> {
    let acts = |number: &usize| matches!(world.sessions[*number], Session::Do(..));
    (0..world.sessions.len()).filter(acts).flat_map(|number| {
        [(false, true), (true, true), (true, false)]
            .map(|(is_done, is_told)| Action::Fail(number, Failure { is_done, is_told }))
    })
}
