//! Broken adapters for the checks of the area `modes`.

use mcp_aql_conformance::Mode;
use serde_json::json;

use super::{Fault, Tamper, calls};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "semantic-whatever-is-asked",
        check: "modes.both",
        neighbours: &["modes.env"],
        tamper: Tamper::Garden(|options| options.mode = |_| Mode::Semantic),
    },
    Fault {
        name: "deaf-to-the-environment",
        check: "modes.env",
        neighbours: &["modes.both", "modes.default"],
        tamper: Tamper::Garden(|options| options.mode = |_| Mode::Single),
    },
    Fault {
        name: "single-mode-returns-something-else",
        check: "modes.same_operations",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect")
                && let Some(details) = body.pointer_mut("/data/operation")
                && details["name"] == "get_house"
                && details["mcpTool"] == "mcp_aql"
            {
                details["returns"] = json!({ "name": "Bed", "kind": "object" });
            }
        }),
    },
    Fault {
        name: "always-says-single",
        check: "modes.stated",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if let Some(protocol) = body.pointer_mut("/data/_protocol") {
                protocol["mode"] = json!("single");
            }
        }),
    },
    Fault {
        name: "single-by-default",
        check: "modes.default",
        neighbours: &[],
        tamper: Tamper::Garden(|options| options.mode = |mode| mode.unwrap_or(Mode::Single)),
    },
];
