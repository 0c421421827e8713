//! Checks of limits on requests and results.

use serde_json::{Map, Value, json};

use super::encoding::is_free;
use super::shapes::is_batch;
use super::{Check, checks};
use crate::adapter::{Operation, Parameter};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding};
use crate::run::{Run, arguments};
use crate::shape::Shape;

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "limits.request_size" => Reads(request_size), ["REQ-ENC-08", "REQ-ENC-13"],
        "A request may have up to the stated size";
    Must 1 "limits.string_length" => Reads(string_length), ["REQ-ENC-10", "REQ-ENC-13"],
        "A string may have up to the stated length";
    Must 1 "limits.array_elements" => Reads(array_elements), ["REQ-ENC-11", "REQ-ENC-13"],
        "A list may have up to the stated number of elements";
    Must 1 "limits.nesting_depth" => Reads(nesting_depth), ["REQ-ENC-12", "REQ-ENC-13"],
        "A request may have up to the stated nesting depth";
    Must 1 "limits.response_size" => Every(response_size), ["REQ-ENC-09"],
        "Results are not larger than stated",
        fix: "return VALIDATION_PAYLOAD_TOO_LARGE with `limit_type` response_size, and name the parameters that \
         reduce the result";
    Must 1 "limits.details" => Every(details), ["REQ-ENC-13"],
        "VALIDATION_PAYLOAD_TOO_LARGE states the exceeded limit, the actual value and the unit",
        fix: "state the exceeded limit in the details, with the protocol's names";
];

/// One of the five limits of the protocol.
/// If you add a limit, add its names to [`words`](Self::words) and its bounds to [`range`](Self::range).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Request,
    Response,
    Text,
    List,
    Depth,
}

impl Limit {
    pub(super) const ALL: [Self; 5] =
        [Self::Request, Self::Response, Self::Text, Self::List, Self::Depth];

    /// Returns `limit_type`, the member of `_protocol.limits`, and `unit`.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Request => ("request_size", "max_request_size", "bytes"),
            Self::Response => ("response_size", "max_response_size", "bytes"),
            Self::Text => ("string_length", "max_string_length", "bytes"),
            Self::List => ("array_elements", "max_array_elements", "elements"),
            Self::Depth => ("nesting_depth", "max_nesting_depth", "levels"),
        }
    }

    /// Returns the member of `_protocol.limits`.
    pub(super) const fn member(self) -> &'static str {
        self.words().1
    }

    /// Returns the minimum and the maximum that the protocol allows for this limit.
    pub(super) const fn range(self) -> (usize, usize) {
        match self {
            Self::Request | Self::Text => (64 << 10, 10 << 20),
            Self::Response => (1 << 20, 100 << 20),
            Self::List => (100, 100_000),
            Self::Depth => (8, 64),
        }
    }

    const fn name(self) -> &'static str {
        self.words().0
    }

    /// Returns the limit stated in `_protocol`, if any.
    ///
    /// Values outside the allowed range are ignored, because `introspection.limits_in_range` reports them.
    ///
    /// ```json
    /// { "limits": { "max_string_length": 1048576, "max_nesting_depth": 16 } }
    /// ```
    fn stated(self, run: &Run) -> Option<usize> {
        let limits = run.adapter.protocol().get("limits");
        let stated = limits.and_then(|limits| limits.get(self.member())?.as_u64())?;
        let (least, most) = self.range();
        usize::try_from(stated).ok().filter(|stated| (least..=most).contains(stated))
    }

    /// Returns the largest value that the adapter must accept.
    fn least(self, run: &Run) -> usize {
        self.stated(run).unwrap_or(self.range().0)
    }

    /// Returns the largest value that the adapter may accept.
    fn most(self, run: &Run) -> usize {
        self.stated(run).unwrap_or(self.range().1)
    }
}

/// Tolerance for differences in measuring, in bytes. Adapters may re-encode the request.
const MARGIN: usize = 2_048;

/// Returns a harmless callable operation, its parameters, and the parameter for the payload selected by `wants`.
///
/// Prefers other operations to `introspect`, because its failures have no details.
fn carrier(
    run: &Run,
    wants: impl Fn(&Parameter) -> bool,
) -> Option<(&Operation, Map<String, Value>, Option<&Parameter>)> {
    let introspect = run.adapter.operation("introspect").into_iter();
    let valid = run.reads_by_time().into_iter().chain(introspect).filter_map(|operation| {
        let params = match operation.name.as_str() {
            "introspect" => Map::from_iter([("query".to_owned(), json!("operations"))]),
            _ => run.with_missing_ids(operation).ok()?,
        };
        Some((operation, params, operation.parameters.iter().find(|parameter| wants(parameter))))
    });
    let mut any = None;
    for found in valid {
        if found.2.is_some() {
            return Some(found);
        }
        any = any.or(Some(found));
    }
    any
}

