//! Draws the table as a bar chart. Each ratio has a bar and its target.

use std::fmt::Write as _;

use crate::table::{Row, Target};

const TEXT: f64 = 430.0;
const WIDTH: f64 = 900.0;
const LINE: f64 = 24.0;
const TOP: f64 = 44.0;
/// The decades of the logarithmic axis, as powers of ten: from 0.01 to 10.
const DECADES: (f64, f64) = (-2.0, 1.0);

/// Returns the horizontal position of a ratio.
fn place(ratio: f64) -> f64 {
    let (low, high) = DECADES;
    let decade = ratio.max(f64::MIN_POSITIVE).log10().clamp(low, high);
    TEXT + (decade - low) / (high - low) * (WIDTH - TEXT - 70.0)
}

/// Draws all rows with a ratio, as SVG.
pub(crate) fn svg(rows: &[Row]) -> String {
    let shown: Vec<_> = rows.iter().filter_map(|row| Some((row, row.ratio()?))).collect();
    let height = TOP + LINE * shown.len() as f64 + 16.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <title>mcp-aql compared with its peers, as ratios</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for ratio in [0.01, 0.1, 1.0, 10.0] {
        let x = place(ratio);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"30\" y2=\"{:.1}\" stroke=\"#d0d7de\"/>\
             <text x=\"{x:.1}\" y=\"22\" text-anchor=\"middle\" fill=\"#57606a\">{ratio}</text>",
            height - 12.0
        );
    }
    for (index, (row, ratio)) in shown.into_iter().enumerate() {
        bar(&mut svg, TOP + LINE * index as f64, row, ratio);
    }
    svg.push_str("</svg>\n");
    svg
}

fn bar(svg: &mut String, top: f64, row: &Row, ratio: f64) {
    let (from, to) = (place(1.0).min(place(ratio)), place(1.0).max(place(ratio)));
    let colour = if row.is_met() { "#2da44e" } else { "#cf222e" };
    let middle = top + 4.5;
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\" fill=\"#24292f\">{}</text>\
         <rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\" fill=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{middle:.1}\" fill=\"#24292f\">{ratio:.2}</text>",
        TEXT - 12.0,
        escape(&row.what),
        top - 7.0,
        (to - from).max(1.0),
        WIDTH - 50.0,
    );
    if let Target::AtMost(target) | Target::AtLeast(target) = row.target {
        let x = place(target);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#24292f\" \
             stroke-width=\"2\"/>",
            top - 9.0,
            top + 9.0
        );
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_is_logarithmic_and_ends_hold_what_lies_beyond() {
        let step = place(1.0) - place(0.1);
        assert!((place(10.0) - place(1.0) - step).abs() < 1e-9);
        assert_eq!(place(0.0).to_bits(), place(0.01).to_bits());
        assert_eq!(place(1e9).to_bits(), place(10.0).to_bits());
    }
}
