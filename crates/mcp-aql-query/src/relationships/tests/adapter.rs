//! Tests of complete calls through an adapter.

use mcp_aql_core::OperationResult;
use serde_json::{Value, json};

use super::{Bed, bed, edges, from_a};
use crate::prelude::*;
use crate::{Edge, EdgeRequest, ElementRef, RelationshipSource};

struct Garden(Vec<Edge>);

impl RelationshipSource for Garden {
    type Error = GardenError;

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, GardenError> {
        self.0.edges(at).await.map_err(|_| GardenError::Flooded)
    }

    async fn check_root(&self, root: &ElementRef) -> Result<(), GardenError> {
        let known = *root == bed("a") || *root == bed("b");
        known.then_some(()).ok_or_else(|| GardenError::NoBed(root.element_name.clone()))
    }
}

#[derive(Debug)]
enum GardenError {
    NoBed(String),
    Flooded,
}

impl From<GardenError> for OperationError {
    fn from(error: GardenError) -> Self {
        match error {
            GardenError::NoBed(name) => Self::not_found("bed", name),
            GardenError::Flooded => Self::internal("the garden is under water"),
        }
    }
}

#[operations]
impl Garden {
    /// Follow what depends on what in the garden.
    #[operation(category = "READ")]
    async fn query_relationships(
        &self,
        #[query(max_depth = 3, page_size = 2, max_page_size = 2)] query: RelationshipQuery<Bed>,
        context: Context,
    ) -> Result<RelationshipGraph, GardenError> {
        query.visit_at_most(3).run(self, &context).await
    }
}

fn garden() -> Adapter {
    let edges = edges(["a uses b", "b uses c", "b shades d", "c uses a"]);
    Adapter::builder("garden").operations(Garden(edges)).build().unwrap()
}

async fn called(adapter: &Adapter, params: Value) -> Value {
    reply_json(adapter.call("query_relationships", params).await)
}

/// Returns the complete reply.
fn reply_json(result: OperationResult) -> Value {
    match result {
        OperationResult::Success { data, reply } => {
            let mut reply = Value::Object(reply);
            reply["data"] = data;
            reply
        }
        OperationResult::Failure(error) => {
            json!({ "success": false, "error": { "code": error.code, "details": error.details } })
        }
    }
}

#[tokio::test]
async fn a_call_is_answered_with_the_graph_itself() {
    // REQ-REL-01, REQ-REL-04, REQ-PAG-08
    let adapter = garden();
    let reply = called(&adapter, from_a("outgoing", json!({ "first": 50 }))).await;
    assert_eq!(reply["success"], true, "{reply}");
    assert_eq!(reply["data"]["root"]["element_name"], "a");
    assert_eq!(reply["data"]["graph"]["edges"][0]["target"], "bed:b");
    assert_eq!(reply["warnings"][0]["code"], "VALIDATION_PAGE_SIZE_WARNING");
}

#[tokio::test]
async fn a_walk_that_is_cut_off_warns_the_caller() {
    // REQ-REL-06, REQ-WRN-08
    let adapter = garden();
    let page = |after: Value| from_a("outgoing", json!({ "depth": 3, "first": 1, "after": after }));
    let first = called(&adapter, page(json!(null))).await;
    assert_eq!(first["data"]["pageInfo"]["hasNextPage"], true);
    assert_eq!(first["warnings"], json!(null));
    let last = called(&adapter, page(first["data"]["pageInfo"]["endCursor"].clone())).await;
    assert_eq!(last["data"]["pageInfo"]["hasNextPage"], false);
    let [warning] = last["warnings"].as_array().unwrap().as_slice() else { panic!("{last}") };
    assert_eq!(warning["code"], "VALIDATION_TRUNCATED_WARNING");
    assert_eq!(
        warning["details"],
        json!({ "field": "graph.nodes", "original_count": 4, "truncated_count": 3, "limit": 3 })
    );
}

