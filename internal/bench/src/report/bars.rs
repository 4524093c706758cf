//! A picture of horizontal bars, as SVG that is readable on light and dark pages.

use super::tables::figure;

/// One bar.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) is_ours: bool,
}

/// Bars on one linear scale from zero.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) bars: Vec<Bar>,
}

const WIDTH: f64 = 760.0;
/// Where the bars begin, and how much is left behind the longest for its figure.
const LEFT: f64 = 270.0;
const RIGHT: f64 = 80.0;
const ROW: f64 = 22.0;
const TOP: f64 = 58.0;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}\
    .title{font-size:15px;font-weight:600}.unit{font-size:12px;fill:#59636e}\
    .ours{fill:#b5450b}.peer{fill:#8c959f}.name{text-anchor:end}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.unit{fill:#9198a1}.ours{fill:#f0883e}.peer{fill:#656c76}}";

impl Chart {
    /// Returns the picture.
    pub(super) fn svg(&self) -> String {
        let longest = self.bars.iter().map(|bar| bar.value).fold(1.0, f64::max);
        let mut height = TOP;
        let mut rows = Vec::new();
        for bar in &self.bars {
            rows.push(bar.row(height, bar.value / longest));
            height += ROW;
        }
        let (rows, height) = (rows.concat(), height + 10.0);
        let [title, unit] = [self.title, self.unit].map(escaped);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
             <text class=\"title\" x=\"16\" y=\"24\">{title}</text>\n\
             <text class=\"unit\" x=\"16\" y=\"43\">{unit}; less is better</text>\n{rows}</svg>\n"
        )
    }
}

impl Bar {
    /// Returns the row at height `y`, with a bar of this part of the width.
    fn row(&self, y: f64, part: f64) -> String {
        let width = (part * (WIDTH - LEFT - RIGHT)).max(1.0);
        let (class, name) = (if self.is_ours { "ours" } else { "peer" }, escaped(&self.name));
        let (text_y, end, name_x) = (y + 13.0, LEFT + width + 6.0, LEFT - 8.0);
        let value = figure(self.value);
        format!(
            "<text class=\"name\" x=\"{name_x}\" y=\"{text_y}\">{name}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"16\" rx=\"2\"/>\
             <text x=\"{end:.1}\" y=\"{text_y}\">{value}</text>\n"
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
