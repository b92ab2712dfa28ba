//! `snowflake-widen`: what its users see, what is in its way, and what stops it. One module per kind.

mod abandoned;
mod connections;
mod disk;
mod killed;
mod obstructions;
mod page;
mod program;
mod promoted;
#[path = "../behaviour/widen/shop.rs"]
mod shop;
mod shops;
mod soak;
mod status;
