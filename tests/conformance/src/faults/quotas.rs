//! Broken adapters for the checks of the area `quotas`.

use serde_json::{Value, json};

use super::danger::{publish, queries};
use super::{Fault, Tamper, calls, succeeds};

/// Returns a valid status of limits and quotas.
fn status() -> Value {
    json!({ "success": true, "data": {
        "adapter": "garden",
        "api_limits": { "global": {
            "limit": 1000, "remaining": 990, "window": "minute", "resets_at": "2031-05-06T07:08:00Z",
        } },
        "quotas": [{
            "metric": "requests_per_day", "current": 10, "warn": 800, "pause": null,
            "hard_stop": 1000, "status": "ok",
        }],
        "next_reset": "2031-05-06T07:08:00Z",
    } })
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "quotas-in-other-words",
        check: "quotas.status_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            publish(arguments, body, "quota_status");
            if queries(arguments, "quota_status") {
                *body = status();
                body["data"]["quotas"][0]["status"] = json!("fine");
            }
        }),
    },
    Fault {
        name: "more-left-than-there-is",
        check: "quotas.status_form",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            publish(arguments, body, "quota_status");
            if queries(arguments, "quota_status") {
                *body = status();
                body["data"]["api_limits"]["global"]["remaining"] = json!(1001);
            }
        }),
    },
    Fault {
        name: "stopped-without-a-when",
        check: "quotas.exceeded_form",
        neighbours: &["errors.details", "errors.template", "errors.not_found"],
        tamper: Tamper::Body(|arguments, body| {
            publish(arguments, body, "quota_status");
            if queries(arguments, "quota_status") {
                *body = status();
            } else if calls(arguments, "execute_watering") && succeeds(body) {
                *body = json!({ "success": false, "error": {
                    "code": "RATE_LIMIT_EXCEEDED",
                    "message": "API rate limit exceeded",
                    "details": { "limit": 1000, "remaining": 0, "window": "minute" },
                } });
            }
        }),
    },
];
