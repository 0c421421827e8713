//! The keys of rate limits and quotas in the configuration file.

use crate::config::key::{Key, ProjectRule, ValueKind};

/// Effect of limits in a file of the working directory.
const ADDED: ProjectRule =
    ProjectRule::Stricter("additional and lower ones are applied, without headers");

/// The keys of rate limits and quotas.
pub(super) const KEYS: &[Key] = &[
    short(Key::new("rate_limits.requests_per_minute", ValueKind::Number("")), "60").doc(&["Maximum number of calls per minute."]),
    short(Key::new("rate_limits.requests_per_hour", ValueKind::Number("")), "1000").doc(&["Maximum number of calls per hour."]),
    short(Key::new("rate_limits.requests_per_day", ValueKind::Number("")), "10000").doc(&["Maximum number of calls per day."]),
    short(Key::new("rate_limits.burst_limit", ValueKind::Number("")), "10")
        .doc(&["Maximum number of calls at once, of the limit with the shortest window."]),
    Key::new(
        "api_limits",
        ValueKind::Other(
            "list of tables: `scope`, `endpoint`, `category`, `limit`, `window`, `burst`, `remaining_header`, \
             `reset_header`",
        ),
    )
    .project(ADDED)
    .example("[{ scope = \"endpoint\", endpoint = \"create\", limit = 20, window = \"hour\" }]")
    .doc(&["Limits by endpoint or category."]),
    Key::new("quotas", ValueKind::Other("list of tables: `metric`, `warn`, `pause`, `hard_stop`"))
        .project(ADDED)
        .example("[{ metric = \"requests_per_day\", warn = 8000, hard_stop = 10000 }]")
        .doc(&["Quotas."]),
    Key::new("cost.currency", ValueKind::Text)
        .default("`\"USD\"`")
        .example("\"USD\"")
        .doc(&["Currency of costs, as three letters."]),
    price(Key::new("cost.per_call", ValueKind::Other("number")), "0.002").doc(&["Price of a call."]),
    price(Key::new("cost.per_token", ValueKind::Other("number")), "0.00001").doc(&["Price of a token."]),
    price(Key::new("cost.per_byte", ValueKind::Other("number")), "0.0000001").doc(&["Price of a byte."]),
    Key::new("cost.tiered", ValueKind::Other("list of tables: `up_to`, `per_call`"))
        .listed_as("cost")
        .example("[{ up_to = 100, per_call = 0.0 }, { per_call = 0.01 }]")
        .doc(&["Prices of calls by their number."]),
];

/// Declares a key of the short form, which `config show` lists with the limits.
const fn short(key: Key, example: &'static str) -> Key {
    key.project(ADDED).example(example).listed_as("api_limits")
}

/// Declares a price, which `config show` lists with the other prices.
const fn price(key: Key, example: &'static str) -> Key {
    key.example(example).listed_as("cost")
}
