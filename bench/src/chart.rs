//! The pictures of docs/performance.md: the figures that readers ask for first, and the machine.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::costs::Costs;
use crate::inserts::{Bulk, Inserts};
use crate::machine::Machine;
use crate::picture::{self, Area, BLUE, GRAY, GRID, INK, ORANGE, PAPER};
use crate::quantiles::quantiles;
use crate::sessions::{SESSIONS, Work};

/// In a cell: the margin, the top of the content, and the height of a line.
const MARGIN: i32 = 14;
const TOP: i32 = 62;
const LINE: i32 = 24;
/// Of a cell with bars: the room for their names and for their values.
const NAMES: i32 = 158;
const VALUES: i32 = 72;

/// Draws what keys cost into an SVG file.
pub fn keys(path: &Path, machine: &Machine, costs: &Costs, inserts: &Inserts) {
    picture::draw(path, "What IDs of snowflake_pg cost, beside other keys", 650, |root| {
        let cells = above_facts(root, machine, (2, 2));
        let note = format!("less a function that does nothing; widths {}", costs.widths);
        title(&cells[0], "What an ID costs, nanoseconds", &note);
        let calls = costs.calls.iter().map(|cost| (cost.name, cost.above));
        bars(&cells[0], 0, &calls.collect::<Vec<_>>());
        let rows = grouped(f64::from(inserts.rows), 0);
        let note = format!("of {rows} rows with a primary key");
        let seconds = |bulk: &Bulk| (bulk.key, bulk.seconds);
        let megabytes = |bulk: &Bulk| (bulk.key, bulk.index / 1e6);
        title(&cells[1], "The key's index, MB", &note);
        bars(&cells[1], 1, &inserts.insert.iter().map(megabytes).collect::<Vec<_>>());
        title(&cells[2], "INSERT ... SELECT, seconds", &note);
        bars(&cells[2], 2, &inserts.insert.iter().map(seconds).collect::<Vec<_>>());
        title(&cells[3], "COPY, seconds", &note);
        bars(&cells[3], 2, &inserts.copy.iter().map(seconds).collect::<Vec<_>>());
    });
}

/// Draws what many sessions do into an SVG file.
pub fn sessions(path: &Path, machine: &Machine, works: &[Work]) {
    picture::draw(path, "How many keys and rows sessions make per second", 900, |root| {
        let cells = above_facts(root, machine, (3, 2));
        for (cell, work) in cells.iter().zip(works) {
            lines(cell, work);
        }
        let legend = &cells[works.len()];
        title(legend, "Keys", "");
        let keys = works[0].per_second.iter();
        for ((name, _), top) in keys.zip((TOP - LINE..).step_by(LINE as usize)) {
            let middle = top + LINE / 2;
            line(legend, name, vec![(MARGIN + 6, middle), (MARGIN + 36, middle)]);
            text(legend, name, (MARGIN + 50, middle), HPos::Left);
        }
    });
}

/// The cells above what was measured.
fn above_facts<'a>(root: &Area<'a>, machine: &Machine, shape: (usize, usize)) -> Vec<Area<'a>> {
    let (_, height) = root.dim_in_pixel();
    let (upper, lower) = root.split_vertically(height as i32 - 2 * LINE - MARGIN);
    for (fact, top) in machine.to_string().lines().zip((0..).step_by(LINE as usize)) {
        text(&lower, fact, (MARGIN, top + LINE / 2), HPos::Left);
    }
    upper.split_evenly(shape)
}

