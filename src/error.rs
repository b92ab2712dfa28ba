//! Every error that a user can see, and every line in the log: SQLSTATE, message, detail and hint in one place.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_core::jump::Jump;
use snowflake_core::layout::{Layout, LayoutError, PartsError};
use snowflake_core::register::RecordError;
use snowflake_core::text::Base62Error;

use crate::convert::Obstacle;
use crate::{register, report, time};

/// What can go wrong.
#[derive(Debug)]
pub enum Error {
    /// The library was not preloaded, so there is no generator.
    NotPreloaded,
    /// Datacenter or worker ID are not set.
    NoIdentity,
    /// The server is a standby, or still recovering.
    InRecovery,
    /// The clock is behind by more than max_backward_step, and waiting would take longer than max_wait.
    ClockBehind {
        /// The last timestamp issued, Unix ms.
        timestamp: i64,
        /// By how much the clock is behind it, ms.
        lead: i64,
        /// The clock reading that ends the trouble, Unix ms.
        until: i64,
    },
    /// The clock has jumped ahead by more than is followed.
    ClockAhead(Jump),
    /// The clock is before the epoch, and there is no record to go on from.
    ClockBeforeEpoch {
        /// The clock, Unix ms.
        now: i64,
        /// The epoch, Unix ms.
        epoch: i64,
    },
    /// The register cannot be read.
    Register(RecordError),
    /// The register's file was deleted while the server runs.
    RegisterDeleted,
    /// The register's record is another system's.
    OtherSystem {
        /// The system identifier in the record.
        recorded: u64,
    },
    /// The register's record was written under another layout.
    OtherLayout {
        /// The record's layout.
        recorded: Layout,
        /// The record's floor, Unix ms.
        floor: i64,
    },
    /// The configured layout would make IDs that are not above all that were issued.
    LayoutGoesBack {
        /// The record's layout.
        recorded: Layout,
        /// The record's floor, Unix ms.
        floor: i64,
    },
    /// A floor below what has been issued.
    FloorLowered {
        /// The floor as it is, Unix ms.
        floor: i64,
    },
    /// A floor too far ahead of the clock.
    FloorAhead {
        /// By how much, ms.
        lead: i64,
    },
    /// Something that only a superuser may do.
    NotSuperuser {
        /// What, as "set the snowflake floor".
        what: &'static str,
    },
    /// Nothing that can be confirmed.
    NoSuchConfirmation(String),
    /// The timestamp field is used up.
    EndOfField {
        /// Its last timestamp, Unix ms.
        last: i64,
    },
    /// currval before any nextval.
    NoCurrval,
    /// A negative number of IDs.
    NegativeCount(i32),
    /// A number that is no ID, or parts that make none.
    Parts(PartsError),
    /// A part of an ID that does not fit its field.
    Part {
        /// The argument.
        name: &'static str,
        /// Its value.
        value: i32,
        /// The largest legal value.
        last: u32,
    },
    /// A time that the timestamp field does not hold.
    Time {
        /// The time, as PostgreSQL counts.
        value: pg_sys::TimestampTz,
        /// The first time of the field.
        first: pg_sys::TimestampTz,
        /// The last time of the field.
        last: pg_sys::TimestampTz,
    },
    /// A setting that is not legal.
    Setting {
        /// Its name.
        name: &'static CStr,
        /// The value that was found.
        value: CString,
        /// What is legal, as a sentence.
        rule: String,
    },
    /// Widths and epoch that do not go together.
    Layout(LayoutError),
    /// Widths and epoch in a call that are not legal.
    GivenLayout(String),
    /// A text that is no ID's.
    Base62 {
        /// The text.
        text: String,
        /// What is wrong with it.
        error: Base62Error,
    },
    /// A column that cannot be converted, or reverted.
    Column(Obstacle),
    /// A conversion in a transaction that sees an old state of the tables.
    OldSnapshot,
    /// The type snowflake_parts is not what the extension created.
    PartsType,
}

const PRELOAD: &str = "shared_preload_libraries = 'snowflake_pg'";
const IDENTITY: &str = "snowflake.datacenter_id = 1\nsnowflake.worker_id = 1";

impl Error {
    /// Ends the statement with this error; while the server starts, the server.
    #[cold]
    #[track_caller]
    pub fn raise(self) -> ! {
        report::raise(self.report())
    }

