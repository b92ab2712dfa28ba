//! The picture of docs/performance.md: the figures that readers ask for first, and the machine.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::costs::{Costs, shown};
use crate::inserts::Inserts;
use crate::machine::Machine;
use crate::picture::{self, Area, BLUE, GRAY, INK};
use crate::sustained::Series;

/// In a cell: the margin, the top of the content, and the height of a line.
const MARGIN: i32 = 14;
const TOP: i32 = 62;
const LINE: i32 = 24;
/// Of a cell with bars: the room for their names and for their values.
const NAMES: i32 = 158;
const VALUES: i32 = 72;

/// Draws the chart into an SVG file.
pub fn draw(
    path: &Path,
    machine: &Machine,
    costs: &Costs,
    inserts: &Inserts,
    sustained: &[Series; 2],
) {
    picture::draw(path, "What IDs of snowflake_pg cost, beside other keys", 690, |root| {
        let cells = root.split_evenly((3, 2));
        cost_of_an_id(&cells[0], costs);
        bulk_inserts(&cells[1], inserts);
        indexes(&cells[2], inserts);
        single_inserts(&cells[3], inserts);
        generation(&cells[4], sustained);
        facts(&cells[5], machine, sustained);
    });
}

fn cost_of_an_id(cell: &Area, costs: &Costs) {
    let note = format!("less a function that does nothing; widths {}", costs.widths);
    title(cell, "What an ID costs, nanoseconds", &note);
    let rows = costs.calls.iter().map(|cost| (shown(cost.call), cost.above));
    bars(cell, 0, &rows.collect::<Vec<_>>());
}

fn bulk_inserts(cell: &Area, inserts: &Inserts) {
    let note = format!("of {} rows with a primary key", grouped(f64::from(inserts.rows), 0));
    title(cell, "What a bulk insert takes, seconds", &note);
    let rows = inserts.bulk.iter().map(|bulk| (bulk.key.to_owned(), bulk.seconds));
    bars(cell, 2, &rows.collect::<Vec<_>>());
}

fn indexes(cell: &Area, inserts: &Inserts) {
    title(cell, "What the key's index takes on disk, MB", "after that bulk insert");
    let rows = inserts.bulk.iter().map(|bulk| (bulk.key.to_owned(), bulk.index / 1e6));
    bars(cell, 1, &rows.collect::<Vec<_>>());
}

fn single_inserts(cell: &Area, inserts: &Inserts) {
    let most = inserts.small.iter().map(|small| small.sessions).max().expect("sessions");
    let note = format!("by {most} sessions, each row a transaction");
    title(cell, "Rows per second, inserted one by one", &note);
    let rows = inserts
        .small
        .iter()
        .filter(|small| small.sessions == most && small.rows == 1)
        .map(|small| (small.key.to_owned(), small.per_second));
    bars(cell, 0, &rows.collect::<Vec<_>>());
}

/// A bar for each row, with its name and value.
fn bars(cell: &Area, digits: usize, rows: &[(String, f64)]) {
    let longest = rows.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let (width, _) = cell.dim_in_pixel();
    let from = MARGIN + NAMES;
    let room = f64::from(width as i32 - from - VALUES);
    for ((name, value), top) in rows.iter().zip((TOP..).step_by(LINE as usize)) {
        let color = if name.contains("snowflake") { BLUE } else { GRAY };
        // Noise can make the difference negative.
        let to = from + (value.max(0.0) / longest * room).round().max(1.0) as i32;
        let bar = Rectangle::new([(from, top + 3), (to, top + LINE - 3)], color.filled());
        cell.draw(&bar).expect("drawn");
        let middle = top + LINE / 2;
        text(cell, name, (from - 8, middle), HPos::Right);
        text(cell, &grouped(*value, digits), (to + 6, middle), HPos::Left);
    }
}

/// IDs per second over the number of sessions, a line for each layout: the default, and above it
/// one that allows more. The scale is logarithmic, or the default would lie on the axis.
fn generation(cell: &Area, sustained: &[Series; 2]) {
    let measured = |series: &Series| -> Vec<f64> {
        series.measured.iter().map(|point| point.per_second / 1e6).collect()
    };
    let all: Vec<f64> = sustained.iter().flat_map(measured).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    let sessions: Vec<usize> = sustained[0].measured.iter().map(|point| point.sessions).collect();
    let last = sessions.len() - 1;
    let note = format!("of {} to {} sessions; logarithmic scale", sessions[0], sessions[last]);
    title(cell, "IDs per second, million", &note);

    let (width, height) = cell.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let (left, right) = (MARGIN + 20, width - MARGIN - 20);
    let (top, bottom) = (TOP + 42, height - 68);
    let x = |index: usize| left + (right - left) * index as i32 / last as i32;
    let y = |value: f64| {
        let share = (value / least).ln() / (most / least).ln();
        bottom - (f64::from(bottom - top) * share).round() as i32
    };
    // The values of the lower line are below it, and those of the upper one above.
    let sides = [(", the default", 15, height - 34), ("", -15, TOP + 10)];
    for (series, (which, beside, name_at)) in sustained.iter().zip(sides) {
        let values = measured(series);
        let line: Vec<(i32, i32)> =
            values.iter().enumerate().map(|(index, value)| (x(index), y(*value))).collect();
        for (value, (x, y)) in values.iter().zip(&line) {
            cell.draw(&Circle::new((*x, *y), 4, BLUE.filled())).expect("drawn");
            text(cell, &format!("{value:.1}"), (*x, y + beside), HPos::Center);
        }
        cell.draw(&PathElement::new(line, BLUE.stroke_width(2))).expect("drawn");
        let name = format!("widths {}{which}: at most {:.1}", series.widths, series.limit() / 1e6);
        text(cell, &name, (width / 2, name_at), HPos::Center);
    }
    for (index, sessions) in sessions.iter().enumerate() {
        text(cell, &sessions.to_string(), (x(index), height - 14), HPos::Center);
    }
}

fn facts(cell: &Area, machine: &Machine, sustained: &[Series; 2]) {
    title(cell, "Measured on", "");
    let facts = [
        format!("PostgreSQL {}", machine.postgresql),
        format!("{} processors", machine.processors),
        machine.processor.clone(),
        format!("{}, {}", machine.date, machine.commit),
        format!("widths {}, unless stated otherwise", sustained[0].widths),
    ];
    // There is no note to begin below.
    for (fact, top) in facts.iter().zip((TOP - LINE..).step_by(LINE as usize)) {
        text(cell, fact, (MARGIN, top + LINE / 2), HPos::Left);
    }
}

/// The title of a cell, and what to know of it.
fn title(cell: &Area, title: &str, note: &str) {
    write(cell, title, picture::bold(), (MARGIN, 24), HPos::Left);
    if !note.is_empty() {
        text(cell, note, (MARGIN, 46), HPos::Left);
    }
}

/// A text beside or around a point.
fn text(cell: &Area, text: &str, at: (i32, i32), anchor: HPos) {
    write(cell, text, picture::font(&INK), at, anchor);
}

fn write(cell: &Area, text: &str, font: TextStyle, at: (i32, i32), anchor: HPos) {
    cell.draw_text(text, &font.pos(Pos::new(anchor, VPos::Center)), at).expect("drawn");
}

/// A number as readers know it: 1,234,567.
fn grouped(value: f64, digits: usize) -> String {
    let number = format!("{value:.digits$}");
    let whole = number.find('.').unwrap_or(number.len());
    let mut grouped = String::new();
    for (index, character) in number.char_indices() {
        if index > 0 && index < whole && (whole - index) % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(character);
    }
    grouped
}
