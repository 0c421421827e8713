//! Checks of tool names, and that each operation belongs to a tool.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::adapter::gaps::Part;
use crate::adapter::{Adapter, Tool, tool_parts};
use crate::cases::{Cases, Finding};
use crate::category::{Category, Mode};
use crate::finding::listed;
use crate::run::Run;

/// Returns the family in the name of a tool, for example `read` for `mcp_aql_read`.
pub(super) fn family(tool: &Tool) -> Option<&str> {
    tool_parts(&tool.name)?.1
}

/// Returns the category of a family, or `None` if the family is not in the CRUDE profile.
pub(super) fn category(family: &str) -> Option<Category> {
    Category::ALL.into_iter().find(|category| category.family() == family)
}

/// Returns the tools whose names resemble those of MCP-AQL.
fn alike(adapter: &Adapter) -> impl Iterator<Item = &Tool> {
    adapter.tools.iter().filter(|tool| tool.name.to_ascii_lowercase().contains("mcp_aql"))
}

pub(super) fn prefix(run: &Run, cases: &Cases) {
    for tool in alike(&run.adapter) {
        let end = tool.name.to_ascii_lowercase().rfind("mcp_aql").unwrap_or_default();
        let prefix = tool.name.get(..end).unwrap_or_default();
        let is_plain = prefix.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        cases.expect(prefix.is_empty() || (is_plain && prefix.ends_with('_')), || {
            Finding::shown(format!("tool `{}`", tool.name), prefix)
        });
    }
}

pub(super) fn unique(run: &Run, cases: &Cases) {
    let mut seen = BTreeSet::new();
    for tool in &run.adapter.tools {
        cases.expect(seen.insert(&tool.name), || {
            Finding::shown(format!("tool `{}`", tool.name), tool.raw.clone())
        });
    }
}

pub(super) fn names(run: &Run, cases: &Cases) {
    for tool in alike(&run.adapter) {
        let is_short = tool_parts(&tool.name).is_some_and(|(prefix, _)| prefix.len() < 20);
        cases.expect(is_short, || {
            Finding::shown(format!("tool `{}`", tool.name), tool.name.clone())
        });
    }
}

pub(super) fn crude_complete(run: &Run, cases: &Cases) {
    if run.adapter.mode == Mode::Single {
        return cases.not_applicable("the adapter has one tool");
    }
    if !run.adapter.is_crude() {
        return cases.not_applicable("the families are not those of the CRUDE profile");
    }
    for wanted in Category::ALL {
        let is_there = run.adapter.endpoints.iter().any(|it| family(it) == Some(wanted.family()));
        cases.expect(is_there, || {
            Finding::shown(
                format!("family `{}`", wanted.family()),
                run.adapter.endpoints.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
            )
            .expected(format!("a tool for {wanted} operations"))
        });
    }
}

/// Maximum number of tool names in a finding.
const MAX_NAMES: usize = 10;

pub(super) fn endpoint(run: &Run, cases: &Cases) {
    let gap = run.adapter.gaps.iter().find(|gap| gap.part == Part::Tools);
    let names = || run.adapter.tools.iter().take(MAX_NAMES).map(|tool| tool.name.as_str());
    cases.expect(gap.is_none(), || {
        Finding::shown("tools/list", names().collect::<Vec<_>>()).expected(format!(
            "a tool named `mcp_aql`, or tools named `mcp_aql_FAMILY` such as `mcp_aql_read`, each \
             with an optional prefix; {}",
            gap.map(|gap| gap.why.as_str()).unwrap_or_default()
        ))
    });
}

pub(super) fn all_registered(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        // Read the details, because `Operation::tool` already is a registered tool if possible. Other checks report a
        // missing member.
        let Some(stated) = operation.details().get("mcpTool").and_then(Value::as_str) else {
            continue;
        };
        let is_there = run.adapter.endpoints.iter().any(|tool| tool.name == stated)
            || (run.adapter.serves_all && run.adapter.tools.iter().any(|tool| tool.name == stated));
        cases.expect(is_there, || {
            Finding::shown(&operation.name, stated).expected(format!(
                "`mcpTool` with one of these names: {}",
                listed(run.adapter.endpoints.iter().map(|tool| &tool.name))
            ))
        });
    }
}
