//! What can happen between the servers, and what has to hold.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use stateright::{Model, Property};

use crate::bounds::Bounds;
use crate::server::{OBSERVE, Server, TAKE};

pub const PROMISES: &str = "whoever has seen an ID issues greater ones";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    time: i64,
    /// Copied when they change, since an event changes one of them.
    servers: [Arc<Server>; 2],
    ticks: usize,
    messages: usize,
    clock_moves: usize,
    /// How many can still happen.
    crashes: usize,
    failovers: usize,
    pub broken: Option<&'static str>,
}

/// What decides how it can go on.
impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let World { time, servers, ticks, messages, clock_moves, crashes, failovers, broken } =
            self;
        (ticks, messages, clock_moves, crashes, failovers, broken).hash(hasher);
        for server in servers {
            server.hash(*time, crashes + failovers > 0, hasher);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Tick,
    Step {
        server: usize,
        session: usize,
    },
    /// A server's last ID comes to the other one.
    Tell {
        from: usize,
    },
    SetBack {
        server: usize,
        by: i64,
    },
    Crash(usize),
    FailOver(usize),
}

impl World {
    fn server(&mut self, server: usize) -> &mut Server {
        Arc::make_mut(&mut self.servers[server])
    }
}

impl Model for Bounds {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            time: 0,
            servers: self.offsets.map(|offset| Arc::new(Server::new(offset))),
            ticks: 0,
            messages: 0,
            clock_moves: 0,
            crashes: self.crashes,
            failovers: self.failovers,
            broken: None,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.broken.is_some() {
            return;
        }
        if world.ticks < self.ticks {
            actions.push(Action::Tick);
        }
        for server in 0..2 {
            for session in [TAKE, OBSERVE] {
                actions.push(Action::Step { server, session });
            }
            if world.messages < self.messages {
                actions.push(Action::Tell { from: server });
            }
            if world.clock_moves < self.clock_moves {
                actions.extend(self.moves.iter().map(|by| Action::SetBack { server, by: *by }));
            }
            if world.crashes > 0 {
                actions.push(Action::Crash(server));
            }
            if world.failovers > 0 {
                actions.push(Action::FailOver(server));
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut world = world.clone();
        match action {
            Action::Tick => {
                world.time += self.tick;
                world.ticks += 1;
            }
            Action::Step { server, session } => {
                let time = world.time;
                let server = world.server(server);
                server.step(self, time, session)?;
                world.broken = server.broken;
            }
            Action::Tell { from } => {
                let (timestamp, _) = world.servers[from].last?;
                let to = world.server(1 - from);
                if !to.listens() {
                    return None;
                }
                to.hear(timestamp);
                world.messages += 1;
            }
            Action::SetBack { server, by } => {
                world.server(server).set_clock_back(by);
                world.clock_moves += 1;
            }
            Action::Crash(server) => {
                world.server(server).crash();
                world.crashes -= 1;
            }
            Action::FailOver(server) => {
                world.server(server).fail_over();
                world.failovers -= 1;
            }
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let is_told = |_: &Bounds, world: &World| {
            // An ID that was seen has been followed, and a greater one issued.
            world.messages > 0 && world.servers.iter().any(|server| server.has_answered())
        };
        vec![
            Property::always(PROMISES, |_, world: &World| world.broken.is_none()),
            Property::sometimes("an answer is issued", is_told),
        ]
    }
}
