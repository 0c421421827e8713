//! Paces the calls of a run to the rate limit of the adapter.
//!
//! After one call exceeded a limit, all calls wait together. From then on, they keep an interval that the limit allows.

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::call::{Exchange, rate_limit_code};
use crate::cases::Skip;
use crate::sync::lock;
use crate::wire::{Answer, NoResponse};

/// Maximum interval between calls.
const MAX_INTERVAL: Duration = Duration::from_secs(10);
/// Minimum interval after an adapter has rejected a call.
const MIN_INTERVAL: Duration = Duration::from_millis(2);
/// Maximum total wait of one call for its retries. It covers a window of one minute.
pub(crate) const MAX_CALL_WAIT: Duration = Duration::from_secs(65);
/// Maximum total wait of one call for its retries if the limit applies only to some calls.
const MAX_PARTIAL_WAIT: Duration = Duration::from_secs(30);
/// Minimum wait before the retry of a rate-limited call.
const MIN_RETRY_WAIT: Duration = Duration::from_millis(50);
/// Wait before a retry if the rejection does not state one.
const DEFAULT_RETRY_WAIT: Duration = Duration::from_secs(1);
/// Maximum window with evenly spread calls. Longer windows belong to quotas.
const MAX_WINDOW: Duration = Duration::from_secs(60);
/// Maximum window over which calls are spread before the first rejection.
const MAX_SPREAD_WINDOW: Duration = Duration::from_secs(10);
/// Maximum factor by which a rate limit prolongs the run.
const MAX_PROLONGATION: u32 = 6;
/// Number of accepted calls after which a measured interval is shortened a little.
const CALLS_BEFORE_SPEEDUP: u32 = 20;

/// A rejection because of too many calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// Time after which the call may be repeated.
    pause: Duration,
    stated: Option<StatedLimit>,
}

/// A limit stated by the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StatedLimit {
    /// Interval between calls that the limit allows.
    interval: Duration,
    window: Duration,
}

impl RateLimit {
    /// A rejection that does not state when to repeat the call.
    const UNSTATED: Self = Self { pause: DEFAULT_RETRY_WAIT, stated: None };

    /// Returns the rejection in the reply to a call, if the call may be repeated.
    ///
    /// For `introspect`, a rejection needs no stated time: only the rate of the adapter limits it, so repeating helps.
    pub(crate) fn of(exchange: &Exchange) -> Option<Self> {
        if let Some(NoResponse::Status(429)) = exchange.no_response() {
            return Some(Self::UNSTATED);
        }
        let is_limited = exchange.rate_limit_code().is_some();
        let is_introspect = exchange.operation() == "introspect";
        let unstated = (is_limited && is_introspect).then_some(Self::UNSTATED);
        exchange.body().and_then(Self::of_body).or(unstated)
    }

    /// Returns the rejection in the answer to a raw request. Raw requests call `introspect`, or operations that do not
    /// exist.
    pub(crate) fn of_answer(answer: &Answer) -> Option<Self> {
        match answer {
            Answer::Result(result) => {
                let text = result.pointer("/content/0/text").and_then(Value::as_str);
                let text = text.filter(|text| text.contains("RATE_LIMIT_"))?;
                let body = serde_json::from_str(text).ok()?;
                let unstated = rate_limit_code(&body).map(|_| Self::UNSTATED);
                Self::of_body(&body).or(unstated)
            }
            Answer::NoResponse(NoResponse::Status(429)) => Some(Self::UNSTATED),
            Answer::Error { .. } | Answer::NoResponse(_) => None,
        }
    }

    fn of_body(body: &Value) -> Option<Self> {
        let error = body.get("error")?;
        let code = error.get("code").and_then(Value::as_str)?;
        if !code.starts_with("RATE_LIMIT_") {
            return None;
        }
        let details = error.get("details")?;
        let seconds = details.get("retry_after_seconds").and_then(Value::as_f64)?;
        let pause = Duration::try_from_secs_f64(seconds).ok()?.max(MIN_RETRY_WAIT);
        Some(Self { pause, stated: StatedLimit::read(details) })
    }
}

