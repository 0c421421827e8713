//! The keys of the configuration file that set a field of the settings, except those of HTTP.

use std::path::Path;
use std::str::FromStr;

use mcp_aql_protocol::SizeLimits;
use serde_json::{Value, json};

use super::declaration::{Declaration, declare};
use super::default_description_budget;
use crate::config::key::{Key, ProjectRule, ValueKind};
use crate::config::setting_value::SettingValue;
use crate::gatekeeper::GateSettings;
use crate::observe::logging::LogFormat;
use crate::router::EndpointMode;

/// Minimum and maximum size of stored outputs, in bytes.
const STORED_BYTES: (u64, u64) = (1 << 20, 1 << 40);
/// Maximum number of executions.
const MAX_EXECUTIONS: u64 = 100_000;

/// All of these keys, in the order of the documentation.
pub(super) const KEYS: &[Declaration] = &[
    declare(
        Key::new("endpoint_mode", ValueKind::Word(&["semantic", "single", "all"]))
            .variable("MCP_AQL_ENDPOINT_MODE")
            .doc(&["Tools offered to clients: one for each endpoint family, one for all operations, or both."]),
        |settings| &mut settings.mode,
    ),
    declare(
        Key::new("endpoint_profile", ValueKind::Text)
            .variable("MCP_AQL_ENDPOINT_PROFILE")
            .doc(&["Profile of endpoint families: `crude`, or one of the adapter's own."]),
        |settings| &mut settings.profile,
    ),
    declare(
        Key::new("tool_prefix", ValueKind::Text)
            .variable("MCP_AQL_TOOL_PREFIX")
            .doc(&["Prefix of every tool name, such as `work_`."]),
        |settings| &mut settings.tool_prefix,
    ),
    declare(
        Key::new("strict_mode", ValueKind::Switch).project(ProjectRule::True).doc(&[
            "Reject calls with unknown parameters. With `false`, they only cause warnings. For development only.",
        ]),
        |settings| &mut settings.strict,
    ),
    declare(
        Key::new("structured_content", ValueKind::Switch)
            .project(ProjectRule::Applied)
            .doc(&["Also return results as MCP structured content, which doubles the size of replies."]),
        |settings| &mut settings.structured_content,
    ),
    declare(
        Key::new("description_budget", ValueKind::Number("tokens"))
            .project(ProjectRule::Applied)
            .default("`1500`, in mode `single` `600`")
            .example("1500")
            .doc(&["Approximate size of the tool list."]),
        |settings| &mut settings.description_budget,
    )
    .unset(|settings, _| json!(default_description_budget(settings.mode))),
    declare(
        Key::new("drain_timeout_seconds", ValueKind::Number("seconds"))
            .range(0, 3_600)
            .flag("--drain-timeout", "SECONDS")
            .doc(&["Time for which a stopping server waits for running calls."]),
        |settings| &mut settings.drain_timeout,
    ),
    declare(
        Key::new("audit_log", ValueKind::Text)
            .example("\"/var/log/tasks/audit.jsonl\"")
            .doc(&["File to which the audit log is appended."]),
        |settings| &mut settings.audit_log,
    ),
    declare(
        Key::new("log_format", ValueKind::Word(&LogFormat::NAMES))
            .variable("MCP_AQL_LOG_FORMAT")
            .global_flag("--log-format", "FORMAT")
            .doc(&["Format of the log on standard error. `json` has a line for each call."]),
        |settings| &mut settings.log_format,
    ),
    limit(
        Key::new("limits.max_request_size", ValueKind::Number("bytes"))
            .doc(&["Maximum size of the arguments of a tool call."]),
        (SizeLimits::MIN.max_request_size, SizeLimits::MAX.max_request_size),
        |settings| &mut settings.limits.max_request_size,
    ),
    limit(
        Key::new("limits.max_response_size", ValueKind::Number("bytes"))
            .doc(&["Maximum size of a reply."]),
        (SizeLimits::MIN.max_response_size, SizeLimits::MAX.max_response_size),
        |settings| &mut settings.limits.max_response_size,
    ),
    limit(
        Key::new("limits.max_string_length", ValueKind::Number("bytes"))
            .doc(&["Maximum length of one string."]),
        (SizeLimits::MIN.max_string_length, SizeLimits::MAX.max_string_length),
        |settings| &mut settings.limits.max_string_length,
    ),
    limit(
        Key::new("limits.max_array_elements", ValueKind::Number(""))
            .doc(&["Maximum number of elements in one array."]),
        (SizeLimits::MIN.max_array_elements, SizeLimits::MAX.max_array_elements),
        |settings| &mut settings.limits.max_array_elements,
    ),
    limit(
        Key::new("limits.max_nesting_depth", ValueKind::Number(""))
            .doc(&["Maximum depth of nested objects and arrays."]),
        (SizeLimits::MIN.max_nesting_depth, SizeLimits::MAX.max_nesting_depth),
        |settings| &mut settings.limits.max_nesting_depth,
    ),
    limit(
        Key::new("limits.max_batch_operations", ValueKind::Number(""))
            .doc(&["Maximum number of operations in one batch."]),
        (SizeLimits::MIN.max_batch_operations, SizeLimits::MAX.max_batch_operations),
        |settings| &mut settings.limits.max_batch_operations,
    ),
    limit(
        Key::new("limits.result_budget", ValueKind::Number("bytes"))
            .variable("MCP_AQL_RESULT_BUDGET")
            .doc(&["Size at which a page of results ends."]),
        (SizeLimits::MIN.result_budget, SizeLimits::MAX.result_budget),
        |settings| &mut settings.limits.result_budget,
    ),
    declare(
        Key::new("executions.wait_seconds", ValueKind::Number("seconds"))
            .range(0, 600)
            .doc(&["Time for which a call that requests progress waits for the end of its execution."]),
        |settings| &mut settings.executions.wait,
    ),
    declare(
        Key::new("executions.grace_seconds", ValueKind::Number("seconds"))
            .range(0, 300)
            .doc(&["Time for which an execution may continue after a request to stop."]),
        |settings| &mut settings.executions.grace,
    ),
    declare(
        Key::new("executions.lease_seconds", ValueKind::Number("seconds"))
            .range(1, 3_600)
            .doc(&["Time after which the executions of a crashed process count as failed."]),
        |settings| &mut settings.executions.lease,
    ),
    declare(
        Key::new("executions.keep_seconds", ValueKind::Number("seconds"))
            .range(60, 365 * 86_400)
            .doc(&["Time for which an ended execution can be read."]),
        |settings| &mut settings.executions.keep,
    ),
    declare(
        Key::new("executions.keep_bytes", ValueKind::Number("bytes"))
            .range(STORED_BYTES.0, STORED_BYTES.1)
            .doc(&["Maximum total size of stored outputs."]),
        |settings| &mut settings.executions.keep_bytes,
    ),
    declare(
        Key::new("executions.keep_bytes_per_caller", ValueKind::Number("bytes"))
            .range(STORED_BYTES.0, STORED_BYTES.1)
            .doc(&["Maximum size of the stored outputs of one caller."]),
        |settings| &mut settings.executions.keep_bytes_per_caller,
    ),
    declare(
        Key::new("executions.max_running", ValueKind::Number(""))
            .range(1, MAX_EXECUTIONS)
            .project(ProjectRule::Lower)
            .doc(&["Maximum number of executions in one process."]),
        |settings| &mut settings.executions.max_running,
    ),
    declare(
        Key::new("executions.max_running_per_session", ValueKind::Number(""))
            .range(1, MAX_EXECUTIONS)
            .project(ProjectRule::Lower)
            .doc(&["Maximum number of executions of one session."]),
        |settings| &mut settings.executions.max_running_per_session,
    ),
    declare(
        Key::new("access.scope_prefix", ValueKind::Text)
            .default("the adapter's name")
            .example("\"shop\"")
            .doc(&["First part of the scopes of categories: with `shop`, READ operations need `shop:read`."]),
        |settings| &mut settings.access.prefix,
    )
    .unset(|settings, name| settings.access.prefix_for(name).into()),
    declare(
        Key::new("access.administrator_scope", ValueKind::Text)
            .default("the prefix and `:admin`")
            .example("\"shop:admin\"")
            .doc(&["Scope for the executions of other principals."]),
        |settings| &mut settings.access.administrator,
    )
    .unset(|settings, name| settings.access.administrator_for(name).into()),
    declare(
        Key::new("access.category_scopes", ValueKind::Switch)
            .project(ProjectRule::True)
            .doc(&["Operations without a scope of their own need the scope of their category."]),
        |settings| &mut settings.access.category_scopes,
    ),
    declare(
        Key::new("access.require_principal", ValueKind::Switch)
            .project(ProjectRule::True)
            .doc(&["Reject calls without a principal."]),
        |settings| &mut settings.access.requires_principal,
    ),
    declare(
        Key::new("gatekeeper.confirmation_ttl_seconds", ValueKind::Number("seconds"))
            .range(1, 900)
            .project(ProjectRule::Lower)
            .default("`300`, for `forbidden` operations `120`")
            .example("300")
            .doc(&["Lifetime of confirmation tokens. At most 300 for `forbidden` operations."]),
        |settings| &mut settings.gate.confirmation_ttl,
    )
    .unset(|_, _| GateSettings::default_ttl()),
    declare(
        Key::new("gatekeeper.clock_skew_tolerance_seconds", ValueKind::Number("seconds"))
            .range(0, 300)
            .project(ProjectRule::Lower)
            .doc(&["Time for which a confirmation token is still accepted after its expiry."]),
        |settings| &mut settings.gate.skew,
    ),
    declare(
        Key::new("gatekeeper.confirmations_per_minute", ValueKind::Number(""))
            .range(1, u64::MAX)
            .project(ProjectRule::Lower)
            .doc(&["Maximum number of confirmation tokens per session and minute."]),
        |settings| &mut settings.gate.per_minute,
    ),
    declare(
        Key::new("gatekeeper.confirmations_per_minute_without_session", ValueKind::Number(""))
            .range(1, u64::MAX)
            .project(ProjectRule::Lower)
            .default("the limit of one session")
            .example("120")
            .doc(&["Maximum number of confirmation tokens per minute for all callers without a session together."]),
        |settings| &mut settings.gate.per_minute_without_session,
    )
    .unset(|settings, _| settings.gate.per_minute_without_session().into()),
    declare(
        Key::new("gatekeeper.elicitation", ValueKind::Switch)
            .doc(&["Ask users for confirmations through their clients. With `false`, every confirmation needs a token."]),
        |settings| &mut settings.gate.elicits,
    ),
];

/// Declares a limit of the protocol.
const fn limit(
    key: Key,
    (low, high): (usize, usize),
    field: fn(&mut super::Settings) -> &mut dyn SettingValue,
) -> Declaration {
    declare(key.range(low as u64, high as u64).project(ProjectRule::Lower), field)
}

impl SettingValue for EndpointMode {
    fn to_json(&self) -> Value {
        self.as_str().into()
    }

    fn set(&mut self, value: Value, _: &Path) -> Result<(), String> {
        *self = Self::from_str(value.as_str().unwrap_or_default())?;
        Ok(())
    }
}

impl SettingValue for LogFormat {
    fn to_json(&self) -> Value {
        self.as_str().into()
    }

    fn set(&mut self, value: Value, _: &Path) -> Result<(), String> {
        *self = Self::from_str(value.as_str().unwrap_or_default())?;
        Ok(())
    }
}
