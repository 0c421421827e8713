//! Checks that tenants cannot see each other's records.

use serde_json::json;

use crate::service::{ALL_SCOPES, Data};

#[tokio::test]
async fn records_of_another_tenant_do_not_exist() {
    for data in Data::of_each_kind().await {
        let server = data.start().await;
        let ada = server.caller(&data.token("acme", "ada", ALL_SCOPES));
        let bob = server.caller(&data.token("globex", "bob", ALL_SCOPES));
        let project = ada.data("create_project", json!({ "name": "Website" })).await;
        let project = &project["project"]["project_id"];
        let new = json!({ "project_id": project, "title": "Crash", "status": "done" });
        let created = ada.data("create_ticket", new.clone()).await["ticket"].clone();
        assert_eq!([&created["tenant"], &created["created_by"]], ["acme", "ada"]);
        let ticket = &created["ticket_id"];

        let id = json!({ "ticket_id": ticket });
        let change = json!({ "ticket_id": ticket, "input": { "title": "Mine" } });
        let root = json!({
            "root": { "element_type": "ticket", "element_name": ticket }, "direction": "outgoing",
        });
        for (operation, params) in [
            ("get_ticket", id.clone()),
            ("update_ticket", change),
            ("delete_ticket", id.clone()),
            ("get_project", json!({ "project_id": project })),
            ("delete_project", json!({ "project_id": project })),
            ("delete_done_tickets", json!({ "project_id": project })),
            ("query_relationships", root),
        ] {
            assert_eq!(bob.code(operation, params).await, "NOT_FOUND_RESOURCE", "{operation}");
        }
        let count = json!({ "aggregate": { "all": { "count": true } }, "include_items": true });
        for (operation, params) in [
            ("list_tickets", count),
            ("list_tickets", json!({ "filter": { "created_by": "ada" } })),
            ("search_tickets", json!({ "query": "crash" })),
            ("list_projects", json!({})),
        ] {
            let listed = bob.data(operation, params).await;
            assert_eq!(listed["items"], json!([]), "{operation}: {listed}");
            assert!(listed["aggregations"]["all"].as_u64().is_none_or(|all| all == 0), "{listed}");
        }
        // Bob cannot refer to another tenant's project, nor choose a tenant.
        assert_eq!(bob.code("create_ticket", new).await, "VALIDATION_INVALID_VALUE");
        let named = json!({ "name": "Mine", "tenant": "acme" });
        assert_eq!(bob.code("create_project", named).await, "VALIDATION_UNKNOWN_PARAM");
        assert_eq!(ada.data("get_ticket", id).await["ticket"], created);
    }
}

#[tokio::test]
async fn a_cursor_of_another_tenant_is_refused() {
    for data in Data::of_each_kind().await {
        let server = data.start().await;
        let ada = server.caller(&data.token("acme", "ada", ALL_SCOPES));
        let bob = server.caller(&data.token("globex", "bob", ALL_SCOPES));
        for caller in [&ada, &bob] {
            for name in ["A", "B", "C"] {
                caller.data("create_project", json!({ "name": name })).await;
            }
        }
        let first = ada.data("list_projects", json!({ "first": 1 })).await;
        let rest = json!({ "first": 10, "after": first["pageInfo"]["endCursor"] });
        let code = bob.code("list_projects", rest.clone()).await;
        assert_eq!(code, "VALIDATION_INVALID_VALUE");
        let rest = ada.data("list_projects", rest).await;
        assert_eq!(rest["items"].as_array().map(Vec::len), Some(2), "{rest}");
    }
}

#[tokio::test]
async fn executions_and_confirmations_of_another_tenant_do_not_exist() {
    for data in Data::of_each_kind().await {
        let server = data.start().await;
        let ada = server.caller(&data.token("acme", "ada", ALL_SCOPES));
        let bob = server.caller(&data.token("globex", "bob", ALL_SCOPES));
        let begun = ada.data("export_tickets", json!({})).await;
        let id = json!({ "execution_id": begun["execution_id"] });
        for operation in ["get_execution", "cancel_execution", "retry_execution"] {
            assert_eq!(bob.code(operation, id.clone()).await, "NOT_FOUND_RESOURCE", "{operation}");
        }
        assert_eq!(bob.data("list_executions", json!({})).await["items"], json!([]));
        let listed = ada.data("list_executions", json!({})).await;
        assert_eq!(listed["items"][0]["execution_id"], begun["execution_id"]);

        let mut projects = Vec::new();
        for caller in [&ada, &bob] {
            let created = caller.data("create_project", json!({ "name": "Website" })).await;
            projects.push(created["project"]["project_id"].clone());
        }
        let of_ada = json!({ "project_id": projects[0] });
        let token = ada.ask("delete_project", of_ada).await;
        // The token is bound to the caller, so even a colleague of the same tenant cannot use it.
        let carol = server.caller(&data.token("acme", "carol", ALL_SCOPES));
        let confirmed = json!({ "project_id": projects[0], "_confirmation": token });
        let stolen = json!({ "project_id": projects[1], "_confirmation": token });
        for (caller, params) in [(&bob, stolen), (&carol, confirmed.clone())] {
            let code = caller.code("delete_project", params).await;
            assert!(code.starts_with("TOKEN_"), "{code}");
        }
        ada.data("delete_project", confirmed).await;
    }
}