impl StatedLimit {
    /// Parses `limit` and `window`. The window is a unit, a string such as `10s`, or a number of seconds.
    ///
    /// ```json
    /// { "limit": 100, "window": "10s" }
    /// ```
    pub(crate) fn read(limit: &Value) -> Option<Self> {
        let calls = limit.get("limit").and_then(Value::as_f64).filter(|calls| *calls >= 1.0)?;
        let seconds = match limit.get("window")? {
            Value::Number(seconds) => seconds.as_f64()?,
            Value::String(window) => seconds_of(window)?,
            _ => return None,
        };
        let window = Duration::try_from_secs_f64(seconds).ok()?;
        let interval = with_margin(window.div_f64(calls));
        (window <= MAX_WINDOW).then_some(Self { interval, window })
    }
}

fn seconds_of(window: &str) -> Option<f64> {
    let digits = window.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(window.len());
    let (count, unit) = window.split_at(digits);
    let count = if count.is_empty() { 1.0 } else { count.parse().ok()? };
    match unit.trim() {
        "ms" => Some(count / 1_000.0),
        "" | "s" | "sec" | "second" | "seconds" => Some(count),
        "m" | "min" | "minute" | "minutes" => Some(count * 60.0),
        _ => None,
    }
}

/// Adds a margin to an interval, because calls do not arrive at equal distances.
fn with_margin(interval: Duration) -> Duration {
    (interval + interval / 20).clamp(MIN_INTERVAL, MAX_INTERVAL)
}

/// Paces calls. Calls only wait after a rejection, or if the adapter states a limit.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    pace: Mutex<Pace>,
    /// Duration of the first mode.
    mode_time: OnceLock<Duration>,
    /// Message about the end of the run's time. It is computed once, so all checks report the same reason.
    out_of_time: OnceLock<String>,
}

#[derive(Debug, Default)]
struct Pace {
    /// Time between the starts of two calls.
    interval: Duration,
    /// Interval stated by the adapter.
    stated: Option<Duration>,
    /// Earliest start of the next call.
    next: Option<Instant>,
    /// End of the last required pause.
    paused_until: Option<Instant>,
    /// If `true`, the interval must be determined anew after the pause.
    was_rejected: bool,
    /// Accepted calls and the time since the last pause.
    accepted: u32,
    since: Option<Instant>,
    /// Weighted calls and seconds of the earlier cycles. Later cycles have a higher weight.
    calls: f64,
    seconds: f64,
    /// Calls accepted since the last change of the interval.
    undisturbed: u32,
    /// Start of the first call, and the number of calls accepted since.
    begun: Option<Instant>,
    total: u64,
}

impl Pace {
    /// Returns `true` if the accepted calls may have used up a limit. If many more calls were accepted than the limit
    /// allows, it does not apply to all calls.
    fn may_have_reached(&self, limit: RateLimit) -> bool {
        let (Some(stated), Some(begun)) = (limit.stated, self.begun) else { return true };
        let time = begun.elapsed().max(stated.window);
        let allowed = time.as_secs_f64() / stated.interval.as_secs_f64();
        // Around the end of a fixed window, twice as many calls are allowed.
        f64::from(u32::try_from(self.total).unwrap_or(u32::MAX)) <= allowed * 2.0
    }

    /// Determines the interval after a pause.
    ///
    /// Uses the stated limit, or else the number of calls accepted until the end of the pause.
    fn adapt(&mut self, now: Instant) {
        let cycle = self.since.map_or(Duration::ZERO, |since| now.duration_since(since));
        self.calls = self.calls / 2.0 + f64::from(self.accepted);
        self.seconds = self.seconds / 2.0 + cycle.as_secs_f64();
        self.interval = match self.stated.filter(|stated| self.interval < *stated) {
            Some(stated) => stated,
            None => {
                let measured = Duration::try_from_secs_f64(self.seconds / self.calls.max(1.0));
                with_margin(measured.unwrap_or(MAX_INTERVAL)).max(self.stated.unwrap_or_default())
            }
        };
        self.was_rejected = false;
        self.accepted = 0;
        self.undisturbed = 0;
        self.since = Some(now);
    }
}

