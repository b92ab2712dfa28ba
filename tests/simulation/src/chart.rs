//! The pictures of how far back greater IDs can have been issued, and of how many answers are older
//! than their questions.

use std::ops::Range;
use std::path::Path;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

#[path = "../../../bench/src/picture.rs"]
mod picture;

use crate::answers;
use crate::inversions;
use crate::machine::MILLISECOND;
use picture::{BLUE, GRAY, GRID, INK, ORANGE};

/// A line: its name, color and points, and where the name begins, on the axes, beside the line.
type Line<'a> = (&'a str, RGBColor, Vec<(f64, f64)>, (f64, f64));

/// The x axis, in milliseconds.
const FROM: f64 = 0.1;
const TO: f64 = 20_000.0;
const POINTS: usize = 400;

/// The y axis, in percent.
const LEAST: f64 = 0.01;
const MOST: f64 = 100.0;

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
        ("milliseconds by which the greater ID is the older one", FROM..TO),
        ("pairs that are further out of order", (LEAST..MOST).log_scale()),
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
            spreads[0] as f64..spreads[spreads.len() - 1] as f64,
        ),
        ("answers that are older", -1.0..60.0),
        &[
            ("without observation", ORANGE, points(false), (12.0, 30.0)),
            ("with observation", BLUE, points(true), (12.0, 4.0)),
        ],
    );
}

/// Draws lines over a logarithmic axis of milliseconds. The other axis is in percent.
fn draw_lines<Y>(
    path: &Path,
    question: &str,
    (x_name, x): (&str, Range<f64>),
    (y_name, y): (&str, impl AsRangedCoord<CoordDescType = Y, Value = f64>),
    lines: &[Line],
) where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    picture::draw(path, question, 430, |root| {
        let mut chart = ChartBuilder::on(root)
            .caption(question, picture::bold())
            .margin(12)
            .set_label_area_size(LabelAreaPosition::Left, 80)
            .set_label_area_size(LabelAreaPosition::Bottom, 50)
            .build_cartesian_2d(x.log_scale(), y)
            .expect("a chart");
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .x_label_formatter(&|ms| match *ms {
                1000.0.. => format!("{},000", ms / 1000.0),
                _ => ms.to_string(),
            })
            .y_label_formatter(&|percent| format!("{percent} %"))
            .x_desc(format!("{x_name}, logarithmic scale"))
            .y_desc(y_name)
            .label_style(picture::font(&INK))
            .draw()
            .expect("drawn");
        for (name, color, points, name_at) in lines {
            let line = LineSeries::new(points.iter().copied(), color.stroke_width(3));
            chart.draw_series(line).expect("drawn");
            let name = Text::new(*name, *name_at, picture::font(color));
            chart.plotting_area().draw(&name).expect("drawn");
        }
    });
}
