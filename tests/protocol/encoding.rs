//! Tests encoding rules, limits and null.

use mcp_aql::prelude::*;
use mcp_aql::{Adapter, SizeLimits, encoding};
use serde_json::{Value, json};

use crate::board::{board, builder};
use crate::support::{ask, call, code, data, details, message};

fn limited(limits: SizeLimits) -> Adapter {
    builder().limits(limits).build().expect("the limits are in range")
}

#[test]
fn nul_is_refused_in_names_and_values() {
    // REQ-ENC-01, REQ-ENC-02, choice G-04
    let board = board();
    for params in [
        json!({ "text": "a\u{0}b" }),
        json!({ "text": "a", "counts": { "\u{0}": 1 } }),
        json!({ "text": "a", "anything": [{ "b": ["\u{0}"] }] }),
        json!({ "text": "a", "te\u{0}xt": 1 }),
    ] {
        let reply = call(&board, "echo_values", params.clone());
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_ENCODING"), "{params}");
        assert!(message(&reply).starts_with("Invalid character encoding in request"));
        assert!(details(&reply)["location"].is_string());
    }
    let reply = ask(&board, json!({ "operation": "get\u{0}task" }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_ENCODING"));
    // A string may contain every other character.
    for text in ["", "\u{1}", "\u{7f}", "é", "漢字", "\u{10ffff}", "🦀", "\u{d7ff}\u{e000}"] {
        assert_eq!(data(call(&board, "echo_values", json!({ "text": text })))["text"], text);
    }
}

#[test]
fn dates_are_iso_8601() {
    // REQ-ENC-03
    let board = board();
    for (name, text, fits) in [
        ("day", "2031-05-06", true),
        ("day", "2031-02-29", false),
        ("day", "06.05.2031", false),
        ("day", "2031-05-06T07:08:09Z", false),
        ("instant", "2031-05-06T07:08:09Z", true),
        ("instant", "2031-05-06T07:08:09.5Z", true),
        ("instant", "2031-05-06T07:08:09+05:30", true),
        ("instant", "2031-05-06T07:08:09", false),
        ("instant", "2031-05-06", false),
        ("instant", "yesterday", false),
    ] {
        let reply = call(&board, "echo_values", json!({ "text": "a", name: text }));
        let expected = if fits { None } else { Some("VALIDATION_INVALID_VALUE") };
        assert_eq!(code(&reply), expected, "{name} {text}");
    }
}

#[test]
fn formats_are_checked() {
    // REQ-ENC-03, REQ-INT-13
    let board = board();
    for (name, good, bad) in [
        ("email", "ada@example.org", "ada"),
        ("uri", "https://example.org/a?b=c", "example"),
        ("uuid", "67e55044-10b1-426f-9247-bb680e5fe0c8", "67e55044"),
    ] {
        for (text, expected) in [(good, None), (bad, Some("VALIDATION_INVALID_VALUE"))] {
            let reply = call(&board, "echo_values", json!({ "text": "a", name: text }));
            assert_eq!(code(&reply), expected, "{name} {text}");
        }
    }
}

#[test]
fn numbers_beyond_two_to_the_53_travel_as_text() {
    // REQ-ENC-05
    let board = board();
    let big = "340282366920938463463374607431768211455";
    assert_eq!(data(call(&board, "echo_values", json!({ "text": "a", "big": big })))["big"], big);
    let reply = call(&board, "echo_values", json!({ "text": "a", "big": 7 }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"));
    let reply = call(&board, "echo_values", json!({ "text": "a", "big": "seven" }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"));
    // The limit is part of the description of each parameter it applies to.
    let shown = call(&board, "introspect", json!({ "query": "operations", "name": "echo_values" }));
    let shown = data(shown)["operation"]["parameters"].clone();
    let of = |name: &str| {
        shown.as_array().unwrap().iter().find(|each| each["name"] == name).unwrap().clone()
    };
    assert_eq!(of("big")["type"], "string");
    assert_eq!(of("big")["pattern"], "^-?[0-9]+$");
    // The range of 64-bit numbers is not published, because some JSON parsers cannot represent its bounds.
    assert_eq!(of("large").get("maximum"), None);
    // If a client sends a 64-bit number as a JSON number, the adapter must not round it.
    let reply = call(&board, "echo_values", json!({ "text": "a", "large": u64::MAX }));
    assert_eq!(data(reply)["large"], u64::MAX);
}

/// A picture.
#[operation(category = "READ", wrap = false)]
fn get_picture() -> encoding::Binary {
    encoding::Binary::new(vec![0, 255, 1, 2], "image/png")
}

#[test]
fn binary_is_padded_base64_with_what_it_is() {
    // REQ-ENC-06, REQ-ENC-07
    let adapter =
        Adapter::builder("pictures").operation(get_picture {}).without_config().build().unwrap();
    let picture = json!({
        "content": "AP8BAg==", "content_encoding": "base64", "content_mime_type": "image/png",
    });
    assert_eq!(data(call(&adapter, "get_picture", json!({}))), picture);
    let board = board();
    let reply = call(&board, "echo_values", json!({ "text": "a", "picture": picture }));
    assert_eq!(data(reply)["picture"], picture);
    for bytes in ["AP8BAg", "AP8B Ag==", "AP8-Ag==", "=A"] {
        let reply = call(&board, "echo_values", json!({ "text": "a", "bytes": bytes }));
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{bytes}");
    }
    let shown = call(&board, "introspect", json!({ "query": "operations", "name": "echo_values" }));
    let shown = data(shown)["operation"]["parameters"].clone();
    let bytes = shown.as_array().unwrap().iter().find(|each| each["name"] == "bytes").unwrap();
    assert_eq!((&bytes["type"], &bytes["format"]), (&json!("string"), &json!("byte")));
}

/// Checks the error for an exceeded limit.
#[track_caller]
fn assert_breach(reply: &Value, limit_type: &str, limit_value: usize, unit: &str) {
    assert_eq!(code(reply), Some("VALIDATION_PAYLOAD_TOO_LARGE"), "{limit_type}");
    let details = details(reply);
    assert_eq!(details["limit_type"], limit_type);
    assert_eq!(details["limit_value"], limit_value);
    assert!(details["actual_value"].as_u64().unwrap() > limit_value as u64, "{details}");
    assert_eq!(details["unit"], unit);
    assert!(message(reply).contains(limit_type), "{}", message(reply));
    // The message suggests a next step. For lists, the reply suggests another one.
    let steps = ["Send less", "Send a shorter", "Use fewer levels"];
    let has_step = steps.iter().any(|step| message(reply).contains(step));
    assert!(has_step || limit_type == "response_size", "{}", message(reply));
}

#[test]
fn request_size_is_limited() {
    // REQ-ENC-08, REQ-ENC-13, choice G-15
    let small = 64 << 10;
    let board = limited(SizeLimits { max_request_size: small, ..SizeLimits::default() });
    let request = |length: usize| json!({ "operation": "echo_values", "params": { "text": "x".repeat(length) } });
    let frame = request(0).to_string().len();
    assert_eq!(code(&ask(&board, request(small - frame))), None);
    let reply = ask(&board, request(small - frame + 1));
    assert_breach(&reply, "request_size", small, "bytes");
    assert_eq!(details(&reply)["actual_value"], small + 1);
}

#[test]
fn response_size_is_limited() {
    // REQ-ENC-09, REQ-ENC-13
    let board = limited(SizeLimits { max_response_size: 1 << 20, ..SizeLimits::default() });
    let big =
        |times: usize| call(&board, "repeat_text", json!({ "length": 1_000, "times": times }));
    assert_eq!(code(&big(1_000)), None);
    assert_breach(&big(1_100), "response_size", 1 << 20, "bytes");
    assert_eq!(details(&big(1_100))["operation_ran"], true);
}

#[test]
fn string_length_is_limited_in_requests() {
    // REQ-ENC-10, REQ-ENC-13
    let most = 64 << 10;
    let board = limited(SizeLimits { max_string_length: most, ..SizeLimits::default() });
    for (length, fits) in [(most, true), (most + 1, false)] {
        let request = call(&board, "echo_values", json!({ "text": "x".repeat(length) }));
        let reply = call(&board, "repeat_text", json!({ "length": length }));
        if fits {
            assert_eq!((code(&request), code(&reply)), (None, None));
        } else {
            assert_breach(&request, "string_length", most, "bytes");
            assert_eq!(code(&reply), None, "a reply may hold what several requests have stored");
        }
    }
}

#[test]
fn array_length_is_limited_in_requests() {
    // REQ-ENC-11, REQ-ENC-13
    let board = limited(SizeLimits { max_array_elements: 100, ..SizeLimits::default() });
    for (count, fits) in [(100, true), (101, false)] {
        let list = vec![json!(1); count];
        let request =
            call(&board, "echo_values", json!({ "text": "a", "anything": { "b": list } }));
        let reply = call(&board, "repeat_text", json!({ "length": 1, "times": count }));
        if fits {
            assert_eq!((code(&request), code(&reply)), (None, None));
        } else {
            assert_breach(&request, "array_elements", 100, "elements");
            assert_eq!(code(&reply), None, "a reply may list what several requests have stored");
        }
    }
}

#[test]
fn nesting_is_limited() {
    // REQ-ENC-12, REQ-ENC-13
    let board = limited(SizeLimits { max_nesting_depth: 8, ..SizeLimits::default() });
    let nested = |levels: usize, list: bool| {
        let mut value = json!(1);
        for _ in 0..levels {
            value = if list { json!([value]) } else { json!({ "a": value }) };
        }
        // The arguments object and `params` use two levels.
        call(&board, "echo_values", json!({ "text": "a", "anything": value }))
    };
    for list in [false, true] {
        assert_eq!(code(&nested(6, list)), None);
        assert_breach(&nested(7, list), "nesting_depth", 8, "levels");
    }
}

#[test]
fn limits_keep_to_the_protocols_ranges() {
    // REQ-ENC-08 to REQ-ENC-12
    let normal = SizeLimits::default();
    for (limits, name) in [
        (SizeLimits { max_request_size: (64 << 10) - 1, ..normal }, "max_request_size"),
        (SizeLimits { max_request_size: (10 << 20) + 1, ..normal }, "max_request_size"),
        (SizeLimits { max_response_size: (1 << 20) - 1, ..normal }, "max_response_size"),
        (SizeLimits { max_response_size: (100 << 20) + 1, ..normal }, "max_response_size"),
        (SizeLimits { max_string_length: (64 << 10) - 1, ..normal }, "max_string_length"),
        (SizeLimits { max_string_length: (10 << 20) + 1, ..normal }, "max_string_length"),
        (SizeLimits { max_array_elements: 99, ..normal }, "max_array_elements"),
        (SizeLimits { max_array_elements: 100_001, ..normal }, "max_array_elements"),
        (SizeLimits { max_nesting_depth: 7, ..normal }, "max_nesting_depth"),
        (SizeLimits { max_nesting_depth: 65, ..normal }, "max_nesting_depth"),
        (SizeLimits { result_budget: (1 << 10) - 1, ..normal }, "result_budget"),
        (SizeLimits { result_budget: (100 << 20) + 1, ..normal }, "result_budget"),
    ] {
        let error = builder().limits(limits).build().expect_err(name);
        assert!(error.to_string().contains(name), "{error}");
    }
    for limits in [
        SizeLimits {
            max_request_size: 64 << 10,
            max_response_size: 1 << 20,
            max_string_length: 64 << 10,
            max_array_elements: 100,
            max_nesting_depth: 8,
            ..normal
        },
        SizeLimits {
            max_request_size: 10 << 20,
            max_response_size: 100 << 20,
            max_string_length: 10 << 20,
            max_array_elements: 100_000,
            max_nesting_depth: 64,
            ..normal
        },
    ] {
        limited(limits);
    }
}

#[test]
fn limits_are_published() {
    // REQ-ENC-14, REQ-INT-30
    let list = data(call(&board(), "introspect", json!({ "query": "operations" })));
    let limits = &list["_protocol"]["limits"];
    for (name, value) in [
        ("max_request_size", 1_048_576),
        ("max_response_size", 10_485_760),
        ("max_string_length", 1_048_576),
        ("max_array_elements", 10_000),
        ("max_nesting_depth", 32),
        ("result_budget", 65_536),
    ] {
        assert_eq!(limits[name], value, "{name}");
    }
    let small = limited(SizeLimits { max_nesting_depth: 16, ..SizeLimits::default() });
    let list = data(call(&small, "introspect", json!({ "query": "operations" })));
    assert_eq!(list["_protocol"]["limits"]["max_nesting_depth"], 16);
}

#[test]
fn null_is_left_out_where_a_value_may_be() {
    // REQ-ENC-15
    let board = board();
    // Null for an optional parameter means the same as omitting it.
    let reply =
        call(&board, "create_task", json!({ "title": "a", "priority": null, "tags": null }));
    let task = data(reply)["task"].clone();
    assert_eq!((&task["priority"], &task["tags"]), (&json!(3), &json!([])));
    let reply = call(&board, "create_task", json!({ "title": null }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"));
    assert_eq!(details(&reply)["actual_type"], "null");
    // In a reply, a field without a value is present as null.
    assert_eq!(task["due_date"], Value::Null);
    assert!(task.as_object().unwrap().contains_key("due_date"));
    // If null has another meaning than omission, introspection describes it.
    let shown = call(&board, "introspect", json!({ "query": "operations", "name": "update_task" }));
    let input = data(shown)["operation"]["parameters"][1]["description"].clone();
    assert!(input.as_str().unwrap().contains("Null removes"), "{input}");
}
