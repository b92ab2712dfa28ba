//! Tests of the effects of the promise, case by case, and of what it writes. The model checker
//! visits the orders in which they and failures can come.

mod administer;
mod copies;
#[path = "../fixtures/effects.rs"]
mod effects;
#[path = "../fixtures/mod.rs"]
mod fixtures;
mod steps;
