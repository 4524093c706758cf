//! A picture of horizontal bars, as SVG that is readable on light and dark pages.

use super::tables::figure;

/// One bar.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) name: String,
    /// `None` where there is no figure; the name says why.
    pub(super) value: Option<f64>,
    pub(super) is_ours: bool,
}

/// Bars on one linear scale from zero.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    /// Whose the bars are that are not ours.
    pub(super) peers: &'static str,
    /// What stands behind a figure.
    pub(super) sign: &'static str,
    /// Where the scale ends; a longer bar is drawn broken.
    pub(super) end: f64,
    /// Bars that belong together; space is left between groups.
    pub(super) groups: Vec<Vec<Bar>>,
}

const WIDTH: f64 = 760.0;
/// Where the bars begin, and how much is left behind the longest for its figure.
const LEFT: f64 = 270.0;
const RIGHT: f64 = 70.0;
const LONGEST: f64 = WIDTH - LEFT - RIGHT;
const ROW: f64 = 19.0;
const BAR: f64 = 13.0;
const GAP: f64 = 8.0;
const TOP: f64 = 84.0;

/// The picture brings its own ground: the page around it may be dark where the system is light.
const STYLE: &str = "text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1f2328}\
    .ground{fill:#fff;stroke:#d1d9e0}.title{font-size:15px;font-weight:600}.unit{font-size:12px;fill:#59636e}\
    .name{text-anchor:end}.bold{font-weight:600}.ours{fill:#bc4c00}.peer{fill:#8c959f}.break{stroke:#fff;stroke-width:3}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117;stroke:#3d444d}.unit{fill:#9198a1}\
    .ours{fill:#f0883e}.peer{fill:#656c76}.break{stroke:#0d1117}}";

impl Chart {
    /// Returns the picture.
    pub(super) fn svg(&self) -> String {
        let all = self.groups.iter().flatten().filter_map(|bar| bar.value);
        let scale = all.fold(f64::MIN_POSITIVE, f64::max).min(self.end);
        let (mut y, mut rows) = (TOP, String::new());
        for (at, group) in self.groups.iter().enumerate() {
            y += if at == 0 { 0.0 } else { GAP };
            for bar in group {
                rows += &bar.row(y, scale, self.sign);
                y += ROW;
            }
        }
        let height = y + 10.0;
        let [title, unit, peers] = [self.title, self.unit, self.peers].map(escaped);
        let (edge_x, edge_y) = (WIDTH - 1.0, height - 1.0);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
             <rect class=\"ground\" x=\"0.5\" y=\"0.5\" width=\"{edge_x}\" height=\"{edge_y}\" rx=\"6\"/>\n\
             <text class=\"title\" x=\"16\" y=\"26\">{title}</text>\n\
             <text class=\"unit\" x=\"16\" y=\"46\">{unit}; a shorter bar is better</text>\n\
             <rect class=\"ours\" x=\"16\" y=\"57\" width=\"10\" height=\"10\" rx=\"2\"/>\
             <text class=\"unit\" x=\"32\" y=\"66\">forgeline</text>\
             <rect class=\"peer\" x=\"110\" y=\"57\" width=\"10\" height=\"10\" rx=\"2\"/>\
             <text class=\"unit\" x=\"126\" y=\"66\">{peers}</text>\n{rows}</svg>\n"
        )
    }
}

impl Bar {
    /// Returns the row at height `y`, on a scale that ends at `scale`.
    fn row(&self, y: f64, scale: f64, sign: &str) -> String {
        let (class, weight) = if self.is_ours { ("ours", " bold") } else { ("peer", "") };
        let (text_y, name_x) = (y + 11.0, LEFT - 8.0);
        let name = escaped(&self.name);
        let name =
            format!("<text class=\"name{weight}\" x=\"{name_x}\" y=\"{text_y}\">{name}</text>");
        let Some(value) = self.value else { return name + "\n" };
        let width = ((value / scale).min(1.0) * LONGEST).max(1.0);
        let end = LEFT + width + 6.0;
        let broken = if value > scale { cut(y) } else { String::new() };
        let value = figure(value);
        format!(
            "{name}<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/>\
             {broken}<text class=\"value{weight}\" x=\"{end:.1}\" y=\"{text_y}\">{value}{sign}</text>\n"
        )
    }
}

/// Returns two slanted cuts near the end of the bar at height `y`.
fn cut(y: f64) -> String {
    let (top, bottom) = (y - 1.0, y + BAR + 1.0);
    [24.0, 16.0]
        .map(|back| LEFT + LONGEST - back)
        .map(|x| {
            let right = x + 6.0;
            format!(
                "<line class=\"break\" x1=\"{x}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{top}\"/>"
            )
        })
        .concat()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(bars: &[(&str, Option<f64>)], end: f64) -> String {
        let bar = |&(name, value): &(&str, Option<f64>)| Bar {
            name: name.to_owned(),
            value,
            is_ours: name == "ours",
        };
        let groups = vec![bars.iter().map(bar).collect()];
        Chart { title: "Title", unit: "a unit", peers: "peers", sign: " ×", end, groups }.svg()
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let bars = [("ours", Some(25.0)), ("<theirs>", Some(100.0)), ("wrong", None)];
        let svg = svg(&bars, f64::INFINITY);
        assert!(svg.contains("class=\"ours\" x=\"270\" y=\"84\" width=\"105.0\""), "{svg}");
        assert!(svg.contains("class=\"peer\" x=\"270\" y=\"103\" width=\"420.0\""), "{svg}");
        assert!(svg.contains("&lt;theirs&gt;") && svg.contains(">100 ×<"), "{svg}");
        assert!(svg.contains(">wrong</text>\n"), "{svg}");
        assert!(!svg.contains("class=\"break\""), "{svg}");
    }

    #[test]
    fn a_bar_beyond_the_scale_is_broken_and_keeps_its_figure() {
        let svg = svg(&[("ours", Some(2.0)), ("theirs", Some(4_000.0))], 40.0);
        assert!(svg.contains("width=\"21.0\"") && svg.contains("width=\"420.0\""), "{svg}");
        assert!(svg.contains("class=\"break\"") && svg.contains(">4,000 ×<"), "{svg}");
    }
}
