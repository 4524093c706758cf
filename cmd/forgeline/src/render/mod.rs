//! Events as text for people: pure functions, testable without a terminal.

mod answer;
mod approval;
mod below;
mod context;
mod escape;
mod fold;
mod notice;
mod renderer;
mod screen;
mod summary;

pub use answer::AnswerText;
pub(crate) use escape::SafeJson;
pub use escape::escape_controls;
pub use renderer::EventRenderer;
pub use summary::{completion_summary, left_line, usage_line};
