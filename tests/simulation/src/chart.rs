//! The pictures of how far back greater IDs can have been issued, and of how many answers are older
//! than their questions.

use std::path::Path;

use plotters::prelude::*;

#[path = "../../../bench/src/picture.rs"]
mod picture;

use crate::answers::Answers;
use crate::inversions::Order;
use crate::machine::MILLISECOND;
use crate::report::grouped;
use picture::{BLUE, FONT, GRAY, GRID, INK, ORANGE, PAPER, TEXT, TITLE};

const QUESTION: &str = "How far out of order can IDs of two servers be?";
const COLORS: [RGBColor; 3] = [BLUE, ORANGE, GRAY];
const SIZE: (u32, u32) = (840, 430);

/// Where the names of the lines begin, on the axes: right of the lines.
const NAMES: [(f64, f64); 3] = [(3.3, 0.035), (120.0, 0.035), (260.0, 65.0)];

/// The x axis, in milliseconds.
const FROM: f64 = 0.1;
const TO: f64 = 20_000.0;
const POINTS: usize = 400;

/// The y axis, in percent.
const LEAST: f64 = 0.01;
const MOST: f64 = 100.0;

/// Draws the chart into an SVG file.
pub fn draw(path: &Path, orders: &[Order]) {
    let mut drawing = String::new();
    {
        let root = SVGBackend::with_string(&mut drawing, SIZE).into_drawing_area();
        root.fill(&PAPER).expect("drawn");
        draw_in(&root, orders);
        root.present().expect("drawn");
    }
    picture::write(path, QUESTION, drawing);
}

fn draw_in(root: &DrawingArea<SVGBackend, plotters::coord::Shift>, orders: &[Order]) {
    let text = (FONT, TEXT).into_font().color(&INK);
    let title = (FONT, TITLE, FontStyle::Bold).into_font().color(&INK);
    let mut chart = ChartBuilder::on(root)
        .caption(QUESTION, title)
        .margin(12)
        .set_label_area_size(LabelAreaPosition::Left, 80)
        .set_label_area_size(LabelAreaPosition::Bottom, 50)
        .build_cartesian_2d((FROM..TO).log_scale(), (LEAST..MOST).log_scale())
        .expect("a chart");
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .x_label_formatter(&|ms| if *ms < 1.0 { format!("{ms}") } else { grouped(*ms as u64) })
        .y_label_formatter(&|percent| format!("{percent} %"))
        .x_desc("milliseconds by which the greater ID is the older one, logarithmic scale")
        .y_desc("pairs that are further out of order")
        .label_style(text)
        .draw()
        .expect("drawn");
    for ((order, color), name_at) in orders.iter().zip(COLORS).zip(NAMES) {
        let step = (TO / FROM).powf(1.0 / POINTS as f64);
        let points = (0..=POINTS).map(|point| {
            let ms = FROM * step.powi(point as i32);
            (ms, order.beyond((ms * MILLISECOND as f64) as i64) * 100.0)
        });
        // The line ends at the bottom of the chart.
        let above = points.clone().take_while(|(_, percent)| *percent >= LEAST);
        let end = points.clone().find(|(_, percent)| *percent < LEAST);
        let points = above.chain(end.map(|(ms, _)| (ms, LEAST)));
        chart.draw_series(LineSeries::new(points, color.stroke_width(3))).expect("drawn");
        let name = Text::new(order.name, name_at, (FONT, TEXT).into_font().color(&color));
        chart.plotting_area().draw(&name).expect("drawn");
    }
}

const OLDER: &str = "How many answers are older than their question?";

/// The y axis of that picture, in percent.
const MOST_OLDER: f64 = 60.0;

/// Draws the chart of answers into an SVG file.
pub fn draw_answers(path: &Path, all: &[Answers]) {
    let right: Vec<&Answers> = all.iter().filter(|answers| answers.wrong == 0).collect();
    let mut drawing = String::new();
    {
        let root = SVGBackend::with_string(&mut drawing, SIZE).into_drawing_area();
        root.fill(&PAPER).expect("drawn");
        draw_answers_in(&root, &right);
        root.present().expect("drawn");
    }
    picture::write(path, OLDER, drawing);
}

fn draw_answers_in(root: &DrawingArea<SVGBackend, plotters::coord::Shift>, all: &[&Answers]) {
    let text = (FONT, TEXT).into_font().color(&INK);
    let title = (FONT, TITLE, FontStyle::Bold).into_font().color(&INK);
    let spread = |answers: &Answers| answers.spread as f64;
    let (from, to) = (spread(all[0]), spread(all[all.len() - 1]));
    let mut chart = ChartBuilder::on(root)
        .caption(OLDER, title)
        .margin(12)
        .set_label_area_size(LabelAreaPosition::Left, 80)
        .set_label_area_size(LabelAreaPosition::Bottom, 50)
        .build_cartesian_2d((from..to).log_scale(), -1.0..MOST_OLDER)
        .expect("a chart");
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .x_label_formatter(&|ms| grouped(*ms as u64))
        .y_label_formatter(&|percent| format!("{percent:.0} %"))
        .x_desc("milliseconds by which clocks are wrong at most, logarithmic scale")
        .y_desc("answers that are older")
        .label_style(text)
        .draw()
        .expect("drawn");
    let lines = [("without observation", ORANGE, 30.0), ("with observation", BLUE, 4.0)];
    for (which, (name, color, name_at)) in lines.into_iter().enumerate() {
        let points = all.iter().map(|answers| {
            (spread(answers), answers.older[which] as f64 * 100.0 / answers.answers as f64)
        });
        chart.draw_series(LineSeries::new(points, color.stroke_width(3))).expect("drawn");
        let name = Text::new(name, (12.0, name_at), (FONT, TEXT).into_font().color(&color));
        chart.plotting_area().draw(&name).expect("drawn");
    }
}
