//! What a user sees, on real clusters. One module per behaviour.

mod bad_settings;
mod claimed_runs;
mod clock_steps;
mod concurrent_sessions;
mod installation;
mod known_answers;
mod readme;
mod regress;
mod standby;
mod unprivileged;
mod without_preload;
