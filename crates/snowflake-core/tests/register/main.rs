//! Tests of the durable record and of what a start may begin from.

mod bytes;
mod layouts;
mod records;
mod reservations;
mod starts;
mod steps;
mod upstream;