/// A member of requests that adapters measure but do not interpret.
const LEFT_ALONE: &str = "_conformance_probe";

/// Creates a call with a payload in this parameter, or next to all parameters if there is none.
fn call(
    (operation, params, parameter): &(&Operation, Map<String, Value>, Option<&Parameter>),
    payload: Value,
) -> Value {
    let mut params = params.clone();
    let name = parameter.map_or(LEFT_ALONE, |parameter| parameter.name.as_str());
    params.insert(name.to_owned(), payload);
    arguments(&operation.name, params)
}

fn is_too_large(exchange: &Exchange) -> bool {
    exchange.code() == Some("VALIDATION_PAYLOAD_TOO_LARGE") || exchange.was_too_long()
}

/// Returns `true` if the reply rejects the payload for its size, and names either this limit or none.
///
/// ```json
/// { "code": "VALIDATION_PAYLOAD_TOO_LARGE", "message": "…", "details": {
///     "limit_type": "string_length", "limit_value": 65536, "actual_value": 65537, "unit": "bytes" } }
/// ```
fn is_beyond(exchange: &Exchange, limit: Limit) -> bool {
    let reported =
        exchange.failure().and_then(|failure| failure.details.get("limit_type")?.as_str());
    is_too_large(exchange) && reported.is_none_or(|reported| reported == limit.name())
}

/// Returns the subject of a finding.
fn subject(exchange: &Exchange, limit: Limit) -> String {
    format!("{}: {}", exchange.operation(), limit.name())
}

/// Checks that a payload within the limit is not rejected for its size. Other failures are acceptable.
async fn within(run: &Run, limit: Limit, tool: &str, arguments: Value, cases: &Cases) {
    let Some(exchange) = run.refused(tool, arguments, cases).await else { return };
    let is_unheard = matches!(exchange.reply, Reply::Protocol { .. });
    cases.expect(!is_too_large(&exchange) && !is_unheard, || {
        let least = limit.least(run);
        Finding::of(&exchange, subject(&exchange, limit))
            .expected(format!(
                "no failure for the size, because {} is at least {least}",
                limit.name()
            ))
            .fix("accept payloads up to `_protocol.limits`, or state a lower limit")
    });
}

/// Checks that a payload beyond the limit is rejected for its size.
///
/// Set `is_large` if the whole request may exceed its own limit. A rejection then does not prove this limit.
async fn beyond(
    run: &Run,
    limit: Limit,
    tool: &str,
    (arguments, is_large): (Value, bool),
    cases: &Cases,
) {
    let Some(exchange) = run.refused(tool, arguments, cases).await else { return };
    if is_large && is_too_large(&exchange) && !is_beyond(&exchange, limit) {
        return;
    }
    // The list of strings may exceed another limit first.
    let is_refused = match limit {
        Limit::Request => is_too_large(&exchange),
        _ => is_beyond(&exchange, limit),
    };
    cases.expect(is_refused, || {
        let most = limit.most(run);
        Finding::of(&exchange, subject(&exchange, limit))
            .expected(format!(
                "a failure VALIDATION_PAYLOAD_TOO_LARGE, because {} is at most {most} by \
                 `_protocol.limits` or the protocol",
                limit.name()
            ))
            .fix("measure the arguments of a call before any other processing")
    });
}

async fn request_size(run: &Run, cases: &Cases) {
    let _turn = run.heavy().await;
    let Some(carrier) = carrier(run, |_| false) else { return };
    // The strings and their list stay within the other limits.
    let filled = |size: usize| {
        let piece = (Limit::Text.least(run) / 2).clamp(1, 16 << 10);
        let empty = call(&carrier, json!([])).to_string().len();
        let mut left = size.saturating_sub(empty);
        let mut pieces = Vec::new();
        while left > 3 {
            let length = piece.min(left - 3);
            pieces.push(Value::String("x".repeat(length)));
            left -= length + 3;
        }
        call(&carrier, pieces.into())
    };
    let tool = &carrier.0.tool;
    let (least, most) = (Limit::Request.least(run), Limit::Request.most(run));
    within(run, Limit::Request, tool, filled(least.saturating_sub(MARGIN)), cases).await;
    beyond(run, Limit::Request, tool, (filled(most.saturating_add(MARGIN)), false), cases).await;
}