    #[track_caller]
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        let report = |code, message: String| ErrorReport::new(code, message, "snowflake");
        match self {
            Error::NotPreloaded => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "snowflake_pg must be loaded via \"shared_preload_libraries\" to generate IDs".into(),
            )
            .set_detail("The generator lives in shared memory, which is set up when the server starts.")
            .set_hint(format!("Add to postgresql.conf, with numbers that no other server has, and restart:\n{PRELOAD}\n{IDENTITY}")),
            Error::NoIdentity => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "snowflake.datacenter_id and snowflake.worker_id are not both set".into(),
            )
            .set_detail("Two servers with the same datacenter and worker ID issue the same snowflake IDs, so there is no default.")
            .set_hint(format!("Add to postgresql.conf, with numbers that no other server has, and restart:\n{PRELOAD}\n{IDENTITY}")),
            Error::InRecovery => report(
                ERRCODE_READ_ONLY_SQL_TRANSACTION,
                "cannot generate snowflake IDs during recovery".into(),
            )
            .set_hint("Generate them on the primary, or promote this server first."),
            Error::ClockBehind { timestamp, lead, until } => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the clock is {lead} ms behind the last snowflake ID"),
            )
            .set_detail(format!(
                "IDs have been issued up to {}. They go on when the clock has reached {}.",
                time::display(timestamp),
                time::display(until)
            ))
            .set_hint(if lead <= i64::from(i32::MAX) {
                "Set the clock right, or raise snowflake.max_backward_step or snowflake.max_wait.".to_owned()
            } else {
                // Further ahead than the settings reach.
                "If the clock is wrong, set it right. If it is right, earlier IDs followed a clock that was ahead. \
                 A superuser can set the floor back with SELECT snowflake_set_floor(now(), force => true). \
                 First delete or renumber the rows whose IDs are of later times: once the clock gets there, the same IDs are issued again."
                    .to_owned()
            }),
            Error::ClockAhead(jump) => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                jumped(jump),
            )
            .set_detail("IDs that follow a clock that is wrong cannot be taken back: later ones have to be greater.")
            .set_hint(match jump {
                Jump::Measured(_) => "If the clock is right, a superuser confirms it with SELECT snowflake_confirm('clock'), or raises snowflake.max_forward_step. Else set it right.",
                Jump::SinceRecord(_) => "If the clock is right, a superuser confirms it with SELECT snowflake_confirm('clock'). Else set it right.",
            }),
            Error::ClockBeforeEpoch { now, epoch } => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the clock is before snowflake.epoch".into(),
            )
            .set_detail(format!("The clock says {}, and IDs count from {}.", time::display(now), time::display(epoch)))
            .set_hint("Set the clock right. If it is right, choose an earlier snowflake.epoch."),
            Error::Register(error) => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the register of snowflake IDs, \"{}\", cannot be used", register::PATH),
            )
            .set_detail(format!("It says which IDs may have been issued, but {error}."))
            .set_hint(match error {
                RecordError::Damaged => "Find out what damaged it. A superuser then sets a time that is later than that of every ID: SELECT snowflake_set_floor('...').",
                RecordError::NewerVersion(_) => "Install the release that wrote it, or a later one.",
            }),
            Error::RegisterDeleted => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the register of snowflake IDs, \"{}\", was deleted while the server runs", register::PATH),
            )
            .set_detail("What would be written to a new file, other processes of the server may not see.")
            .set_hint("Stop the server with pg_ctl stop -m immediate and start it again. Then a superuser sets a time that is later than that of every ID: SELECT snowflake_set_floor('...')."),
            Error::OtherSystem { recorded } => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the register of snowflake IDs belongs to another database system".into(),
            )
            .set_detail(format!(
                "Its system identifier is {recorded}. This server is a copy of that one, and both would issue the same IDs."
            ))
            .set_hint("Give this server a datacenter and worker ID of its own. A superuser then confirms with SELECT snowflake_confirm('system_identifier')."),
            Error::OtherLayout { recorded, floor } => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "IDs have been issued under another snowflake.epoch or other widths".into(),
            )
            .set_detail(format!("{} IDs up to {} may have been issued.", layout(recorded), time::display(floor)))
            .set_hint("Set the epoch and the widths as they were. To go on under the new ones, a superuser confirms with SELECT snowflake_confirm('layout')."),
            Error::LayoutGoesBack { recorded, floor } => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the configured snowflake.epoch and widths would issue IDs again".into(),
            )
            .set_detail(format!(
                "{} Under the configured ones, IDs after {} would not be greater than those from before.",
                layout(recorded),
                time::display(floor)
            ))
            .set_hint("Choose an earlier epoch or a larger sum of widths."),
            Error::FloorLowered { floor } => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the floor of snowflake IDs must not be lowered".into(),
            )
            .set_detail(format!("IDs up to {} may have been issued, and would be issued again.", time::display(floor)))
            .set_hint("With force => true it is lowered all the same."),
            Error::FloorAhead { lead } => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the floor would be {lead} ms ahead of the clock"),
            )
            .set_detail("That is more than snowflake.max_backward_step. IDs would run that far ahead of the clock until it has caught up.")
            .set_hint("With force => true it is set all the same."),
            Error::NotSuperuser { what } => {
                report(ERRCODE_INSUFFICIENT_PRIVILEGE, format!("must be superuser to {what}"))
            }
            Error::NoSuchConfirmation(what) => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("there is no \"{what}\" to confirm"),
            )
            .set_hint("What can be confirmed is 'layout', 'system_identifier' and 'clock'."),
            Error::EndOfField { last } => report(
                ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                "the timestamp field of snowflake IDs is used up".into(),
            )
            .set_detail(format!("Its last timestamp is {}.", time::display(last)))
            .set_hint("If the clock is right, the table needs new IDs, with a later snowflake.epoch or smaller widths."),
            Error::NoCurrval => report(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "snowflake_currval is not yet defined in this session".into(),
            )
            .set_hint("Call snowflake_nextval() first."),
            Error::NegativeCount(count) => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "count must not be negative".into(),
            )
            .set_detail(format!("The count is {count}.")),
            Error::Parts(PartsError::Negative(id)) => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "a snowflake ID is never negative".into(),
            )
            .set_detail(format!("The value is {id}.")),
            Error::Parts(error) => report(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, error.to_string()),
            Error::Part { name, value, last } => report(
                ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("{name} {value} is out of range"),
            )
            .set_detail(format!("The legal range is 0 to {last}."))
            .set_hint("datacenter_bits, worker_bits and sequence_bits say how wide each part is."),
            Error::Time { value, first, last } => report(
                ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("timestamp {} is out of range", time::display_timestamptz(value)),
            )
            .set_detail(format!(
                "The timestamp field holds {} to {}.",
                time::display_timestamptz(first),
                time::display_timestamptz(last)
            ))
            .set_hint("The epoch says where the field begins."),
            Error::Setting { name, value, rule } => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"{}\": \"{}\"", name.to_string_lossy(), value.to_string_lossy()),
            )
            .set_detail(rule),
            Error::Layout(error) => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "snowflake.datacenter_bits, snowflake.worker_bits and snowflake.sequence_bits do not go together".into(),
            )
            .set_detail(format!("The value is not legal: {error}.")),
            Error::GivenLayout(problem) => report(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "epoch, datacenter_bits, worker_bits and sequence_bits do not make a layout".into(),
            )
            .set_detail(format!("The value is not legal: {problem}.")),
            Error::Base62 { text, error: error @ Base62Error::TooLarge } => report(
                ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("base 62 text \"{text}\" is out of range for a snowflake ID"),
            )
            .set_detail(format!("The value is not legal: {error}.")),
            Error::Base62 { text, error } => report(
                ERRCODE_INVALID_TEXT_REPRESENTATION,
                format!("invalid base 62 text for a snowflake ID: \"{text}\""),
            )
            .set_detail(format!("The value is not legal: {error}."))
            .set_hint("The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() writes it."),
            Error::Column(Obstacle { sqlstate, message, detail, hint }) => {
                let mut report = report(sqlstate, message);
                if let Some(detail) = detail {
                    report = report.set_detail(detail);
                }
                if let Some(hint) = hint {
                    report = report.set_hint(hint);
                }
                report
            }
            Error::OldSnapshot => report(
                ERRCODE_ACTIVE_SQL_TRANSACTION,
                "columns cannot be converted in a REPEATABLE READ or SERIALIZABLE transaction".into(),
            )
            .set_detail("Such a transaction does not see rows that were committed after it began, and the start of new keys depends on them.")
            .set_hint("Use a READ COMMITTED transaction."),
            Error::PartsType => report(
                ERRCODE_DATATYPE_MISMATCH,
                "type snowflake_parts is not what the extension created".into(),
            )
            .set_detail("Its attributes have to be bigint, timestamp with time zone, integer, integer and integer.")
            .set_hint("Take back what ALTER TYPE has changed, or create the extension again."),
        }
    }

    /// Tells an administrator who lowered the floor what that means.
    pub fn floor_was_lowered(issued: i64) {
        let report = ErrorReport::new(
            PgSqlErrorCode::ERRCODE_WARNING,
            "the floor of snowflake IDs was lowered",
            "snowflake",
        )
        .set_detail(format!("IDs up to {} were issued, and may be issued again.", time::display(issued)));
        report::send(report, PgLogLevel::WARNING);
    }
}

