//! The common part of the pictures of the documents: colors, on light pages and on dark ones, fonts,
//! and a title for those who cannot see the picture. The simulation draws with it, too.

use std::fs;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

pub const INK: RGBColor = RGBColor(31, 35, 40);
pub const PAPER: RGBColor = RGBColor(255, 255, 255);
pub const GRID: RGBColor = RGBColor(225, 228, 232);
pub const BLUE: RGBColor = RGBColor(31, 111, 235);
pub const ORANGE: RGBColor = RGBColor(191, 97, 0);
pub const GRAY: RGBColor = RGBColor(110, 119, 129);

/// The colors on dark pages.
const DARK: [(RGBColor, RGBColor); 6] = [
    (INK, RGBColor(230, 237, 243)),
    (PAPER, RGBColor(13, 17, 23)),
    (GRID, RGBColor(48, 54, 61)),
    (BLUE, RGBColor(68, 147, 248)),
    (ORANGE, RGBColor(219, 109, 40)),
    (GRAY, RGBColor(139, 148, 158)),
];

const FONT: &str = "sans-serif";
/// plotters writes a font's size divided by this.
const FONT_SCALE: f64 = 1.24;

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The font of texts.
pub fn font(color: &RGBColor) -> TextStyle<'static> {
    (FONT, 14.0 * FONT_SCALE).into_font().color(color)
}

/// The font of titles.
pub fn bold() -> TextStyle<'static> {
    (FONT, 15.0 * FONT_SCALE, FontStyle::Bold).into_font().color(&INK)
}

/// Draws a picture of this height into an SVG file, at the width at which GitHub shows it, so that its
/// text is not scaled.
pub fn draw(path: &Path, title: &str, height: u32, draw: impl FnOnce(&Area)) {
    let mut picture = String::new();
    {
        let root = SVGBackend::with_string(&mut picture, (840, height)).into_drawing_area();
        root.fill(&PAPER).expect("drawn");
        draw(&root);
        root.present().expect("drawn");
    }
    // plotters cannot write these elements. They belong at the beginning of <svg>.
    let begin = picture.find('>').expect("an element") + 1;
    picture.insert_str(begin, &head(title));
    fs::create_dir_all(path.parent().expect("a file")).expect("a directory to write to");
    fs::write(path, picture).expect("the file is written");
}

fn head(title: &str) -> String {
    let hex = |RGBColor(red, green, blue)| format!("#{red:02X}{green:02X}{blue:02X}");
    let rules: String = DARK
        .into_iter()
        .map(|(light, dark)| {
            let (light, dark) = (hex(light), hex(dark));
            ["fill", "stroke"]
                .map(|what| format!("  [{what}=\"{light}\"] {{ {what}: {dark} }}\n"))
                .concat()
        })
        .collect();
    format!(
        "\n<title>{title}</title>\n\
         <style>\n@media (prefers-color-scheme: dark) {{\n{rules}}}\n</style>"
    )
}
