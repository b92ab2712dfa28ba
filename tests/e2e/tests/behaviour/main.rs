//! What a user sees, on real clusters. One module per behaviour.

mod bad_settings;
mod check;
mod claimed_runs;
mod clock_steps;
mod concurrent_sessions;
mod configured_layouts;
mod conversion;
mod conversion_as_owner;
mod deaf_clients;
mod documents;
mod dump_and_restore;
mod dumped_layout;
mod encodings;
mod errors;
mod extension_update;
mod fuzz;
mod image_root;
mod installation;
mod layout_check;
mod recipes;
mod regress;
mod standby;
mod statistics;
mod unprivileged;
mod without_preload;
