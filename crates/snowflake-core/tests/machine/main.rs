//! Tests of the machine of the promise, case by case: what it asks for, and what it writes. The model
//! checker visits the orders in which its effects and failures can come.

mod administer;
mod copies;
#[path = "../fixtures/mod.rs"]
mod fixtures;
mod steps;