#[tokio::test]
async fn rejects_meaningless_parameters() {
    // REQ-REL-01, REQ-REL-02, REQ-REL-07, REQ-PAG-02
    let adapter = garden();
    let root = json!({ "element_type": "bed", "element_name": "a" });
    for (params, code, param) in [
        (json!({ "direction": "both" }), "VALIDATION_MISSING_PARAM", "root"),
        (json!({ "root": root }), "VALIDATION_MISSING_PARAM", "direction"),
        (from_a("sideways", json!({})), "VALIDATION_INVALID_VALUE", "direction"),
        (
            from_a("both", json!({ "relationship": "eats" })),
            "VALIDATION_INVALID_VALUE",
            "relationship",
        ),
        (from_a("both", json!({ "depth": 0 })), "VALIDATION_INVALID_VALUE", "depth"),
        (from_a("both", json!({ "depth": 4 })), "VALIDATION_INVALID_VALUE", "depth"),
        (from_a("both", json!({ "depth": "2" })), "VALIDATION_INVALID_TYPE", "depth"),
        (from_a("both", json!({ "include": [] })), "VALIDATION_INVALID_VALUE", "include"),
        (from_a("both", json!({ "include": ["graph"] })), "VALIDATION_INVALID_VALUE", "include[0]"),
        (from_a("both", json!({ "after": "abc" })), "VALIDATION_INVALID_TYPE", "pagination"),
        (from_a("both", json!({ "fields": ["root"] })), "VALIDATION_UNKNOWN_PARAM", "fields"),
        (
            json!({ "root": { "element_type": "bed", "element_name": "z" }, "direction": "both" }),
            "NOT_FOUND_RESOURCE",
            "",
        ),
    ] {
        let reply = called(&adapter, params.clone()).await;
        assert_eq!(reply["error"]["code"], code, "{params} {reply}");
        let details = &reply["error"]["details"];
        if !param.is_empty() {
            assert!(details.to_string().contains(&format!("\"{param}\"")), "{params} {reply}");
        }
    }
    let deepest = called(&adapter, from_a("both", json!({ "depth": 3 }))).await;
    assert_eq!(deepest["success"], true);
}

#[tokio::test]
async fn introspection_describes_the_query() {
    // REQ-REL-01, REQ-REL-02, REQ-REL-05, REQ-REL-07, REQ-INT-10
    let adapter = garden();
    let details =
        adapter.call("introspect", json!({ "query": "operations", "name": "query_relationships" }));
    let reply = reply_json(details.await);
    let operation = &reply["data"]["operation"];
    assert_eq!(
        operation["relationship_capabilities"],
        json!({
            "supported": true,
            "directions": ["incoming", "outgoing", "both"],
            "relationship_types": ["uses", "shades"],
            "max_depth": 3,
        })
    );
    assert_eq!(operation["returns"]["name"], "RelationshipGraph");
    assert_eq!(operation["parameters"][0]["type"], "RelationshipRoot");
    assert_eq!(operation["parameters"][3]["maximum"], 3);
    let example = &operation["examples"][0]["request"]["params"];
    assert_eq!(example["relationship"], "uses", "{operation}");
    let reply = called(&adapter, example.clone()).await;
    assert_eq!(reply["error"]["code"], "NOT_FOUND_RESOURCE", "{reply}");
    for (name, kind) in [
        ("RelationshipRoot", "object"),
        ("RelationshipGraph", "object"),
        ("RelationshipSide", "enum"),
    ] {
        let reply = adapter.call("introspect", json!({ "query": "types", "name": name })).await;
        let reply = reply_json(reply);
        assert_eq!(reply["data"]["type"]["kind"], kind, "{name} {reply}");
    }
    let list = adapter.call("introspect", json!({ "query": "operations" })).await;
    let list = reply_json(list);
    assert_eq!(list["data"]["_protocol"]["capabilities"]["relationship_queries"], true, "{list}");
}
