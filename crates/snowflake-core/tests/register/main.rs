//! Tests of the durable record and of what a start may begin from.

mod bytes;
#[path = "../fixtures/mod.rs"]
mod fixtures;
mod layouts;
mod records;
mod reservations;
mod starts;
