//! The part of the system prompt that states the time.

use std::{
    fmt,
    future::ready,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_core::future::BoxFuture;

use super::{PromptContext, SystemPrompt};
use forgeline_types::AgentError;

/// The number of seconds in an hour.
const HOUR: u64 = 3_600;

/// The last second whose date has a year of four digits, in seconds since the Unix epoch.
const LAST_SECOND: u64 = 253_402_300_799;

/// Maximum offset of a timezone, in minutes.
const MAX_OFFSET: i16 = 840;

/// The part of the system prompt that states the date, the hour and the timezone.
///
/// The time is rounded down to the hour, so that the prompt, and with it a provider's cache, stays
/// the same for as long. For the same reason this part belongs after all others.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// use forgeline::{agent::{Agent, prompts::ClockPrompt}, llm::demo::DemoProvider};
///
/// let clock = ClockPrompt::new()
///     .offset_minutes(120)
///     .now(|| UNIX_EPOCH + Duration::from_secs(1_000_000_000));
/// let agent = Agent::builder(DemoProvider::new()).system(clock).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Clone)]
pub struct ClockPrompt {
    now: Option<Arc<dyn Fn() -> SystemTime + Send + Sync>>,
    offset: i16,
}

impl ClockPrompt {
    /// Returns the clock of the run, in UTC.
    #[must_use]
    pub fn new() -> Self {
        Self { now: None, offset: 0 }
    }

    /// Sets the offset of the timezone from UTC, between -840 and 840. Default: 0.
    #[must_use]
    pub fn offset_minutes(mut self, offset: i16) -> Self {
        self.offset = offset.clamp(-MAX_OFFSET, MAX_OFFSET);
        self
    }

    /// Sets the function that returns the current time. Default: [`PromptContext::now`].
    #[must_use]
    pub fn now(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.now = Some(Arc::new(now));
        self
    }

    fn text(&self, context: &PromptContext) -> String {
        let now = self.now.as_ref().map_or_else(|| context.now(), |now| now());
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let local = since.saturating_add_signed(i64::from(self.offset) * 60).min(LAST_SECOND);
        let hour = UNIX_EPOCH + Duration::from_secs(local - local % HOUR);
        let written = httpdate::fmt_http_date(hour);
        let written = written.trim_end_matches(":00 GMT");
        let sign = if self.offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (self.offset.abs() / 60, self.offset.abs() % 60);
        format!(
            "## Now\n\n- Date and hour: {written}\n- Timezone: UTC{sign}{hours:02}:{minutes:02}"
        )
    }
}

impl Default for ClockPrompt {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ClockPrompt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClockPrompt").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl SystemPrompt for ClockPrompt {
    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        Box::pin(ready(Ok(self.text(&context))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of the date at a second, in a timezone.
    fn date(second: u64, offset: i16) -> String {
        let now = move || UNIX_EPOCH + Duration::from_secs(second);
        let clock = ClockPrompt::new().offset_minutes(offset).now(now);
        clock.text(&PromptContext::default()).replace("## Now\n\n- ", "")
    }

    // Covers: E-26
    #[test]
    fn the_time_is_rounded_to_the_hour_of_its_timezone() {
        let rows = [
            (1_000_000_000, 0, "Sun, 09 Sep 2001 01:00\n- Timezone: UTC+00:00"),
            (1_000_003_599 - 2_800, 0, "Sun, 09 Sep 2001 01:00\n- Timezone: UTC+00:00"),
            (1_000_000_000, 345, "Sun, 09 Sep 2001 07:00\n- Timezone: UTC+05:45"),
            (1_000_000_000, -120, "Sat, 08 Sep 2001 23:00\n- Timezone: UTC-02:00"),
            (0, -60, "Thu, 01 Jan 1970 00:00\n- Timezone: UTC-01:00"),
            (LAST_SECOND + HOUR, i16::MAX, "Fri, 31 Dec 9999 23:00\n- Timezone: UTC+14:00"),
        ];
        for (second, offset, expected) in rows {
            assert_eq!(date(second, offset), format!("Date and hour: {expected}"));
        }
    }
}