async fn string_length(run: &Run, cases: &Cases) {
    let _turn = run.heavy().await;
    let is_roomy =
        |parameter: &Parameter| is_free(run, parameter) && parameter.member("maxLength").is_none();
    let Some(carrier) = carrier(run, is_roomy) else { return };
    let tool = &carrier.0.tool;
    // The request itself must stay within its own limit.
    let least = Limit::Text.least(run).min(Limit::Request.least(run).saturating_sub(MARGIN));
    let most = Limit::Text.most(run);
    within(run, Limit::Text, tool, call(&carrier, "x".repeat(least).into()), cases).await;
    let is_large = most + MARGIN > Limit::Request.least(run);
    let text = call(&carrier, "x".repeat(most + 1).into());
    beyond(run, Limit::Text, tool, (text, is_large), cases).await;
}

async fn array_elements(run: &Run, cases: &Cases) {
    let _turn = run.heavy().await;
    let Some(carrier) = carrier(run, |parameter| parameter.kind == "array") else { return };
    let element = carrier
        .2
        .and_then(|parameter| Shape::of(&run.adapter, parameter).items()?.made(0))
        .filter(|element| !element.is_array() && !element.is_object())
        .unwrap_or_else(|| json!(1));
    let (least, most) = (Limit::List.least(run), Limit::List.most(run));
    let list = |length: usize| call(&carrier, Value::from(vec![element.clone(); length]));
    let tool = &carrier.0.tool;
    // Many elements may exceed the size limit of requests.
    let size = list(least + 1).to_string().len() + MARGIN;
    if size > Limit::Request.least(run) {
        return cases.not_applicable("a list beyond the limit exceeds the size limit of requests");
    }
    within(run, Limit::List, tool, list(least), cases).await;
    let list = list(most + 1);
    let is_large = list.to_string().len() + MARGIN > Limit::Request.least(run);
    beyond(run, Limit::List, tool, (list, is_large), cases).await;
}

async fn nesting_depth(run: &Run, cases: &Cases) {
    let Some(carrier) = carrier(run, |parameter| parameter.kind == "object") else { return };
    // The arguments are the first level, and `params` is the second.
    let nested = |levels: usize| {
        let mut value = json!({});
        for _ in 3..levels {
            value = json!({ "a": value });
        }
        call(&carrier, value)
    };
    let (least, most) = (Limit::Depth.least(run), Limit::Depth.most(run));
    let tool = &carrier.0.tool;
    // Allow two levels of difference, because adapters may count from the MCP request or from `params`.
    within(run, Limit::Depth, tool, nested(least.saturating_sub(2)), cases).await;
    beyond(run, Limit::Depth, tool, (nested(most + 2), false), cases).await;
}

/// Returns `true` if the adapter rejects requests nested more deeply than the protocol allows.
pub(super) async fn enforces_depth(run: &Run) -> bool {
    let unheard = Cases::default();
    nesting_depth(run, &unheard).await;
    unheard.results().found == 0
}

fn response_size(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Reply::Result { raw, .. } = &exchange.reply else { return };
    let Some(text) = raw.pointer("/content/0/text").and_then(Value::as_str) else { return };
    let limit = Limit::Response.most(run);
    cases.expect(text.len() <= limit, || {
        Finding::of(exchange, exchange.operation())
            .expected(format!("at most {limit} bytes, by `_protocol.limits` or the protocol"))
            .received(json!(format!("{} bytes", text.len())))
    });
}

fn details(run: &Run, exchange: &Exchange, cases: &Cases) {
    if !is_too_large(exchange) {
        return;
    }
    // Failures of `introspect` and of whole batches have no details (REQ-INT-28, REQ-BAT-06).
    if exchange.operation() == "introspect" {
        if run.adapter.reads().next().is_none() {
            cases.not_applicable(
                "only `introspect` accepts large payloads, and its failures have no details",
            );
        }
        return;
    }
    if is_batch(exchange) {
        return;
    }
    let details = exchange.failure().map(|failure| failure.details).unwrap_or(&Value::Null);
    let reported = details.get("limit_type").and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| details.get(name).and_then(Value::as_u64);
    let limit = Limit::ALL.into_iter().find(|limit| limit.name() == reported);
    let holds = limit.is_some_and(|limit| {
        let stated = limit.stated(run).and_then(|stated| u64::try_from(stated).ok());
        details.get("unit").is_some_and(|unit| *unit == limit.words().2)
            && number("limit_value")
                .is_some_and(|reported| stated.is_none_or(|stated| reported == stated))
            && number("actual_value") > number("limit_value")
    });
    let expected = match limit {
        Some(limit) => format!(
            "`limit_value`{}, a larger `actual_value`, `unit` {}",
            limit.stated(run).map(|stated| format!(" {stated}")).unwrap_or_default(),
            limit.words().2
        ),
        None => format!("`limit_type`: {}", Limit::ALL.map(Limit::name).join(", ")),
    };
    cases.expect(holds, || {
        Finding::of(exchange, format!("{}: VALIDATION_PAYLOAD_TOO_LARGE", exchange.operation()))
            .expected(expected)
    });
}
