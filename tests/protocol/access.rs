//! Tests authenticated callers: the scopes that they need, what they can see, and values from their claims.

use mcp_aql::auth::{Access, Principal};
use mcp_aql::gatekeeper::Condition;
use mcp_aql::prelude::*;
use mcp_aql::query::CursorKey;
use mcp_aql::transport::{CallScope, Endpoint, Extensions};
use mcp_aql::{AdapterBuilder, ExecutionOptions, Policy};
use serde_json::{Map, Value, json};

use crate::support::AuditLines;

/// A sheet of paper.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sheet {
    /// The text.
    text: String,
}

/// A drawer, which only the archivist sees.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Drawer {
    /// The number.
    number: u32,
}

/// Get a sheet.
#[operation(category = "READ")]
fn get_sheet() -> Sheet {
    Sheet { text: "Ship it".to_owned() }
}

/// Get a drawer.
#[operation(category = "READ", scope = "papers:archive")]
fn get_drawer(
    /// The number.
    number: u32,
) -> Drawer {
    Drawer { number }
}

/// Delete a sheet.
#[operation(category = "DELETE", danger(level = "reversible"))]
fn delete_sheet() {}

/// Return the caller's tenant.
#[operation(category = "READ")]
fn get_tenant(
    #[param(from_claim = "tenant")] tenant: String,
    #[param(from_claim = "floor")] floor: Option<u8>,
) -> String {
    format!("{tenant} {floor:?}")
}

/// Execute an export in the background.
#[operation(category = "EXECUTE", lifecycle(retry))]
async fn execute_export(#[param(from_claim = "tenant")] tenant: String) -> String {
    tenant
}

fn papers() -> AdapterBuilder {
    Adapter::builder("papers")
        .operation(get_sheet {})
        .operation(get_drawer {})
        .operation(delete_sheet {})
        .operation(get_tenant {})
        .operation(execute_export {})
        .without_config()
}

fn ada(scopes: &[&str]) -> Principal {
    Principal::new("https://login.test", "ada").with_scopes(scopes.iter().copied())
}

async fn call_as(adapter: &Adapter, who: &Principal, operation: &str, params: Value) -> Value {
    let result = adapter.with_extension(who.clone()).call(operation, params).await;
    match result.error() {
        Some(error) => {
            json!({ "code": error.code, "message": error.message, "details": error.details })
        }
        None => result.data().clone(),
    }
}

#[tokio::test]
async fn a_call_needs_the_scope_of_its_operation() {
    let adapter = papers().build().unwrap();
    for (scopes, operation, missing) in [
        (&["papers:read"][..], "get_sheet", None),
        (&["papers:delete"], "get_sheet", Some("papers:read")),
        (&["papers:read"], "get_drawer", Some("papers:archive")),
        (&["papers:archive"], "get_drawer", None),
        (&["papers:read"], "delete_sheet", Some("papers:delete")),
        (&["PAPERS:delete", "papers:*", "papers"], "delete_sheet", Some("papers:delete")),
        (&["papers:read"], "list_executions", None),
        (&["papers:delete"], "list_executions", Some("papers:read")),
        (&[], "introspect", None),
    ] {
        // The call must fail because of the scope, even if its parameters are invalid. Their errors would describe the
        // operation.
        let params = match (missing, operation) {
            (Some(_), _) => json!({ "unknown": 1 }),
            (None, "get_drawer") => json!({ "number": 1 }),
            (None, "introspect") => json!({ "query": "operations" }),
            (None, _) => json!({}),
        };
        let answer = call_as(&adapter, &ada(scopes), operation, params).await;
        match missing {
            None => assert_eq!(answer.get("code"), None, "{operation}: {answer}"),
            Some(scope) => {
                assert_eq!(answer["code"], "PERMISSION_DENIED", "{operation}: {answer}");
                assert_eq!(answer["details"]["required_scope"], scope);
                assert!(answer["message"].as_str().unwrap().contains(scope), "{answer}");
            }
        }
    }
    // The program that embeds the adapter needs no scopes.
    assert_eq!(adapter.call("delete_sheet", json!({})).await.code(), None);
}

