//! The drawer of the documents' pictures, for the simulation, too: SVG, with colors for light pages
//! and for dark ones, and a title for those who cannot see the picture.

use std::fs;
use std::path::Path;

/// A color on light pages, and on dark ones.
pub type Color = [&'static str; 2];
pub const INK: Color = ["#1F2328", "#E6EDF3"];
pub const PAPER: Color = ["#FFFFFF", "#0D1117"];
pub const GRID: Color = ["#E1E4E8", "#30363D"];
pub const BLUE: Color = ["#1F6FEB", "#4493F8"];
pub const ORANGE: Color = ["#BF6100", "#DB6D28"];
pub const GRAY: Color = ["#6E7781", "#8B949E"];

/// The width at which GitHub shows a picture, so that its text is not scaled.
pub const WIDTH: f64 = 840.0;

/// A place in a picture, from the left and from the top.
pub type Point = (f64, f64);

/// A picture that is being drawn.
pub struct Picture(String);

/// A scale from one place to another, which is logarithmic unless it begins at 0, and the values
/// that it shows if they are on it.
pub struct Axis {
    pub places: (f64, f64),
    pub values: (f64, f64),
    pub ticks: Vec<f64>,
}

impl Axis {
    /// The place of a value.
    pub fn place(&self, value: f64) -> f64 {
        let ((from, to), (least, most)) = (self.places, self.values);
        let of = |value: f64| if least > 0.0 { (value / least).ln() } else { value };
        from + (to - from) * of(value) / of(most)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let (least, most) = self.values;
        let shown = self.ticks.iter().filter(|tick| (least..=most).contains(tick));
        shown.map(|tick| (self.place(*tick), grouped(&tick.to_string()))).collect()
    }
}

impl Picture {
    /// An empty one.
    pub fn new(title: &str, height: f64) -> Picture {
        let rules = [INK, PAPER, GRID, BLUE, ORANGE, GRAY].map(|[light, dark]| {
            format!("[fill='{light}'] {{ fill: {dark} }} [stroke='{light}'] {{ stroke: {dark} }}\n")
        });
        let mut picture = Picture(format!(
            "<svg width='{WIDTH}' height='{height}' viewBox='0 0 {WIDTH} {height}' \
             xmlns='http://www.w3.org/2000/svg' font-family='sans-serif' font-size='14'>\n\
             <title>{title}</title>\n<style>\n@media (prefers-color-scheme: dark) {{\n{}}}\n</style>\n",
            rules.concat()
        ));
        picture.bar((0.0, 0.0), (WIDTH, height), 0.0, PAPER);
        picture
    }

    /// A text beside or around a point: `anchor` is `start`, `middle` or `end`.
    pub fn text(&mut self, (x, y): Point, anchor: &str, [color, _]: Color, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let place = format!("x='{x:.1}' y='{y:.1}' dy='0.35em' text-anchor='{anchor}'");
        self.0 += &format!("<text {place} fill='{color}'>{text}</text>\n");
    }

    /// A title from a point on, and below it what to know of the picture.
    pub fn title(&mut self, (x, y): Point, title: &str, note: &str) {
        self.0 += "<g font-size='15' font-weight='bold'>\n";
        self.text((x, y), "start", INK, title);
        self.0 += "</g>\n";
        self.text((x, y + 22.0), "start", INK, note);
    }

    /// A rectangle between two corners, with a radius of all corners.
    pub fn bar(&mut self, (x, y): Point, to: Point, radius: f64, [color, _]: Color) {
        let (width, height) = (to.0 - x, to.1 - y);
        let size = format!("width='{width:.1}' height='{height:.1}' rx='{radius}'");
        self.0 += &format!("<rect x='{x:.1}' y='{y:.1}' {size} fill='{color}'/>\n");
    }

    /// A line through points.
    pub fn line(&mut self, points: &[Point], width: u32, [color, _]: Color) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let style = format!("fill='none' stroke='{color}' stroke-width='{width}'");
        self.0 += &format!("<polyline points='{}' {style}/>\n", points.join(" "));
    }

    /// The ticks of two axes, with their values below and, in a unit, at the left.
    pub fn axes(&mut self, x: &Axis, y: &Axis, unit: &str) {
        let ((left, right), (bottom, top)) = (x.places, y.places);
        for (at, value) in y.ticks() {
            self.line(&[(left - 8.0, at), (right + 8.0, at)], 1, GRID);
            self.text((left - 14.0, at), "end", INK, &(value + unit));
        }
        for (at, value) in x.ticks() {
            self.line(&[(at, top), (at, bottom + 6.0)], 1, GRID);
            self.text((at, bottom + 20.0), "middle", INK, &value);
        }
    }

    /// Writes the picture into a file.
    pub fn write(mut self, path: &Path) {
        self.0 += "</svg>\n";
        fs::create_dir_all(path.parent().expect("a file")).expect("a directory to write to");
        fs::write(path, self.0).expect("the file is written");
    }
}

/// A number as readers know it: 1,234,567.
pub fn grouped(number: &str) -> String {
    let mut grouped = number.to_owned();
    let first = usize::from(number.starts_with('-'));
    let mut at = number.find('.').unwrap_or(number.len());
    while at > first + 3 {
        at -= 3;
        grouped.insert(at, ',');
    }
    grouped
}