/// What the clock did.
fn jumped(jump: Jump) -> String {
    match jump {
        Jump::Measured(by) => format!("the clock has jumped ahead by {by} ms"),
        Jump::SinceRecord(by) => format!("the clock is {by} ms ahead of the last record of snowflake IDs"),
    }
}

fn layout(layout: Layout) -> String {
    let widths = layout.widths();
    format!(
        "The epoch was {} ms, and the widths were {}, {} and {} bits for datacenter, worker and sequence.",
        layout.epoch(),
        widths.datacenter,
        widths.worker,
        widths.sequence
    )
}

/// What an administrator should know. It goes to the server's log alone: the client that happens to take an ID can do
/// nothing about it.
#[derive(Clone, Copy, Debug)]
pub enum LogEntry {
    /// There was no register, so one was created.
    Created {
        /// Where IDs start, Unix ms.
        after: i64,
    },
    /// A step back of the clock is held.
    SteppedBack {
        /// By how much the clock is behind the last ID, ms.
        lead: i64,
    },
    /// The clock has jumped ahead.
    SteppedAhead(Jump),
    /// The clock is before the epoch.
    BeforeEpoch,
    /// A setting is called by a name that the next release does not take.
    FormerName {
        /// That name.
        former: &'static CStr,
        /// The name that takes its place.
        new: &'static CStr,
    },
    /// The timestamp field comes to its end.
    FieldEnds {
        /// Its last timestamp, Unix ms.
        last: i64,
        /// How many days are left.
        days: i64,
    },
}

