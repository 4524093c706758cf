//! Styled lines.

use owo_colors::Style;

use super::escape_controls;

/// The end of the shown text, and the text to append to it.
#[derive(Debug)]
pub(super) struct Screen {
    out: String,
    /// Line feeds at the end of the shown text; two at the start, where no empty line is wanted.
    line_feeds: usize,
}

impl Default for Screen {
    fn default() -> Self {
        Self { out: String::new(), line_feeds: 2 }
    }
}

impl Screen {
    /// Returns the text that was not taken yet.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Returns `true` when the next text starts a line.
    pub(super) fn is_at_line_start(&self) -> bool {
        self.line_feeds > 0
    }

    /// Appends `text`, its control characters escaped, each line indented and styled on its own.
    pub(super) fn text(&mut self, text: &str, indent: &str, style: Style) {
        for piece in escape_controls(text).split_inclusive('\n') {
            let line = piece.strip_suffix('\n').unwrap_or(piece);
            if !line.is_empty() {
                if self.line_feeds > 0 {
                    self.out.push_str(indent);
                }
                self.line_feeds = 0;
                self.out.push_str(&style.style(line).to_string());
            }
            if piece.len() > line.len() {
                self.line_feeds += 1;
                self.out.push('\n');
            }
        }
    }

    /// Ends a line that was begun.
    pub(super) fn end_line(&mut self) {
        if self.line_feeds == 0 {
            self.line_feeds = 1;
            self.out.push('\n');
        }
    }

    /// Ends the line and adds an empty one, unless one is there.
    pub(super) fn empty_line(&mut self) {
        self.end_line();
        if self.line_feeds == 1 {
            self.line_feeds = 2;
            self.out.push('\n');
        }
    }
}
