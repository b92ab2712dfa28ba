//! The picture of how far back greater IDs may have been issued.

use std::fs;
use std::path::Path;

use plotters::prelude::*;

use crate::inversions::Order;
use crate::machine::MILLISECOND;

const COLORS: [RGBColor; 3] =
    [RGBColor(31, 111, 235), RGBColor(191, 97, 0), RGBColor(110, 119, 129)];
const SIZE: (u32, u32) = (960, 460);
const FONT: &str = "sans-serif";

/// The x axis, in milliseconds.
const FROM: f64 = 0.1;
const TO: f64 = 20_000.0;
const POINTS: usize = 400;

/// The y axis, in percent.
const LEAST: f64 = 0.01;
const MOST: f64 = 100.0;

/// Draws the chart into an SVG file.
pub fn draw(path: &Path, orders: &[Order]) {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).expect("a directory to write to");
    }
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE).expect("drawn");
    let mut chart = ChartBuilder::on(&root)
        .caption("IDs of different servers that were issued in the other order", (FONT, 18))
        .margin(12)
        .set_label_area_size(LabelAreaPosition::Left, 70)
        .set_label_area_size(LabelAreaPosition::Bottom, 45)
        .build_cartesian_2d((FROM..TO).log_scale(), (LEAST..MOST).log_scale())
        .expect("a chart");
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 228, 232))
        .x_label_formatter(&|ms| format!("{ms}"))
        .y_label_formatter(&|percent| format!("{percent} %"))
        .x_desc("the greater ID was issued earlier by more than so many milliseconds")
        .y_desc("part of the neighbours among all IDs")
        .label_style((FONT, 14))
        .draw()
        .expect("drawn");
    for (order, color) in orders.iter().zip(COLORS) {
        let step = (TO / FROM).powf(1.0 / POINTS as f64);
        let points = (0..=POINTS).map(|point| {
            let ms = FROM * step.powi(point as i32);
            (ms, order.beyond((ms * MILLISECOND as f64) as i64) * 100.0)
        });
        // The line ends at the bottom of the chart.
        let above = points.clone().take_while(|(_, percent)| *percent >= LEAST);
        let end = points.clone().find(|(_, percent)| *percent < LEAST);
        let points = above.chain(end.map(|(ms, _)| (ms, LEAST)));
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(3)))
            .expect("drawn")
            .label(order.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(COLORS[2])
        .label_font((FONT, 14))
        .draw()
        .expect("drawn");
    root.present().expect("the file is written");
}
