//! The pictures of docs/performance.md: the figures that readers ask for first, and the machine.

use std::path::Path;

use crate::costs::Costs;
use crate::inserts::{Bulk, Inserts};
use crate::machine::Machine;
use crate::picture::{Axis, BLUE, GRAY, INK, ORANGE, PAPER, Picture, Point, WIDTH, grouped};
use crate::quantiles::quantiles;
use crate::sessions::{SESSIONS, Work};

/// The width of a cell. In a cell: the margin, the top of the content, and the height of a line.
const CELL: f64 = WIDTH / 2.0;
const MARGIN: f64 = 14.0;
const TOP: f64 = 62.0;
const LINE: f64 = 24.0;

/// Draws what keys cost into an SVG file.
pub fn keys(path: &Path, machine: &Machine, costs: &Costs, inserts: &Inserts) {
    let mut picture = Picture::new("What IDs of snowflake_pg cost, beside other keys", 650.0);
    let rows = format!("of {} rows with a primary key", grouped(&inserts.rows.to_string()));
    let note = format!("less a function that does nothing; widths {}", costs.widths);
    let calls = costs.calls.iter().map(|cost| (cost.name, cost.above)).collect();
    let seconds = |bulk: &Bulk| (bulk.key, bulk.seconds);
    let index = inserts.insert.iter().map(|bulk| (bulk.key, bulk.index / 1e6)).collect();
    let insert = inserts.insert.iter().map(seconds).collect();
    let copy = inserts.copy.iter().map(seconds).collect();
    bars(&mut picture, (0.0, 0.0), ["What an ID costs, nanoseconds", &note], 0, calls);
    bars(&mut picture, (CELL, 0.0), ["The key's index, MB", &rows], 1, index);
    bars(&mut picture, (0.0, 294.0), ["INSERT ... SELECT, seconds", &rows], 2, insert);
    bars(&mut picture, (CELL, 294.0), ["COPY, seconds", &rows], 2, copy);
    write(picture, path, 588.0, machine);
}

/// Draws what many sessions do into an SVG file.
pub fn sessions(path: &Path, machine: &Machine, works: &[Work]) {
    const HEIGHT: f64 = 280.0;
    let mut picture = Picture::new("How many keys and rows sessions make per second", 902.0);
    let cell = |number: usize| ((number % 2) as f64 * CELL, (number / 2) as f64 * HEIGHT);
    for (number, work) in works.iter().enumerate() {
        lines(&mut picture, cell(number), HEIGHT, work);
    }
    let (left, top) = cell(works.len());
    picture.title((left + MARGIN, top + 24.0), "Keys", "");
    for (number, (name, _)) in works[0].per_second.iter().enumerate() {
        let middle = top + TOP + (number as f64 - 0.5) * LINE;
        line(&mut picture, name, &[(left + MARGIN + 6.0, middle), (left + MARGIN + 36.0, middle)]);
        picture.text((left + MARGIN + 50.0, middle), "start", INK, name);
    }
    write(picture, path, 3.0 * HEIGHT, machine);
}

/// Writes a picture, with what was measured below its cells.
fn write(mut picture: Picture, path: &Path, top: f64, machine: &Machine) {
    for (number, fact) in machine.to_string().lines().enumerate() {
        picture.text((MARGIN, top + (number as f64 + 0.5) * LINE), "start", INK, fact);
    }
    picture.write(path);
}

/// Draws the number per second over the number of sessions, a line for each key.
fn lines(picture: &mut Picture, (left, top): Point, height: f64, work: &Work) {
    let values = || work.per_second.iter().flat_map(|(_, values)| values.iter().copied());
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let (from, scale) = if most > 8.0 * least { (least, "; logarithmic scale") } else { (0.0, "") };
    let numbers = SESSIONS.map(|sessions| sessions as f64);
    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
    let note = format!("of {first} to {last} sessions{scale}");
    picture.title((left + MARGIN, top + 24.0), work.title, &note);
    let round = (0..10).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    let step = round.clone().find(|step| most / step <= 5.0).expect("a step");
    let ticks = match from > 0.0 {
        true => round.collect(),
        false => (0..=5).map(|count| f64::from(count) * step).collect(),
    };
    let places = (left + MARGIN + 86.0, left + CELL - 2.0 * MARGIN);
    let x = Axis { places, values: (first, last), ticks: numbers.to_vec() };
    let places = (top + height - 34.0, top + TOP + 14.0);
    let y = Axis { places, values: (from, most), ticks };
    picture.axes(&x, &y, "");
    for (name, values) in &work.per_second {
        let at = |(number, value): (&f64, &f64)| (x.place(*number), y.place(*value));
        line(picture, name, &numbers.iter().zip(values).map(at).collect::<Vec<_>>());
    }
}

/// The line of a key. Two keys of the same kind have the same color, and one of them has hollow
/// points.
fn line(picture: &mut Picture, name: &str, points: &[Point]) {
    let color = match name {
        name if name.starts_with("snowflake") => BLUE,
        name if name.starts_with("nextval") => ORANGE,
        _ => GRAY,
    };
    let is_hollow = ["16 bits", "cache", "random"].iter().any(|word| name.contains(word));
    picture.line(points, 2, color);
    for (x, y) in points {
        for (r, color) in [(4.0, color), (2.0, if is_hollow { PAPER } else { color })] {
            picture.bar((x - r, y - r), (x + r, y + r), r, color);
        }
    }
}

/// A bar for each row, with its name and value. The longest one is cut, with a gap, if it would
/// leave no room to compare the others.
fn bars(picture: &mut Picture, at: Point, title: [&str; 2], digits: usize, rows: Vec<(&str, f64)>) {
    let (left, top) = at;
    picture.title((left + MARGIN, top + 24.0), title[0], title[1]);
    let value = quantiles(rows.iter().map(|(_, value)| *value).collect());
    let second = value(1.0 - 1.0 / (rows.len() - 1) as f64);
    let longest = if value(1.0) > 2.0 * second { 1.25 * second } else { value(1.0) };
    // Room for names and for values is beside the bars.
    let (from, end) = (left + MARGIN + 158.0, left + CELL - 72.0);
    for (number, (name, value)) in rows.iter().enumerate() {
        let middle = top + TOP + (number as f64 + 0.5) * LINE;
        let color = if name.starts_with("snowflake") { BLUE } else { GRAY };
        // Noise can make the difference negative.
        let to = from + (value.clamp(0.0, longest) / longest * (end - from)).max(1.0);
        picture.bar((from, middle - 9.0), (to, middle + 9.0), 0.0, color);
        if *value > longest {
            picture.bar((to - 14.0, middle - 9.0), (to - 8.0, middle + 9.0), 0.0, PAPER);
        }
        picture.text((from - 8.0, middle), "end", INK, name);
        picture.text((to + 6.0, middle), "start", INK, &grouped(&format!("{value:.digits$}")));
    }
}