impl LogEntry {
    /// Writes it to the server's log.
    pub fn log(self) {
        let report = |message| ErrorReport::new(PgSqlErrorCode::ERRCODE_WARNING, message, "snowflake");
        report::log(match self {
            LogEntry::Created { after } => report(format!("created the register of snowflake IDs, \"{}\"", register::PATH))
                .set_detail(format!("IDs start after {}.", time::display(after)))
                .set_hint("If this server, or one that it was made of, has issued later IDs, set a floor above them: SELECT snowflake_set_floor('...')."),
            LogEntry::SteppedBack { lead } => report(format!("the clock was set back: it is {lead} ms behind the last snowflake ID"))
                .set_detail("IDs go on from the last timestamp, and run ahead of the clock until it has caught up."),
            LogEntry::SteppedAhead(jump) => report(jumped(jump))
                .set_detail("Snowflake IDs follow it, and will not go back if it does."),
            LogEntry::BeforeEpoch => report("the clock is before snowflake.epoch".to_owned())
                .set_detail("No snowflake ID is issued until the clock is right."),
            LogEntry::FormerName { former, new } => report(format!(
                "setting \"{}\" is now called \"{}\"",
                former.to_string_lossy(),
                new.to_string_lossy()
            ))
                .set_hint("Change the name in the configuration. The next release does not take the former one."),
            LogEntry::FieldEnds { last, days } => report(match days {
                ..0 => "the timestamp field of snowflake IDs is used up".to_owned(),
                _ => format!("the timestamp field of snowflake IDs is used up in {days} days"),
            })
                .set_detail(format!("Its last timestamp is {}. After it, nothing is issued.", time::display(last)))
                .set_hint("Plan for new IDs, with a later snowflake.epoch or smaller widths."),
        });
    }
}
