//! How a test does what the machine asks for.

use snowflake_core::promise::{Effect, Event, Promise, Wish};
use snowflake_core::register::Issuer;

/// Tells the machine a wish, and then the answer to each effect, until there is none.
pub fn drive(
    promise: &mut Promise,
    issuer: &Issuer,
    wish: Wish,
    mut answer: impl FnMut(Effect) -> Option<Event>,
) {
    let mut event = Some(Event::Wanted(wish));
    while let Some(told) = event {
        event = answer(promise.step(issuer, told));
    }
}
