//! Tests of cursors over HTTP: a cursor belongs to the principal that received it.

use mcp_aql::auth::{Principal, StaticTokens};
use mcp_aql::prelude::*;
use mcp_aql::query::CursorKey;
use mcp_aql::{AdapterBuilder, HttpOptions, OperationError};
use serde::Serialize;
use serde_json::{Value, json};

use super::authentication::{reply, stateless};
use super::{Server, start};

/// A room.
#[derive(Clone, Serialize, JsonSchema, Resource)]
struct Room {
    /// Number.
    #[resource(id, sort)]
    room_id: u32,
}

/// List rooms.
#[operation(category = "READ")]
fn list_rooms(query: CollectionQuery<Room>) -> Result<Page<Room>, OperationError> {
    query.run((1..=5).map(|room_id| Room { room_id }))
}

fn builder() -> AdapterBuilder {
    Adapter::builder("house").operation(list_rooms {}).cursor_key(CursorKey::new([7; 16]))
}

async fn authenticated() -> Server {
    let reader = |name: &str| Principal::new("operator", name).with_scopes(["house:read"]);
    let tokens = StaticTokens::new()
        .token("ada-1", reader("ada"))
        .token("ada-2", reader("ada").with_claim("jti", "7"))
        .token("ada-north", reader("ada").with_claim("tenant", "north"))
        .token("eve-1", reader("eve"));
    start(builder(), HttpOptions::new().authenticator(tokens)).await
}

async fn page(server: &Server, token: Option<&str>, params: Value) -> Value {
    let (headers, body) = stateless("mcp_aql_read", "list_rooms", params);
    let bearer = token.map(|token| format!("Bearer {token}"));
    let own = bearer.iter().map(|bearer| ("Authorization", &**bearer));
    reply(&server.post(&headers.into_iter().chain(own).collect::<Vec<_>>(), body).await.1)
}

#[tokio::test]
async fn cursors_belong_to_the_principal_that_received_them() {
    // REQ-PAG-10
    let (server, other_process) = (authenticated().await, authenticated().await);
    let anonymous = start(builder(), HttpOptions::new()).await;
    let first = page(&server, Some("ada-1"), json!({ "first": 2 })).await;
    let after = json!({ "first": 2, "after": first["data"]["pageInfo"]["endCursor"] });
    for (server, token) in [(&server, "ada-1"), (&server, "ada-2"), (&other_process, "ada-1")] {
        let next = page(server, Some(token), after.clone()).await;
        assert_eq!(next["data"]["items"], json!([{ "room_id": 3 }, { "room_id": 4 }]), "{next}");
    }
    for (server, token) in
        [(&server, Some("ada-north")), (&server, Some("eve-1")), (&anonymous, None)]
    {
        let refused = page(server, token, after.clone()).await;
        assert_eq!(refused["error"]["code"], "VALIDATION_INVALID_VALUE", "{token:?}: {refused}");
        assert_eq!(refused["error"]["details"]["param_name"], "after", "{refused}");
    }
    let of_nobody = page(&anonymous, None, json!({ "first": 2 })).await;
    let after = json!({ "first": 2, "after": of_nobody["data"]["pageInfo"]["endCursor"] });
    assert_eq!(page(&anonymous, None, after.clone()).await["success"], true);
    assert_eq!(page(&server, Some("ada-1"), after).await["success"], false);
}
