//! How a test does what the machine asks for.

use snowflake_core::promise::{Effect, Event, Promise, Wish};
use snowflake_core::register::Issuer;

/// Tells the machine a wish, and then what each effect has led to, until there is nothing to tell.
pub fn drive(
    promise: &mut Promise,
    issuer: &Issuer,
    wish: Wish,
    mut lead: impl FnMut(Effect) -> Option<Event>,
) {
    let mut event = Some(Event::Wanted(wish));
    while let Some(told) = event {
        event = lead(promise.step(issuer, told));
    }
}
