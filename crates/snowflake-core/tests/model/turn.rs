//! The turn of a session that has the lock, in the middle.

use snowflake_core::issuer::Issuer;
use snowflake_core::promise::{Promise, Request};
use snowflake_core::time::Span;

use crate::bounds::Design;
use crate::effects::{self, Answer, Effect};

/// A turn so far, which says what it does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    pub request: Request,
    /// The server and the promise as they were when the lock was taken.
    pub issuer: Issuer,
    pub began: Promise,
    /// The answers to the effects since; `None` for one that has failed.
    pub answers: Vec<Option<Answer>>,
}

impl Turn {
    /// Returns the promise as it is after these answers, and the next effect. To the promise, that
    /// one fails here, which changes nothing in it.
    pub fn replay(&self, design: Design) -> (Promise, Effect) {
        let request = match self.request {
            Request::Reserve { timestamp, .. } if design == Design::ReserveForOldReadings => {
                Request::Reserve { timestamp, lead: Span::MAX }
            }
            request => request,
        };
        let (mut promise, mut answers) = (self.began, self.answers.iter().copied());
        let mut next = None;
        let end = effects::drive(&mut promise, &self.issuer, request, |effect| {
            answers.next().unwrap_or_else(|| {
                next.get_or_insert(effect);
                None
            })
        });
        (promise, next.unwrap_or(end))
    }
}
