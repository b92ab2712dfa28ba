//! The picture in the README: what keys cost, and how generation goes on when sessions are added.

use std::fs;
use std::path::Path;

use plotters::prelude::*;

use crate::costs::{Cost, shown};
use crate::inserts::Bulk;
use crate::sustained::Series;

const OWN: RGBColor = RGBColor(31, 111, 235);
const OTHER: RGBColor = RGBColor(150, 160, 172);
const SIZE: (u32, u32) = (960, 860);
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws the chart into an SVG file.
pub fn draw(path: &Path, costs: &[Cost], inserts: &[Bulk], sustained: &[Series]) {
    fs::create_dir_all(path.parent().expect("a file")).expect("a directory to write to");
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE).expect("drawn");
    let thirds = root.split_evenly((3, 1));
    let costs: Vec<(String, f64)> =
        costs.iter().map(|cost| (shown(cost.call), cost.above)).collect();
    bars(&thirds[0], "Cost of an ID, nanoseconds above a constant", &costs);
    let inserts: Vec<(String, f64)> =
        inserts.iter().map(|bulk| (bulk.key.to_owned(), bulk.seconds)).collect();
    bars(&thirds[1], "Bulk insert of rows with a primary key, seconds", &inserts);
    lines(&thirds[2], sustained);
    root.present().expect("the file is written");
}

/// A bar for each row, with its value.
fn bars(area: &Area, title: &str, rows: &[(String, f64)]) {
    let longest = rows.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 18))
        .margin(12)
        .set_label_area_size(LabelAreaPosition::Left, 190)
        .build_cartesian_2d(0.0..longest * 1.1, (0..rows.len() - 1).into_segmented())
        .expect("a chart");
    let label = |position: &SegmentValue<usize>| match position {
        // From top to bottom.
        SegmentValue::CenterOf(index) => {
            rows.get(rows.len() - 1 - index).map_or(String::new(), |row| row.0.clone())
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_x_axis()
        .y_labels(rows.len())
        .y_label_formatter(&label)
        .label_style((FONT, 14))
        .draw()
        .expect("drawn");
    for (index, (name, value)) in rows.iter().rev().enumerate() {
        let color = if name.contains("snowflake") { OWN } else { OTHER };
        let mut bar = Rectangle::new(
            [(0.0, SegmentValue::Exact(index)), (*value, SegmentValue::Exact(index + 1))],
            color.filled(),
        );
        bar.set_margin(3, 3, 0, 0);
        let digits = if longest < 100.0 { 2 } else { 0 };
        let text = Text::new(
            format!("{value:.digits$}"),
            (*value + longest * 0.008, SegmentValue::CenterOf(index)),
            (FONT, 14).into_font().color(&BLACK).pos(plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Left,
                plotters::style::text_anchor::VPos::Center,
            )),
        );
        chart.draw_series([bar]).expect("drawn");
        chart.draw_series([text]).expect("drawn");
    }
}

/// IDs per second over the number of sessions, a line for each layout.
fn lines(area: &Area, sustained: &[Series]) {
    let most = sustained
        .iter()
        .flat_map(|series| &series.measured)
        .map(|point| point.per_second)
        .fold(0.0, f64::max);
    let sessions: Vec<usize> = sustained[0].measured.iter().map(|point| point.sessions).collect();
    let mut chart = ChartBuilder::on(area)
        .caption("Sustained generation, million IDs per second", (FONT, 18))
        .margin(12)
        .set_label_area_size(LabelAreaPosition::Left, 60)
        .set_label_area_size(LabelAreaPosition::Bottom, 40)
        .build_cartesian_2d(0..sessions.len() - 1, 0.0..most / 1e6 * 1.15)
        .expect("a chart");
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(sessions.len())
        .x_label_formatter(&|index| sessions.get(*index).map_or(String::new(), ToString::to_string))
        .x_desc("sessions")
        .label_style((FONT, 14))
        .draw()
        .expect("drawn");
    for (series, color) in sustained.iter().zip([OWN, OTHER]) {
        let points: Vec<(usize, f64)> = series
            .measured
            .iter()
            .enumerate()
            .map(|(index, point)| (index, point.per_second / 1e6))
            .collect();
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(3)))
            .expect("drawn")
            .label(format!("{} bits of sequence", series.sequence_bits))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .background_style(WHITE)
        .border_style(OTHER)
        .label_font((FONT, 14))
        .draw()
        .expect("drawn");
}