impl Pacer {
    /// Waits until the next call may start.
    pub(crate) async fn turn(&self) {
        loop {
            let now = Instant::now();
            let start = {
                let mut pace = lock(&self.pace);
                pace.since.get_or_insert(now);
                pace.begun.get_or_insert(now);
                let is_paused = pace.paused_until.is_some_and(|until| now < until);
                if pace.was_rejected && !is_paused {
                    pace.adapt(now);
                    pace.next = Some(now);
                }
                let start = pace.next.map_or(now, |next| next.max(now));
                match pace.paused_until.filter(|until| start < *until) {
                    Some(until) => until,
                    None => {
                        pace.next = Some(start + pace.interval);
                        if start <= now {
                            return;
                        }
                        start
                    }
                }
            };
            tokio::time::sleep_until(start).await;
            // Check again, because another call may have been rejected in the meantime.
            let pace = lock(&self.pace);
            if !pace.was_rejected && pace.paused_until.is_none_or(|until| until < start) {
                return;
            }
        }
    }

    /// Records an accepted call.
    pub(crate) fn accept(&self) {
        let mut pace = lock(&self.pace);
        pace.accepted = pace.accepted.saturating_add(1);
        pace.total = pace.total.saturating_add(1);
        pace.undisturbed += 1;
        if pace.undisturbed >= CALLS_BEFORE_SPEEDUP && pace.stated.is_none() {
            pace.interval = pace.interval.mul_f64(0.9);
            pace.undisturbed = 0;
        }
    }

    /// Makes all calls wait after a rejection. Calls sent together are rejected together and count as one rejection.
    pub(crate) fn slow_down(&self, limit: RateLimit) {
        let mut pace = lock(&self.pace);
        pace.paused_until = pace.paused_until.max(Some(Instant::now() + limit.pause));
        pace.stated = pace.stated.max(limit.stated.map(|stated| stated.interval));
        pace.was_rejected = true;
    }

    /// Applies a limit documented by the adapter.
    ///
    /// With a short window, calls are spread from the start. A long window is used up first, because many runs need
    /// fewer calls than it allows.
    pub(crate) fn keep(&self, limit: StatedLimit) {
        let mut pace = lock(&self.pace);
        pace.stated = pace.stated.max(Some(limit.interval));
        if limit.window <= MAX_SPREAD_WINDOW {
            pace.interval = pace.interval.max(limit.interval);
        }
    }

    /// Returns the time between calls if the adapter limits their rate.
    pub(crate) fn interval(&self) -> Option<Duration> {
        let pace = lock(&self.pace);
        let is_limited = pace.stated.is_some() || pace.paused_until.is_some();
        is_limited.then_some(pace.interval)
    }

    /// Returns the end of a run. The end is later if the adapter limits the rate of calls.
    pub(crate) fn prolonged(&self, until: Instant, limit: Duration) -> Instant {
        match self.interval() {
            Some(_) => until + limit * (MAX_PROLONGATION - 1),
            None => until,
        }
    }

    /// Records the time that all checks of the first mode took.
    pub(crate) fn end_mode(&self, took: Duration) {
        if self.out_of_time.get().is_none() {
            self.mode_time.get_or_init(|| took);
        }
    }

    /// Returns the message about the end of the run's time: the cause, and the setting that allows more.
    pub(crate) fn out_of_time(&self, limit: Duration) -> String {
        self.out_of_time.get_or_init(|| self.explain_end(limit)).clone()
    }

