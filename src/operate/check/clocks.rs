//! The check that the clock of this server and those of other servers agree.

use std::cmp::Ordering;

use crate::pg::report::Report;
use crate::pg::{spi, time};
use snowflake_core::jump::{NOTABLE, Verdict};
use snowflake_core::promise::Refusal;
use snowflake_core::time::Span;

use super::facts::{Facts, NoPreview};
use super::finding::Finding;
use super::own::OF_A_WORKER;
use super::rights::may_read;
use crate::promise::Error::Refused;
use crate::promise::upstream;

/// A standby that does not answer for longer than this is late, or its clock is behind.
const LATE: Span = Span::MINUTE;

/// Checks that the clock does not contradict the register, or the clock of the upstream.
pub fn clock(facts: &Facts) -> Finding {
    let preview = match &facts.preview {
        Ok(preview) => preview,
        Err(NoPreview::Refused(Refused(refusal @ Refusal::ClockBeforeEpoch { .. }))) => {
            return Finding::blocking(Refused(*refusal).report());
        }
        Err(_) => return Finding::unknown(),
    };
    if let (Verdict::Refuse, jump) = preview.verdict {
        return Finding::blocking(Refused(Refusal::ClockAhead(jump)).report());
    }
    match preview.ahead_of_upstream {
        Some(by) if by.abs() > NOTABLE => {
            let (verdict, hint) = verdict(facts, &answers());
            let side = if by > Span::ZERO { "ahead of" } else { "behind" };
            let by = time::interval(by.abs());
            Finding::doubtful(
                format!("It is {by} {side} that of the server that this one follows. {verdict}"),
                &format!(
                    "{hint} The row \"clocks of standbys\" of the server that this one follows \
                     compares those of all its standbys."
                ),
            )
        }
        _ if facts.in_recovery && facts.fixed.preloaded && !upstream::has_worker() => {
            Finding::doubtful(
                "The background worker that follows the clock of the upstream server does not run, \
                 so a promotion would not notice that this clock is wrong, and would put the floor \
                 above it with the first ID alone.",
                OF_A_WORKER,
            )
        }
        Some(_) => Finding::well("It agrees with that of the server that this one follows."),
        None if facts.in_recovery => Finding::well(
            "It does not contradict the register. Nothing is known of the clock of the server that \
             this one follows, because no message has come since this server started.",
        ),
        None => Finding::well("It does not contradict the register."),
    }
}

/// Checks the clocks in the answers of standbys.
pub fn of_standbys(facts: &Facts) -> Finding {
    if !may_read("pg_stat_replication") {
        return Finding::well("Not checked: this role may not read pg_stat_replication.");
    }
    let answers = answers();
    let differing: Vec<_> = answers
        .iter()
        .filter(|(_, by)| differs(*by))
        .map(|(standby, by)| match by {
            Span(1..) => format!("that of {standby} is {} ahead", time::interval(*by)),
            _ => format!(
                "{standby} answered {} ago by its own clock, which might be behind, or it is late",
                time::interval(-*by)
            ),
        })
        .collect();
    match (answers.len(), differing.len()) {
        (0, _) => Finding::well("No standby is seen to stream from this server."),
        (_, 0) => Finding::well("They agree with the clock of this server."),
        _ => {
            let (verdict, hint) = verdict(facts, &answers);
            let differing = differing.join("; ");
            Finding::doubtful(
                format!("Compared with the clock of this server, {differing}. {verdict}"),
                hint,
            )
        }
    }
}

/// The standbys that answer, and how far their clocks are ahead of this one, as far as the answers
/// say.
fn answers() -> Vec<(String, Span)> {
    if !may_read("pg_stat_replication") {
        return Vec::new();
    }
    let rows = spi::query(
        "SELECT r.application_name,
                (extract(epoch FROM r.reply_time - clock_timestamp()) * 1000)::bigint
         FROM pg_stat_replication AS r
         WHERE r.state = 'streaming' AND r.reply_time IS NOT NULL ORDER BY r.application_name",
        &[],
    );
    let answer = |(standby, by): (Option<String>, i64)| (standby.unwrap_or_default(), Span(by));
    rows.into_iter().map(answer).collect()
}

/// Returns whether a standby that answered with this time has another clock.
fn differs(by: Span) -> bool {
    !(-LATE..=NOTABLE).contains(&by)
}

/// Which clock is likelier wrong, and what to do: that of this server is compared with those of the
/// standbys, and of the server that it follows.
fn verdict(facts: &Facts, answers: &[(String, Span)]) -> (String, &'static str) {
    let upstream = facts.preview.as_ref().ok().and_then(|preview| preview.ahead_of_upstream);
    let standbys = answers.iter().map(|(_, by)| (*by, differs(*by)));
    let others: Vec<_> = standbys.chain(upstream.map(|by| (-by, by.abs() > NOTABLE))).collect();
    let all = others.len();
    let differing: Vec<Span> = others.into_iter().filter(|it| it.1).map(|it| it.0).collect();
    // The most of them that agree with each other, against those that agree with this one.
    let alike = |by: &Span| differing.iter().filter(|it| (**it - *by).abs() <= LATE).count();
    let against = differing.iter().map(alike).max().unwrap_or_default();
    let agree = all - differing.len();
    match (agree + 1).cmp(&against) {
        Ordering::Greater => (
            format!(
                "The clock of this server agrees with {agree} of {all} others, so those that \
                 differ are likelier wrong."
            ),
            "Set the clocks that differ right before a promotion.",
        ),
        Ordering::Less => (
            format!(
                "The clock of this server differs from {against} of {all} others, which agree with \
                 each other, so it is likelier wrong itself."
            ),
            "Set the clock of this server right before a promotion.",
        ),
        Ordering::Equal => (
            format!(
                "The clock of this server differs from {} of {all} others, so nothing says which \
                 is wrong.",
                differing.len()
            ),
            "Compare both with a third, such as that of a time server, and set the wrong one right \
             before a promotion.",
        ),
    }
}