/// Draws the number per second over the number of sessions, a line for each key.
fn lines(cell: &Area, work: &Work) {
    let values = || work.per_second.iter().flat_map(|(_, values)| values.iter().copied());
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let is_logarithmic = most > 8.0 * least;
    let scale = if is_logarithmic { "; logarithmic scale" } else { "" };
    let (first, last) = (SESSIONS[0], SESSIONS.len() - 1);
    title(cell, work.title, &format!("of {first} to {} sessions{scale}", SESSIONS[last]));

    let (width, height) = cell.dim_in_pixel();
    let (left, right) = (MARGIN + 48, width as i32 - MARGIN - 14);
    let (top, bottom) = (TOP + 14, height as i32 - 34);
    let x = |index: usize| left + (right - left) * index as i32 / last as i32;
    let y = |value: f64| {
        let share =
            if is_logarithmic { (value / least).ln() / (most / least).ln() } else { value / most };
        bottom - (f64::from(bottom - top) * share).round() as i32
    };
    for tick in ticks(if is_logarithmic { Some(least) } else { None }, most) {
        let across = vec![(left - 8, y(tick)), (right + 8, y(tick))];
        cell.draw(&PathElement::new(across, GRID.stroke_width(1))).expect("drawn");
        text(cell, &short(tick), (left - 14, y(tick)), HPos::Right);
    }
    for (index, sessions) in SESSIONS.iter().enumerate() {
        text(cell, &sessions.to_string(), (x(index), height as i32 - 14), HPos::Center);
    }
    for (name, values) in &work.per_second {
        let points = values.iter().enumerate().map(|(index, value)| (x(index), y(*value)));
        line(cell, name, points.collect());
    }
}

/// The line of a key. Two keys of the same kind have the same color, and one of them has hollow points.
fn line(cell: &Area, name: &str, points: Vec<(i32, i32)>) {
    let color = match name {
        name if name.starts_with("snowflake") => BLUE,
        name if name.starts_with("nextval") => ORANGE,
        _ => GRAY,
    };
    let is_hollow = ["16 bits", "cache", "random"].iter().any(|word| name.contains(word));
    cell.draw(&PathElement::new(points.clone(), color.stroke_width(2))).expect("drawn");
    for point in points {
        cell.draw(&Circle::new(point, 4, color.filled())).expect("drawn");
        if is_hollow {
            cell.draw(&Circle::new(point, 2, PAPER.filled())).expect("drawn");
        }
    }
}

/// Round numbers along an axis up to `most`: from `least` on if it is logarithmic, and else from 0.
fn ticks(least: Option<f64>, most: f64) -> Vec<f64> {
    let round = (0..10).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    match least {
        Some(least) => round.filter(|tick| (least..=most).contains(tick)).collect(),
        None => {
            let mut round = round;
            let step = round.find(|step| most / step <= 5.0).expect("a step");
            (0..=5).map(|count| f64::from(count) * step).filter(|tick| *tick <= most).collect()
        }
    }
}

fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value if value >= 1e3 => format!("{} k", value / 1e3),
        value => value.to_string(),
    }
}

/// A bar for each row, with its name and value. The longest one is cut, with a gap, if it would leave
/// no room to compare the others.
fn bars(cell: &Area, digits: usize, rows: &[(&str, f64)]) {
    let value = quantiles(rows.iter().map(|(_, value)| *value).collect());
    let second = value(1.0 - 1.0 / (rows.len() - 1) as f64);
    let longest = if value(1.0) > 2.0 * second { 1.25 * second } else { value(1.0) };
    let (width, _) = cell.dim_in_pixel();
    let from = MARGIN + NAMES;
    let room = f64::from(width as i32 - from - VALUES);
    for ((name, value), top) in rows.iter().zip((TOP..).step_by(LINE as usize)) {
        let color = if name.starts_with("snowflake") { BLUE } else { GRAY };
        // Noise can make the difference negative.
        let to = from + (value.clamp(0.0, longest) / longest * room).round().max(1.0) as i32;
        let bar = |from, to, color: RGBColor| {
            let bar = Rectangle::new([(from, top + 3), (to, top + LINE - 3)], color.filled());
            cell.draw(&bar).expect("drawn");
        };
        bar(from, to, color);
        if *value > longest {
            bar(to - 14, to - 8, PAPER);
        }
        let middle = top + LINE / 2;
        text(cell, name, (from - 8, middle), HPos::Right);
        text(cell, &grouped(*value, digits), (to + 6, middle), HPos::Left);
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
