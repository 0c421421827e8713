//! Tests rejections by MCP libraries of requests that violate the schema of a tool.
//!
//! Each library has its own form for them. No check judges these forms, so they are neither findings nor block
//! anything.

use std::collections::BTreeSet;

use mcp_aql_conformance::Verdict;
use serde_json::{Value, json};

use super::adapter::Change;
use super::{blocked, caused, check, faultless, run};

/// Returns `true` if the arguments of a call violate the schema of the tools.
fn is_invalid(request: &Value) -> bool {
    let arguments = &request["params"]["arguments"];
    request["method"] == "tools/call"
        && (!arguments["operation"].is_string()
            || arguments.get("params").is_some_and(|params| !params.is_object()))
}

#[tokio::test]
async fn rejections_by_the_library_block_nothing() {
    // REQ-MCP-09, REQ-MCP-12, REQ-RQ-08
    let as_text: Change = |request, response| {
        if is_invalid(request) {
            let content =
                json!([{ "type": "text", "text": "MCP error -32602: Invalid arguments" }]);
            response["result"] = json!({ "content": content, "isError": true });
        }
    };
    let as_error: Change = |request, response| {
        if is_invalid(request) {
            response["error"] = json!({ "code": -32602, "message": "Invalid arguments" });
            response.as_object_mut().and_then(|response| response.remove("result"));
        }
    };
    let usual = run(faultless).await;
    for change in [as_text, as_error] {
        let (report, new) = caused(change).await;
        assert_eq!(new, BTreeSet::new());
        assert_eq!(blocked(&report), BTreeSet::new());
        assert_eq!(report.summary.not_applicable, usual.summary.not_applicable);
        assert_eq!(check(&report, "parameters.params_not_object").verdict, Verdict::Pass);
    }
}
