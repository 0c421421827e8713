//! Each operation requires its own scope.

use serde_json::json;

use crate::service::{ALL_SCOPES, Data};

#[tokio::test]
async fn an_operation_needs_its_scope() {
    let data = Data::in_sqlite();
    let server = data.start().await;
    let ada = server.caller(&data.token("acme", "ada", ALL_SCOPES));
    let project = ada.data("create_project", json!({ "name": "Website" })).await;
    let project = json!({ "project_id": project["project"]["project_id"] });
    for (scope, operation, params, required) in [
        ("team:read", "create_project", json!({ "name": "A" }), "team:create"),
        ("team:read", "export_tickets", json!({}), "team:execute"),
        ("team:create", "list_tickets", json!({}), "team:read"),
        // The cleanup is a DELETE, but requires its own scope instead of that of its category.
        ("team:delete", "delete_done_tickets", project.clone(), "team:cleanup"),
        ("team:cleanup", "delete_project", project, "team:delete"),
    ] {
        let caller = server.caller(&data.token("acme", "eve", scope));
        let (status, reply) = caller.try_call(operation, params).await.unwrap();
        assert_eq!(status, 403, "{reply}");
        assert_eq!(reply["error"]["code"], "PERMISSION_DENIED", "{reply}");
        assert_eq!(reply["error"]["details"]["required_scope"], required, "{reply}");
    }
}

#[tokio::test]
async fn a_caller_sees_its_own_operations() {
    let data = Data::in_sqlite();
    let server = data.start().await;
    let eve = server.caller(&data.token("acme", "eve", "team:read"));
    let listed = eve.data("introspect", json!({ "query": "operations" })).await;
    for operation in listed["operations"].as_array().unwrap() {
        assert_eq!(operation["semantic_category"], "READ", "{operation}");
    }
}

#[tokio::test]
async fn a_token_of_another_issuer_is_refused() {
    let (data, other) = (Data::in_sqlite(), Data::in_sqlite());
    let server = data.start().await;
    let forged = server.caller(&other.token("acme", "ada", ALL_SCOPES));
    let error = forged.try_call("list_tickets", json!({})).await.unwrap_err().to_string();
    assert!(error.starts_with("401: ") && error.contains("invalid_token"), "{error}");
}