    fn explain_end(&self, limit: Duration) -> String {
        let setting = "under [limits] of the configuration file";
        if self.interval().is_none() {
            return format!(
                "the time of the run was over after {} seconds: increase `run_seconds` {setting}",
                limit.as_secs()
            );
        }
        let (begun, calls) = {
            let pace = lock(&self.pace);
            (pace.begun, pace.total)
        };
        let seconds = begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64()).max(0.001);
        let rate = f64::from(u32::try_from(calls).unwrap_or(u32::MAX)) / seconds;
        let needed = self.mode_time.get().map(|first| *first * 2 * 21 / 20);
        let total = needed.unwrap_or(limit * MAX_PROLONGATION * 2);
        // Round up to steps of 10 seconds, because the needed time is an estimate.
        let run_seconds = (total / MAX_PROLONGATION).as_secs() / 10 * 10 + 10;
        let what = match needed {
            Some(_) => "both endpoint modes take about",
            None => "the whole run takes more than",
        };
        let minutes = match needed {
            Some(total) => total,
            None => limit * MAX_PROLONGATION,
        };
        format!(
            "the time of the run was over: the adapter limits the rate to about {rate:.1} calls a second, \
             and at this rate {what} {} minutes; set `run_seconds = {run_seconds}` {setting} (a run with a \
             rate limit may last {MAX_PROLONGATION} times as long), or raise the adapter's limit for the test",
            minutes.as_secs().div_ceil(60)
        )
    }

    /// Makes a raw request at the pace of the adapter. Repeats it while the rate limit rejects it.
    ///
    /// # Errors
    ///
    /// Returns the reason to skip the case if the limit rejects the request for too long.
    pub(crate) async fn answer<F: Future<Output = Answer>>(
        &self,
        mut send: impl FnMut() -> F,
    ) -> Result<Answer, Skip> {
        let mut waited = Duration::ZERO;
        loop {
            self.turn().await;
            let answer = send().await;
            let Some(limit) = RateLimit::of_answer(&answer) else {
                self.accept();
                return Ok(answer);
            };
            if !self.wait_to_repeat(limit, &mut waited).await {
                return Err(Skip::too_fast("RATE_LIMIT_EXCEEDED"));
            }
        }
    }

    /// Waits and returns `true` if a rejected call is worth another try.
    ///
    /// If the limit applies to all calls, all of them wait. Otherwise only this call waits, for example after too many
    /// confirmations.
    pub(crate) async fn wait_to_repeat(&self, limit: RateLimit, waited: &mut Duration) -> bool {
        let holds_for_all = lock(&self.pace).may_have_reached(limit);
        *waited = waited.saturating_add(limit.pause);
        if *waited > if holds_for_all { MAX_CALL_WAIT } else { MAX_PARTIAL_WAIT } {
            return false;
        }
        if holds_for_all {
            self.slow_down(limit);
        } else {
            tokio::time::sleep(limit.pause).await;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limit(pause: u64, interval: Option<Duration>) -> RateLimit {
        let window = Duration::from_secs(1);
        let stated = interval.map(|interval| StatedLimit { interval, window });
        RateLimit { pause: Duration::from_millis(pause), stated }
    }

    /// Makes calls to a simulated adapter with a rate limit. Returns the total time and the number of rejections.
    async fn simulate(calls: usize, states: bool) -> (Duration, usize) {
        const WINDOW: Duration = Duration::from_millis(100);
        const LIMIT: usize = 5;
        let pacer = Pacer::default();
        let begun = Instant::now();
        let (mut rejected, mut window, mut used) = (0, Instant::now(), 0);
        for _ in 0..calls {
            loop {
                pacer.turn().await;
                let now = Instant::now();
                if now.duration_since(window) >= WINDOW {
                    (window, used) = (now, 0);
                }
                used += 1;
                if used <= LIMIT {
                    pacer.accept();
                    break;
                }
                rejected += 1;
                let interval = with_margin(WINDOW / 5);
                let stated = states.then_some(StatedLimit { interval, window: WINDOW });
                let pause = (window + WINDOW).duration_since(now);
                pacer.slow_down(RateLimit { pause, stated });
            }
        }
        (begun.elapsed(), rejected)
    }

    #[tokio::test]
    async fn calls_keep_the_pace_that_an_adapter_accepts() {
        // At this limit, 100 calls take 2 s.
        for (states, max_rejected) in [(true, 4), (false, 15)] {
            let (took, rejected) = simulate(100, states).await;
            assert!(took < Duration::from_millis(3_000), "{took:?}, stated: {states}");
            assert!(rejected <= max_rejected, "{rejected} rejected, stated: {states}");
        }
    }

    #[tokio::test]
    async fn all_calls_wait_after_a_rejected_one() {
        let pacer = Pacer::default();
        pacer.turn().await;
        assert_eq!(pacer.interval(), None, "no call was rejected");
        for _ in 0..5 {
            pacer.slow_down(limit(200, None));
        }
        let paused_until = lock(&pacer.pace).paused_until;
        pacer.turn().await;
        assert!(paused_until.is_some_and(|until| until <= Instant::now()), "the pause is over");
    }

    #[tokio::test]
    async fn a_limit_of_some_calls_does_not_slow_down_the_others() {
        let pacer = Pacer::default();
        pacer.turn().await;
        (0..1_000).for_each(|_| pacer.accept());
        let details = json!({ "limit": 120, "window": "minute", "retry_after_seconds": 57 });
        let body = json!({ "error": { "code": "RATE_LIMIT_EXCEEDED", "details": details } });
        let limit = RateLimit::of_body(&body).unwrap();
        let mut waited = Duration::ZERO;
        assert!(!pacer.wait_to_repeat(limit, &mut waited).await, "it would wait too long");
        let short = RateLimit { pause: Duration::from_millis(50), ..limit };
        waited = Duration::ZERO;
        assert!(pacer.wait_to_repeat(short, &mut waited).await);
        assert_eq!(pacer.interval(), None);
        // The adapter may have counted all of these calls.
        let wide =
            StatedLimit { interval: Duration::from_millis(100), window: Duration::from_secs(60) };
        let limit = RateLimit { stated: Some(wide), ..short };
        assert!(pacer.wait_to_repeat(limit, &mut waited).await);
        assert!(pacer.interval().is_some());
    }

    #[tokio::test]
    async fn the_end_of_the_time_names_the_setting() {
        let limit_of_run = Duration::from_secs(300);
        let free = Pacer::default();
        assert_eq!(
            free.out_of_time(limit_of_run),
            "the time of the run was over after 300 seconds: increase `run_seconds` under [limits] of the \
             configuration file"
        );
        let limited = Pacer::default();
        limited.turn().await;
        limited.slow_down(limit(50, None));
        limited.end_mode(Duration::from_secs(1_200));
        let why = limited.out_of_time(limit_of_run);
        // Both modes take 2,520 s, six times 420 s.
        assert!(why.contains("both endpoint modes take about 42 minutes"), "{why}");
        assert!(why.contains("set `run_seconds = 430`") && !why.contains("  "), "{why}");
        limited.end_mode(Duration::from_secs(1));
        assert_eq!(limited.out_of_time(limit_of_run), why, "all checks have one reason");
        let until = Instant::now();
        assert_eq!(free.prolonged(until, limit_of_run), until);
        assert_eq!(limited.prolonged(until, limit_of_run), until + limit_of_run * 5);
    }

    #[test]
    fn limits_are_read_in_several_forms() {
        for (window, calls, millis) in [
            (json!("second"), 5, Some(210)),
            (json!("1s"), 5, Some(210)),
            (json!("minute"), 60, Some(1_050)),
            (json!(10), 100, Some(105)),
            (json!("hour"), 100, None),
            (json!("x"), 100, None),
            (json!("second"), 0, None),
        ] {
            let limit = json!({ "limit": calls, "window": window });
            let interval = StatedLimit::read(&limit).map(|limit| limit.interval);
            assert_eq!(interval, millis.map(Duration::from_millis), "{limit}");
        }
        let body = json!({ "error": { "code": "RATE_LIMIT_EXCEEDED", "details": {
            "retry_after_seconds": 0.2, "limit": 5, "window": "second",
        } } });
        let expected = limit(200, Some(Duration::from_millis(210)));
        assert_eq!(RateLimit::of_body(&body), Some(expected));
        let other = json!({ "error": { "code": "X", "details": { "retry_after_seconds": 1 } } });
        assert_eq!(RateLimit::of_body(&other), None);
    }

    #[test]
    fn raw_requests_are_repeated_without_a_stated_time() {
        let of_code = |code: &str| {
            let body =
                json!({ "success": false, "error": { "code": code, "message": "slow down" } });
            let content = json!([{ "type": "text", "text": body.to_string() }]);
            RateLimit::of_answer(&Answer::Result(json!({ "content": content })))
        };
        assert_eq!(of_code("RATE_LIMIT_EXCEEDED"), Some(RateLimit::UNSTATED));
        assert_eq!(of_code("VALIDATION_INVALID_TYPE"), None);
    }
}