#[tokio::test]
async fn a_batch_is_permitted_item_by_item() {
    let adapter = papers().build().unwrap().with_extension(ada(&["papers:read"]));
    let items = json!([{ "operation": "get_sheet" }, { "operation": "delete_sheet" }]);
    let arguments = Map::from_iter([("operations".to_owned(), items)]);
    let endpoint = mcp_aql::transport::Endpoint::Unified;
    let reply = adapter.handle(endpoint, arguments, mcp_aql::transport::CallScope::default()).await;
    let reply: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(reply["results"][0]["result"]["success"], true, "{reply}");
    assert_eq!(reply["results"][1]["result"]["error"]["code"], "PERMISSION_DENIED", "{reply}");
}

#[tokio::test]
async fn settings_of_scopes_apply() {
    let prefixed = papers().access(Access::new().prefix("p")).build().unwrap();
    let answer = call_as(&prefixed, &ada(&["papers:read"]), "get_sheet", json!({})).await;
    assert_eq!(answer["details"]["required_scope"], "p:read");
    let open = papers().access(Access::new().category_scopes(false)).build().unwrap();
    assert_eq!(call_as(&open, &ada(&[]), "get_sheet", json!({})).await["sheet"]["text"], "Ship it");
    let archive = call_as(&open, &ada(&[]), "get_drawer", json!({ "number": 1 })).await;
    assert_eq!(archive["code"], "PERMISSION_DENIED");
    let required = papers().access(Access::new().require_principal(true)).build().unwrap();
    for operation in ["get_sheet", "introspect"] {
        let refused = required.call(operation, json!({})).await;
        assert_eq!(refused.code(), Some("PERMISSION_DENIED"), "{operation}");
    }
    let invalid = papers().access(Access::new().prefix("a b")).build().unwrap_err();
    assert!(invalid.to_string().contains("`a b` is not a scope"), "{invalid}");
    let odd =
        Adapter::builder("my papers").operation(get_sheet {}).without_config().build().unwrap();
    assert_eq!(
        call_as(&odd, &ada(&["my-papers:read"]), "get_sheet", json!({})).await["sheet"]["text"],
        "Ship it"
    );
}

#[tokio::test]
async fn introspection_shows_only_what_the_caller_may_call() {
    let adapter = papers().build().unwrap();
    let reader = ada(&["papers:read"]);
    for params in [
        json!({ "query": "operations" }),
        json!({ "query": "operations", "parameters": true }),
        json!({ "query": "operations", "first": 50 }),
        json!({ "query": "danger" }),
    ] {
        let answer = call_as(&adapter, &reader, "introspect", params.clone()).await;
        let names = self::names(&answer);
        assert!(names.iter().any(|name| name == "get_sheet"), "{params}: {names:?}");
        for hidden in ["get_drawer", "delete_sheet", "execute_export", "cancel_execution"] {
            assert!(!names.iter().any(|name| name == hidden), "{params}: {names:?}");
        }
        let whole = self::names(adapter.call("introspect", params).await.data());
        assert!(whole.iter().any(|name| name == "delete_sheet"));
    }
    let detail = json!({ "query": "operations", "name": "get_drawer" });
    assert_eq!(
        call_as(&adapter, &reader, "introspect", detail.clone()).await["operation"],
        Value::Null
    );
    let archivist = ada(&["papers:archive"]);
    let shown = call_as(&adapter, &archivist, "introspect", detail).await;
    assert_eq!(shown["operation"]["name"], "get_drawer");
    let danger = json!({ "query": "danger", "name": "delete_sheet" });
    assert_eq!(call_as(&adapter, &reader, "introspect", danger).await["operation"], Value::Null);
    let found = json!({ "query": "operations", "search": "delete a sheet" });
    let found = call_as(&adapter, &reader, "introspect", found).await;
    assert!(!found.to_string().contains("delete_sheet"), "{found}");
    let types =
        call_as(&adapter, &reader, "introspect", json!({ "query": "types" })).await.to_string();
    assert!(types.contains("\"Sheet\"") && types.contains("ErrorDetail"), "{types}");
    assert!(!types.contains("Drawer"), "{types}");
    // A hint about a misspelled name must not mention hidden operations.
    let hint = call_as(&adapter, &reader, "delete_sheets", json!({})).await;
    assert_eq!(hint["code"], "NOT_FOUND_OPERATION");
    assert!(!hint.to_string().contains("'delete_sheet'"), "{hint}");
}

/// List orders.
#[operation(category = "READ")]
fn list_orders() {}

