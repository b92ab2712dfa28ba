//! The pictures of how far back greater IDs can have been issued, and of how many answers are older
//! than their questions.

use std::path::Path;

#[path = "../../../bench/src/picture.rs"]
mod picture;

use crate::answers;
use crate::inversions;
use crate::machine::MILLISECOND;
use picture::{Axis, BLUE, Color, GRAY, INK, ORANGE, Picture, WIDTH};

/// A line: its name, color and points, and where the name begins, on the axes, beside the line.
type Line<'a> = (&'a str, Color, Vec<(f64, f64)>, (f64, f64));

/// The x axis, in milliseconds.
const FROM: f64 = 0.1;
const TO: f64 = 20_000.0;
const POINTS: usize = 400;

/// The y axis, in percent.
const LEAST: f64 = 0.01;
const MOST: f64 = 100.0;

/// The numbers that axes show.
const POWERS: [f64; 7] = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0];
const TENS: [f64; 7] = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0];

/// Measures, and draws inversions.svg and answers.svg into a directory.
pub fn draw(directory: &Path, seed: u64) {
    let step = (TO / FROM).powf(1.0 / POINTS as f64);
    let orders = inversions::measure(seed);
    let names_at = [(3.3, 0.035), (120.0, 0.035), (260.0, 65.0)];
    let lines =
        orders.iter().zip([BLUE, ORANGE, GRAY]).zip(names_at).map(|((order, color), at)| {
            let points = (0..=POINTS).map(|point| {
                let ms = FROM * step.powi(point as i32);
                (ms, order.beyond((ms * MILLISECOND as f64) as i64) * 100.0)
            });
            // The line ends at the bottom of the chart.
            let above = points.clone().take_while(|(_, percent)| *percent >= LEAST);
            let end = points.clone().find(|(_, percent)| *percent < LEAST);
            (order.name, color, above.chain(end.map(|(ms, _)| (ms, LEAST))).collect(), at)
        });
    draw_lines(
        &directory.join("inversions.svg"),
        "How far out of order can IDs of two servers be?",
        ("milliseconds by which the greater ID is the older one", (FROM, TO)),
        ("pairs that are further out of order", (LEAST, MOST)),
        &lines.collect::<Vec<Line>>(),
    );
    let spreads = answers::SPREADS;
    let points = |observe| {
        let part = |spread| answers::measure(seed, spread, 0, observe).part() * 100.0;
        spreads.map(|spread| (spread as f64, part(spread))).to_vec()
    };
    draw_lines(
        &directory.join("answers.svg"),
        "How many answers are older than their question?",
        (
            "milliseconds by which clocks are wrong at most",
            (spreads[0] as f64, spreads[spreads.len() - 1] as f64),
        ),
        ("answers that are older", (0.0, 60.0)),
        &[
            ("without observation", ORANGE, points(false), (12.0, 30.0)),
            ("with observation", BLUE, points(true), (12.0, 4.0)),
        ],
    );
}

/// Draws lines over a logarithmic axis of milliseconds. The other axis is in percent.
fn draw_lines(
    path: &Path,
    question: &str,
    (x_name, milliseconds): (&str, (f64, f64)),
    (y_name, percent): (&str, (f64, f64)),
    lines: &[Line],
) {
    let mut picture = Picture::new(question, 430.0);
    picture.title((14.0, 24.0), question, y_name);
    let x = Axis { places: (96.0, WIDTH - 28.0), values: milliseconds, ticks: POWERS.to_vec() };
    let ticks = if percent.0 > 0.0 { &POWERS[..] } else { &TENS };
    let y = Axis { places: (360.0, 76.0), values: percent, ticks: ticks.to_vec() };
    picture.axes(&x, &y, " %");
    picture.text((WIDTH / 2.0, 410.0), "middle", INK, &format!("{x_name}, logarithmic scale"));
    for (name, color, points, (x_name, y_name)) in lines {
        let points: Vec<_> =
            points.iter().map(|(ms, percent)| (x.place(*ms), y.place(*percent))).collect();
        picture.line(&points, 3, *color);
        picture.text((x.place(*x_name), y.place(*y_name)), "start", *color, name);
    }
    picture.write(path);
}
