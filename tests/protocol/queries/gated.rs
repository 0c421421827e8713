//! Tests that gates decide about query parameters like about any others.

use mcp_aql::gatekeeper::Condition;
use mcp_aql::rate_limits::{Metric, Quota, RateLimits};
use mcp_aql::{Adapter, AdapterBuilder, Policy};
use serde_json::{Value, json};

use super::garden::{Garden, plant};
use crate::support::{call, code, data, details};

fn garden(with: impl FnOnce(AdapterBuilder) -> AdapterBuilder) -> Adapter {
    let plants = vec![plant(1, "Boskoop"), plant(2, "Yew")];
    let builder = Adapter::builder("garden").operations(Garden::new(plants)).without_config();
    with(builder).build().unwrap()
}

fn named(name: &str) -> Value {
    json!({ "filter": { "name": name } })
}

fn with_token(mut params: Value, member: &str, asked: &Value) -> Value {
    params[member] = details(asked)["confirmation_token"].clone();
    params
}

#[test]
fn a_token_is_for_the_query_that_it_was_issued_for() {
    // REQ-TOK-03, REQ-TOK-04
    let garden = garden(|builder| builder.policy(Policy::confirm("list_plants")));
    let asked = call(&garden, "list_plants", named("Yew"));
    assert_eq!(code(&asked), Some("CONFIRMATION_REQUIRED"));
    for other in [named("Boskoop"), json!({})] {
        let reply = call(&garden, "list_plants", with_token(other, "_confirmation", &asked));
        assert_eq!(code(&reply), Some("TOKEN_SCOPE_MISMATCH"));
    }
    let found = call(&garden, "list_plants", with_token(named("Yew"), "_confirmation", &asked));
    assert_eq!(data(found)["items"][0]["name"], "Yew");
}

#[test]
fn a_quota_is_continued_for_one_query() {
    // REQ-RATE-07, REQ-TOK-04
    let quota = Quota::new(Metric::RequestsPerDay).pause(1);
    let garden = garden(|builder| builder.rate_limits(RateLimits::new().quota(quota)));
    data(call(&garden, "list_plants", json!({})));
    let paused = call(&garden, "list_plants", named("Yew"));
    assert_eq!(code(&paused), Some("RATE_LIMIT_QUOTA_PAUSE"));
    let other = with_token(json!({}), "_quota_continue", &paused);
    assert_eq!(code(&call(&garden, "list_plants", other)), Some("TOKEN_SCOPE_MISMATCH"));
    data(call(&garden, "list_plants", with_token(named("Yew"), "_quota_continue", &paused)));
}

#[test]
fn policies_look_at_queries() {
    // REQ-GATE-04
    let garden = garden(|builder| {
        builder
            .policy(Policy::deny("list_plants").when(Condition::above("first", 1.0)))
            .policy(Policy::deny("list_plants").when(Condition::equals("filter.name", "Yew")))
    });
    data(call(&garden, "list_plants", json!({ "first": 1 })));
    for params in [json!({ "first": 2 }), named("Yew")] {
        let reply = call(&garden, "list_plants", params);
        assert_eq!(code(&reply), Some("PERMISSION_DENIED"));
    }
}