/// Search orders.
#[operation(category = "READ", scope = "orders:search")]
fn search_orders(
    /// The words.
    query: String,
) {
    drop(query);
}

/// Count orders.
#[operation(category = "READ", deprecated(replacement = "search_orders"))]
fn count_orders() {}

#[tokio::test]
async fn hints_name_only_operations_that_the_caller_may_call() {
    // REQ-INT-32, REQ-WRN-07
    let adapter = Adapter::builder("orders")
        .operation(list_orders {})
        .operation(search_orders {})
        .operation(count_orders {})
        .without_config();
    let adapter = adapter.build().unwrap();
    let list = |further: Value| {
        let mut params = json!({ "query": "operations" });
        params.as_object_mut().unwrap().extend(further.as_object().cloned().unwrap());
        ("introspect", params)
    };
    for (scopes, is_shown) in
        [(&["orders:read"][..], false), (&["orders:read", "orders:search"], true)]
    {
        let caller = adapter.with_extension(ada(scopes));
        for (operation, params) in [
            ("list_orders", json!({ "query": "tea" })),
            ("count_orders", json!({})),
            ("search_order", json!({})),
            list(json!({ "prefix": "count" })),
            list(json!({ "prefix": "count", "parameters": true })),
            list(json!({ "name": "count_orders" })),
        ] {
            let call = json!({ "operation": operation, "params": params });
            let call = call.as_object().cloned().unwrap();
            let reply = caller.handle(Endpoint::Unified, call, CallScope::default()).await;
            let is_named = reply.text.contains("search_orders");
            assert_eq!(is_named, is_shown, "{operation} {params}: {}", reply.text);
        }
        // The endpoint of creations offers neither of both.
        let call = Map::from_iter([("operation".to_owned(), "search_orders".into())]);
        let reply = caller.handle(Endpoint::Family(0), call, CallScope::default()).await;
        assert_eq!(reply.text.contains("belongs to tool"), is_shown, "{}", reply.text);
    }
}

