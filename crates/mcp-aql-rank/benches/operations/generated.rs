//! Generated operations for the measurement of time.

use mcp_aql_rank::operations::OperationDocument;

const VERBS: [&str; 8] = ["create", "get", "list", "search", "update", "delete", "send", "export"];
const NOUNS: [&str; 25] = [
    "task", "invoice", "customer", "contract", "meeting", "report", "image", "folder", "message",
    "payment", "order", "product", "shipment", "employee", "contact", "ticket", "comment",
    "branch", "release", "dataset", "chart", "route", "station", "recipe", "account",
];
const QUALITIES: [&str; 5] = ["draft", "archived", "shared", "monthly", "public"];

/// The description of an operation.
pub(crate) struct Operation {
    name: String,
    group: &'static str,
    description: String,
    parameters: Vec<(String, String)>,
}

/// Returns distinct operations, at most as many as there are combinations of the words.
pub(crate) fn operations(count: usize) -> Vec<Operation> {
    let nouns =
        NOUNS.iter().flat_map(|noun| QUALITIES.iter().map(move |quality| (*noun, *quality)));
    let all = nouns
        .flat_map(|(noun, quality)| VERBS.iter().map(move |verb| operation(verb, noun, quality)));
    all.take(count).collect()
}

fn operation(verb: &str, noun: &'static str, quality: &str) -> Operation {
    let parameter =
        |name: &str| (format!("{noun}_{name}"), format!("The {name} of the {quality} {noun}"));
    Operation {
        name: format!("{verb}_{quality}_{noun}"),
        group: noun,
        description: format!(
            "{verb} a {quality} {noun} of the signed-in user. Returns the {noun} with its identifier, or an error if \
             there is none or if the user has no permission. Each {noun} belongs to one project."
        ),
        parameters: ["identifier", "title", "owner", "due date"].map(parameter).into(),
    }
}

impl Operation {
    pub(crate) fn document(&self) -> OperationDocument<'_> {
        let document =
            OperationDocument::new(&self.name).group(self.group, "").description(&self.description);
        self.parameters
            .iter()
            .fold(document, |document, (name, description)| document.parameter(name, description))
    }
}
