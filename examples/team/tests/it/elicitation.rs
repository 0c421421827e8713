//! Confirms a cleanup by elicitation: the client asks its user.

use serde_json::{Value, json};

use crate::service::{ALL_SCOPES, Data};

#[tokio::test]
async fn a_question_of_one_process_is_answered_at_the_other() {
    for data in Data::of_each_kind().await {
        let servers = [data.start().await, data.start().await];
        let token = data.token("acme", "ada", ALL_SCOPES);
        let [ada, elsewhere] = servers.each_ref().map(|server| server.caller(&token));
        let carol = servers[1].caller(&data.token("acme", "carol", ALL_SCOPES));
        let project = ada.data("create_project", json!({ "name": "Website" })).await;
        let params = json!({ "project_id": project["project"]["project_id"] });
        let done = json!({ "project_id": params["project_id"], "title": "Old", "status": "done" });
        ada.data("create_ticket", done.clone()).await;

        let operation = "delete_done_tickets";
        let asked = ada.call_with_user(operation, params.clone(), json!({})).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let question = asked["inputRequests"]["confirmation"]["params"]["message"].as_str();
        assert!(question.unwrap().starts_with("Delete 1 done tickets of 'Website'?"), "{asked}");

        let accept = |asked: &Value| {
            json!({
                "requestState": asked["requestState"],
                "inputResponses": { "confirmation": { "action": "accept" } },
            })
        };
        let answer = accept(&asked);
        let count = json!({ "aggregate": { "all": { "count": true } } });
        // The answer of Ada's user is not valid for a colleague.
        let other = carol.call_with_user(operation, params.clone(), answer.clone()).await;
        let left = ada.data("list_tickets", count.clone()).await;
        assert_eq!(left["aggregations"]["all"], 1, "{other}");
        // The question counted one ticket. With a second one, the user must be asked again.
        ada.data("create_ticket", done).await;
        let asked = elsewhere.call_with_user(operation, params.clone(), answer).await;
        let question = asked["inputRequests"]["confirmation"]["params"]["message"].as_str();
        assert!(question.unwrap().starts_with("Delete 2 done tickets of 'Website'?"), "{asked}");
        let left = ada.data("list_tickets", count.clone()).await;
        assert_eq!(left["aggregations"]["all"], 2, "{asked}");
        let deleted = elsewhere.call_with_user(operation, params, accept(&asked)).await;
        let left = ada.data("list_tickets", count).await;
        assert_eq!(left["aggregations"]["all"], 0, "{deleted}");
    }
}