fn names(answer: &Value) -> Vec<String> {
    let listed = answer["operations"].as_array().unwrap();
    listed.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn arguments_come_from_claims() {
    let adapter = papers().build().unwrap();
    let reader = ada(&["papers:read", "papers:execute"]);
    let north = reader.clone().with_claim("tenant", "north");
    assert_eq!(call_as(&adapter, &north, "get_tenant", json!({})).await, "north None");
    let second = north.clone().with_claim("floor", 2);
    assert_eq!(call_as(&adapter, &second, "get_tenant", json!({})).await, "north Some(2)");
    // Callers can neither set nor see these parameters.
    let sent = call_as(&adapter, &north, "get_tenant", json!({ "tenant": "south" })).await;
    assert_eq!(sent["code"], "VALIDATION_UNKNOWN_PARAM");
    let detail = json!({ "query": "operations", "name": "get_tenant" });
    let detail = call_as(&adapter, &north, "introspect", detail).await;
    assert_eq!(detail["operation"]["parameters"], json!([]));
    // The claim is checked before the parameters are described, and before an execution is started.
    let calls = [
        ("get_tenant", json!({})),
        ("get_tenant", json!({ "tenant": "south" })),
        ("execute_export", json!({})),
    ];
    for lacking in [reader.clone(), reader.with_claim("tenant", 7)] {
        for (operation, params) in &calls {
            let refused = call_as(&adapter, &lacking, operation, params.clone()).await;
            assert_eq!(refused["code"], "PERMISSION_DENIED", "{refused}");
            assert_eq!(refused["details"]["required_claim"], "tenant");
        }
        let list =
            call_as(&adapter, &lacking, "introspect", json!({ "query": "operations" })).await;
        assert!(list.to_string().contains("get_sheet"), "{list}");
        assert!(!list.to_string().contains("get_tenant"), "{list}");
    }
    let local = adapter.call("get_tenant", json!({})).await;
    assert_eq!(local.code(), Some("PERMISSION_DENIED"));
    let begun = call_as(&adapter, &north, "execute_export", json!({})).await;
    let wait = json!({ "execution_id": begun["execution_id"], "wait_seconds": 5 });
    assert_eq!(call_as(&adapter, &north, "get_execution", wait).await["result"], "north");
}

#[tokio::test]
async fn an_execution_belongs_to_the_claims_of_the_call_that_began_it() {
    // Like a service account, one subject acts for several tenants.
    let adapter = papers().build().unwrap();
    let of = |tenant: &str| {
        ada(&["papers:read", "papers:execute"])
            .with_claim("tenant", tenant)
            .with_claim("jti", tenant)
    };
    let begun = call_as(&adapter, &of("north"), "execute_export", json!({})).await;
    let id = begun["execution_id"].clone();
    let nobody = ada(&["papers:read", "papers:execute"]);
    for (caller, is_own) in [(of("south"), false), (nobody, false), (of("north"), true)] {
        let wait = json!({ "execution_id": id, "wait_seconds": 5 });
        let state = call_as(&adapter, &caller, "get_execution", wait).await;
        let list = call_as(&adapter, &caller, "list_executions", json!({})).await;
        let listed = list.to_string().contains(id.as_str().unwrap());
        let retry = json!({ "execution_id": id });
        let retried = call_as(&adapter, &caller, "retry_execution", retry).await;
        assert_eq!((state["result"] == "north", listed), (is_own, is_own), "{state} {list}");
        assert_eq!(retried["code"] == "NOT_FOUND_RESOURCE", !is_own, "{retried}");
    }
}

/// Ship a sheet, which takes forever.
#[operation(category = "EXECUTE", lifecycle)]
async fn execute_shipping() {
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn the_limits_and_cursors_of_executions_belong_to_the_claims() {
    // REQ-RATE-02, REQ-PAG-10
    let options = ExecutionOptions::new().max_running_per_session(2);
    let adapter = papers().operation(execute_shipping {}).executions(options).build().unwrap();
    let of = |tenant: &str| ada(&["papers:read", "papers:execute"]).with_claim("tenant", tenant);
    for tenant in ["north", "south"] {
        for expected in [&Value::Null, &Value::Null, &json!("RATE_LIMIT_EXCEEDED")] {
            let begun = call_as(&adapter, &of(tenant), "execute_shipping", json!({})).await;
            assert_eq!(&begun["code"], expected, "{tenant}: {begun}");
        }
    }
    let list = async |tenant: &str, params: Value| {
        call_as(&adapter, &of(tenant), "list_executions", params).await
    };
    let first = list("north", json!({ "first": 1 })).await;
    let after = json!({ "first": 1, "after": first["pageInfo"]["endCursor"] });
    assert_eq!(list("north", after.clone()).await["items"].as_array().unwrap().len(), 1);
    assert_eq!(list("south", after).await["code"], "VALIDATION_INVALID_VALUE");
}

#[tokio::test]
async fn a_subject_may_be_long() {
    let adapter = papers().operation(delete_papers {}).build().unwrap();
    let long = Principal::new("https://login.test", &"a".repeat(2_000))
        .with_scopes(["papers:read", "papers:execute", "papers:delete"])
        .with_claim("tenant", "north");
    let begun = call_as(&adapter, &long, "execute_export", json!({})).await;
    let wait = json!({ "execution_id": begun["execution_id"], "wait_seconds": 5 });
    assert_eq!(call_as(&adapter, &long, "get_execution", wait).await["result"], "north");
    let list = call_as(&adapter, &long, "list_executions", json!({})).await;
    assert_eq!(list["items"][0]["execution_id"], begun["execution_id"], "{list}");
    let asked = call_as(&adapter, &long, "delete_papers", json!({})).await;
    let token = json!({ "_confirmation": asked["details"]["confirmation_token"] });
    assert_eq!(call_as(&adapter, &long, "delete_papers", token).await, "north");
}

/// Delete the papers of the caller's tenant.
#[operation(category = "DELETE", danger(level = "destructive"))]
fn delete_papers(#[param(from_claim = "tenant")] tenant: String) -> String {
    tenant
}

fn tenant_of(context: &Context) -> String {
    let claim = context.principal().and_then(|principal| principal.claim("tenant"));
    claim.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Delete the drafts of the caller's tenant.
#[operation(category = "DELETE", danger(level = "destructive"))]
fn delete_drafts(context: Context) -> String {
    tenant_of(&context)
}

/// Report on the caller's tenant.
#[operation(category = "EXECUTE", lifecycle(cancel, retry))]
async fn execute_report(context: Context) -> String {
    tenant_of(&context)
}

#[tokio::test]
async fn what_belongs_to_a_tenant_needs_no_argument_from_a_claim() {
    // REQ-TOK-03
    let policy = Policy::confirm("delete_drafts").for_session(std::time::Duration::from_secs(300));
    let adapter = Adapter::builder("drafts")
        .operation(delete_drafts {})
        .operation(execute_report {})
        .policy(policy)
        .without_config();
    let adapter = adapter.build().unwrap();
    let of = |tenant: &str| {
        ada(&["drafts:read", "drafts:delete", "drafts:execute"]).with_claim("tenant", tenant)
    };
    let begun = call_as(&adapter, &of("north"), "execute_report", json!({})).await;
    let wait = json!({ "execution_id": begun["execution_id"], "wait_seconds": 5 });
    let state = call_as(&adapter, &of("south"), "get_execution", wait.clone()).await;
    assert_eq!(state["code"], "NOT_FOUND_RESOURCE", "{state}");
    assert_eq!(call_as(&adapter, &of("north"), "get_execution", wait).await["result"], "north");

    // A program may use the same session for both tenants.
    let session = Session::new();
    let call = async |tenant: &str, params: Value| {
        let mut extensions = Extensions::default();
        extensions.insert(of(tenant));
        let session = Some(session.clone());
        let scope = CallScope { session, extensions, ..CallScope::default() };
        let call = json!({ "operation": "delete_drafts", "params": params });
        let call = call.as_object().cloned().unwrap();
        let reply = adapter.handle(Endpoint::Unified, call, scope).await;
        serde_json::from_str::<Value>(&reply.text).unwrap()
    };
    let asked = call("north", json!({})).await;
    let token = json!({ "_confirmation": asked["error"]["details"]["confirmation_token"] });
    let other = call("south", token.clone()).await;
    assert_eq!(other["error"]["code"], "TOKEN_SCOPE_MISMATCH", "{other}");
    assert_eq!(call("north", token).await["data"], "north");
    assert_eq!(call("north", json!({})).await["data"], "north", "confirmed for the session");
    let other = call("south", json!({})).await;
    assert_eq!(other["error"]["code"], "CONFIRMATION_REQUIRED", "{other}");
}

/// Return the caller's client.
#[operation(category = "EXECUTE", lifecycle(retry))]
async fn execute_client_report(#[param(from_claim = "client_id")] client: String) -> String {
    client
}

/// Delete the files of the caller's client.
#[operation(category = "DELETE", danger(level = "destructive"))]
fn delete_files(#[param(from_claim = "client_id")] client: String) -> String {
    client
}

#[tokio::test]
async fn what_belongs_to_a_client_is_not_for_another_client() {
    // REQ-TOK-03
    let adapter = Adapter::builder("files")
        .operation(execute_client_report {})
        .operation(delete_files {})
        .without_config();
    let adapter = adapter.build().unwrap();
    let of = |client: &str| {
        ada(&["files:read", "files:delete", "files:execute"]).with_claim("client_id", client)
    };
    let begun = call_as(&adapter, &of("acme"), "execute_client_report", json!({})).await;
    let id = begun["execution_id"].as_str().unwrap();
    let wait = json!({ "execution_id": id, "wait_seconds": 5 });
    let state = call_as(&adapter, &of("beta"), "get_execution", wait.clone()).await;
    assert_eq!(state["code"], "NOT_FOUND_RESOURCE", "{state}");
    let list = call_as(&adapter, &of("beta"), "list_executions", json!({})).await;
    assert!(!list.to_string().contains(id), "{list}");
    assert_eq!(call_as(&adapter, &of("acme"), "get_execution", wait).await["result"], "acme");
    let asked = call_as(&adapter, &of("acme"), "delete_files", json!({})).await;
    let token = json!({ "_confirmation": asked["details"]["confirmation_token"] });
    let other = call_as(&adapter, &of("beta"), "delete_files", token.clone()).await;
    assert_eq!(other["code"], "TOKEN_SCOPE_MISMATCH", "{other}");
    assert_eq!(call_as(&adapter, &of("acme"), "delete_files", token).await, "acme");
}

#[tokio::test]
async fn a_confirmation_is_for_the_claims_of_the_call() {
    // REQ-TOK-03
    let adapter = Adapter::builder("papers").operation(delete_papers {}).without_config();
    let adapter = adapter.build().unwrap();
    let of = |tenant: &str| ada(&["papers:delete"]).with_claim("tenant", tenant);
    let asked = call_as(&adapter, &of("north"), "delete_papers", json!({})).await;
    let token = json!({ "_confirmation": asked["details"]["confirmation_token"] });
    let other = call_as(&adapter, &of("south"), "delete_papers", token.clone()).await;
    assert_eq!(other["code"], "TOKEN_SCOPE_MISMATCH", "{other}");
    assert_eq!(call_as(&adapter, &of("north"), "delete_papers", token).await, "north");
}

#[tokio::test]
async fn policies_look_at_the_caller() {
    // REQ-GATE-04
    let policy = Policy::deny("get_sheet").when(Condition::claim_is_not("tenant", ["north"]));
    let adapter = papers().policy(policy).build().unwrap();
    let reader = ada(&["papers:read"]);
    let refused = call_as(&adapter, &reader, "get_sheet", json!({})).await;
    assert_eq!(refused["code"], "PERMISSION_DENIED");
    let north = reader.with_claim("tenant", "north");
    assert_eq!(call_as(&adapter, &north, "get_sheet", json!({})).await["sheet"]["text"], "Ship it");
}

#[tokio::test]
async fn the_audit_log_names_the_principal() {
    // REQ-GATE-09
    let lines = AuditLines::default();
    let adapter = papers().audit_sink(lines.clone()).build().unwrap();
    let reader = ada(&["papers:read"]);
    call_as(&adapter, &reader, "get_sheet", json!({})).await;
    call_as(&adapter, &reader, "delete_sheet", json!({})).await;
    let lines = lines.0.lock().unwrap();
    let events: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["event"].as_str().unwrap(),
                line["operation"].as_str().unwrap(),
                line["principal"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        events,
        [
            ("OPERATION_ALLOWED", "get_sheet", "https://login.test ada"),
            ("OPERATION_DENIED", "delete_sheet", "https://login.test ada"),
        ]
    );
    assert!(lines[1]["reason"].as_str().unwrap().contains("papers:delete"));
}

/// A shelf.
#[derive(Clone, serde::Serialize, schemars::JsonSchema, Resource)]
struct Shelf {
    /// Number.
    #[resource(id, sort)]
    shelf_id: u32,
}

/// List shelves.
#[operation(category = "READ")]
fn list_shelves(query: CollectionQuery<Shelf>) -> Result<Page<Shelf>, mcp_aql::OperationError> {
    query.run((1..=5).map(|shelf_id| Shelf { shelf_id }))
}

#[tokio::test]
async fn cursors_belong_to_their_principal() {
    // REQ-PAG-10
    let process = || {
        let builder = Adapter::builder("papers").operation(list_shelves {});
        builder.cursor_key(CursorKey::new([7; 16])).without_config().build().unwrap()
    };
    let (adapter, other_process) = (process(), process());
    let ada = ada(&["papers:read"]);
    let eve = Principal::new("https://login.test", "eve").with_scopes(["papers:read"]);
    let namesake = Principal::new("https://other.test", "ada").with_scopes(["papers:read"]);
    let first = call_as(&adapter, &ada, "list_shelves", json!({ "last": 2 })).await;
    let before = json!({ "last": 2, "before": first["pageInfo"]["startCursor"] });
    for adapter in [&adapter, &other_process] {
        let page = call_as(adapter, &ada, "list_shelves", before.clone()).await;
        assert_eq!(page["items"], json!([{ "shelf_id": 2 }, { "shelf_id": 3 }]), "{page}");
        for other in [&eve, &namesake] {
            let refused = call_as(adapter, other, "list_shelves", before.clone()).await;
            assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{refused}");
        }
    }
    let refused = adapter.call("list_shelves", before).await;
    assert_eq!(refused.error().unwrap().code, "VALIDATION_INVALID_VALUE");
    let of_nobody = adapter.call("list_shelves", json!({ "first": 2 })).await;
    let after = json!({ "first": 2, "after": of_nobody.data()["pageInfo"]["endCursor"] });
    let next = other_process.call("list_shelves", after.clone()).await;
    assert!(next.error().is_none(), "{next:?}");
    let refused = call_as(&adapter, &ada, "list_shelves", after).await;
    assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{refused}");
}
