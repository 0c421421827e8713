//! Tests of confirmations by the user of a client, with rmcp's client over streams and over HTTP.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_aql::gatekeeper::Preview;
use mcp_aql::prelude::*;
use mcp_aql::transport::HttpSettings;
use mcp_aql::{Adapter, AdapterBuilder, HttpOptions, operations};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, FormElicitationCapability,
    InputResponses, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, PeerRequestOptions, RequestContext, RoleClient, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientServiceExt as _, ErrorData};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

/// The existing notes.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<u32>>>);

impl Notes {
    fn left(&self) -> Vec<u32> {
        self.0.lock().unwrap().clone()
    }
}

#[operations]
impl Notes {
    /// Delete a note.
    #[operation(
        category = "DELETE",
        danger(
            level = "destructive",
            reasons = ["The note is removed"],
            confirmation_message = "Delete note {note_id}?",
        )
    )]
    fn delete_note(
        &self,
        /// The note.
        note_id: u32,
    ) -> u32 {
        self.0.lock().unwrap().retain(|it| *it != note_id);
        note_id
    }

    /// Delete the notes.
    #[operation(category = "DELETE", danger(level = "destructive"), preview = count)]
    fn delete_notes(&self) -> usize {
        self.0.lock().unwrap().drain(..).count()
    }

    /// Delete a note after a while.
    #[operation(
        category = "DELETE",
        danger(level = "destructive", confirmation_message = "Later?", cooldown_seconds = 1)
    )]
    fn delete_later(&self) {}

    /// Read the secret notes.
    #[operation(category = "READ", danger(confirmation_message = "Show the secrets?"))]
    fn read_secrets() -> &'static str {
        "1234"
    }

    async fn count(&self) -> Preview {
        let notes = self.left();
        Preview::new(format!("Delete {} notes?", notes.len())).of_state(&notes)
    }
}

/// The behavior of a user who receives a question.
enum Answer {
    Action(ElicitationAction),
    /// Changes the notes and accepts.
    ChangeAndAccept,
    /// Accepts after a delay.
    Slow,
    /// Does not answer until the question is withdrawn.
    Nothing,
    /// The client fails to show the question.
    Fail,
}

/// A client with a user.
#[derive(Clone)]
struct User {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<watch::Sender<Vec<String>>>,
    /// The number of withdrawn questions.
    withdrawn: Arc<watch::Sender<u32>>,
    notes: Notes,
    can_be_asked: bool,
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        let forms = ElicitationCapability::new().with_form(FormElicitationCapability::default());
        info.capabilities.elicitation = self.can_be_asked.then_some(forms);
        info
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request
        else {
            panic!("{request:?}")
        };
        assert!(requested_schema.properties.is_empty());
        self.asked.send_modify(|asked| asked.push(message));
        let answer = self.answers.lock().unwrap().pop_front();
        match answer.unwrap() {
            Answer::Action(action) => Ok(ElicitResult::new(action)),
            Answer::ChangeAndAccept => {
                self.notes.0.lock().unwrap().push(100);
                Ok(ElicitResult::new(ElicitationAction::Accept))
            }
            Answer::Nothing => {
                context.ct.cancelled().await;
                self.withdrawn.send_modify(|count| *count += 1);
                Ok(ElicitResult::new(ElicitationAction::Accept))
            }
            Answer::Slow => {
                tokio::time::sleep(Duration::from_secs(5)).await;
                Ok(ElicitResult::new(ElicitationAction::Accept))
            }
            Answer::Fail => Err(ErrorData::internal_error("no user", None)),
        }
    }
}

/// All combinations of transport and version.
const WAYS: [Way; 4] = [(false, false), (false, true), (true, false), (true, true)];

/// The first value is `true` for HTTP, and the second for MCP 2026-07-28.
type Way = (bool, bool);

struct Connected {
    client: RunningService<RoleClient, User>,
    user: User,
    _stop: oneshot::Sender<()>,
}

async fn connect(way: Way, can_be_asked: bool, answers: Vec<Answer>) -> Connected {
    connect_to(way, can_be_asked, answers, |builder| builder).await
}

async fn connect_to(
    way: Way,
    can_be_asked: bool,
    answers: Vec<Answer>,
    configure: impl FnOnce(AdapterBuilder) -> AdapterBuilder,
) -> Connected {
    open(way, (can_be_asked, answers), HttpOptions::new(), configure).await
}

async fn connect_with(way: Way, answers: Vec<Answer>, options: HttpOptions) -> Connected {
    open(way, (true, answers), options, |builder| builder).await
}

async fn open(
    (http, modern): Way,
    (can_be_asked, answers): (bool, Vec<Answer>),
    options: HttpOptions,
    configure: impl FnOnce(AdapterBuilder) -> AdapterBuilder,
) -> Connected {
    let notes = Notes(Arc::new(Mutex::new(vec![1, 2, 3])));
    let builder = Adapter::builder("notes").operations(notes.clone()).without_config();
    let adapter = configure(builder).build().unwrap();
    let (stop, stopped) = oneshot::channel();
    let answers = Arc::new(Mutex::new(answers.into()));
    let (asked, withdrawn) = (Arc::default(), Arc::default());
    let user = User { answers, asked, withdrawn, notes, can_be_asked };
    let lifecycle = match modern {
        true => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        false => ClientLifecycleMode::Initialize,
    };
    let client = match http {
        true => {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            tokio::spawn(async move {
                let stopped = async { stopped.await.unwrap_or_default() };
                adapter.serve_listener(listener, options, stopped).await.unwrap();
            });
            let transport = StreamableHttpClientTransport::from_uri(url);
            user.clone().serve_with_lifecycle(transport, lifecycle).await.unwrap()
        }
        false => {
            let (ours, theirs) = tokio::io::duplex(65_536);
            tokio::spawn(async move { adapter.serve(ours).await.unwrap() });
            user.clone().serve_with_lifecycle(theirs, lifecycle).await.unwrap()
        }
    };
    Connected { client, user, _stop: stop }
}

fn params(operation: &str, params: Value) -> CallToolRequestParams {
    let arguments = json!({ "operation": operation, "params": params });
    let tool = if operation.starts_with("read") { "mcp_aql_read" } else { "mcp_aql_delete" };
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().cloned().unwrap())
}

/// Returns the reply in a result.
fn reply(response: CallToolResponse) -> Value {
    let CallToolResponse::Complete(result) = response else { panic!("{response:?}") };
    let content = serde_json::to_value(&result.content).unwrap();
    serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap()
}

impl Connected {
    /// Makes a call. The user answers if the server asks a question.
    async fn call(&self, operation: &str, arguments: Value) -> Value {
        let result = self.client.call_tool(params(operation, arguments)).await.unwrap();
        reply(CallToolResponse::Complete(result))
    }

    fn asked(&self) -> Vec<String> {
        self.user.asked.borrow().clone()
    }

    fn left(&self) -> Vec<u32> {
        self.user.notes.left()
    }
}

impl Connected {
    /// Waits until a question was withdrawn.
    async fn withdrawn(&self) {
        let mut withdrawn = self.user.withdrawn.subscribe();
        let withdrawn = withdrawn.wait_for(|count| *count > 0);
        tokio::time::timeout(Duration::from_secs(10), withdrawn).await.unwrap().unwrap();
    }
}

const ACCEPT: Answer = Answer::Action(ElicitationAction::Accept);

#[tokio::test]
async fn the_user_of_a_client_is_asked_and_the_call_runs() {
    // REQ-GATE-07
    for way in WAYS {
        let client = connect(way, true, vec![ACCEPT, ACCEPT, ACCEPT]).await;
        let deleted = client.call("delete_note", json!({ "note_id": 2 })).await;
        assert_eq!(deleted, json!({ "success": true, "data": 2 }), "{way:?}");
        let question = "Delete note 2?\nThe note is removed\n(delete_note, destructive)";
        assert_eq!((client.asked(), client.left()), (vec![question.to_owned()], vec![1, 3]));
        // The user is asked about each call.
        client.call("delete_note", json!({ "note_id": 3 })).await;
        assert_eq!((client.asked().len(), client.left()), (2, vec![1]), "{way:?}");
        assert_eq!(client.call("read_secrets", json!({})).await["data"], "1234", "{way:?}");
        assert_eq!(client.asked()[2], "Show the secrets?\n(read_secrets, safe)");
    }
}

#[tokio::test]
async fn a_user_who_declines_or_closes_the_question_stops_the_call() {
    // REQ-GATE-06
    for way in WAYS {
        for (action, answer) in
            [(ElicitationAction::Decline, "declined"), (ElicitationAction::Cancel, "cancelled")]
        {
            let client = connect(way, true, vec![Answer::Action(action)]).await;
            let refused = client.call("delete_note", json!({ "note_id": 2 })).await;
            let error = &refused["error"];
            assert_eq!(error["code"], "PERMISSION_DENIED", "{way:?}: {refused}");
            assert_eq!(error["details"]["user_answer"], answer, "{way:?}: {refused}");
            assert_eq!(error["details"].get("confirmation_token"), None);
            assert_eq!((client.asked().len(), client.left().len()), (1, 3));
        }
    }
}

#[tokio::test]
async fn a_client_without_elicitation_gets_a_token() {
    // REQ-TOK-06
    for way in WAYS {
        let client = connect(way, false, Vec::new()).await;
        let refused = client.call("delete_note", json!({ "note_id": 2 })).await;
        let token = &refused["error"]["details"]["confirmation_token"];
        let confirmed = json!({ "note_id": 2, "_confirmation": token });
        assert_eq!(client.call("delete_note", confirmed).await["data"], 2, "{way:?}");
        // An operator may prefer tokens, and no client should wait for a cooldown to end.
        let client = connect_to(way, true, Vec::new(), |builder| builder.elicitation(false)).await;
        let refused = client.call("delete_note", json!({ "note_id": 2 })).await;
        assert!(refused["error"]["details"]["confirmation_token"].is_string(), "{refused}");
        let client = connect(way, true, Vec::new()).await;
        let refused = client.call("delete_later", json!({})).await;
        assert!(refused["error"]["details"]["confirmation_token"].is_string(), "{refused}");
        assert!(client.asked().is_empty());
    }
}

#[tokio::test]
async fn a_client_that_fails_to_ask_gets_a_token() {
    // REQ-TOK-06. A client of MCP 2026-07-28 reports the failure to its own caller.
    for way in [(false, false), (true, false)] {
        let client = connect(way, true, vec![Answer::Fail]).await;
        let refused = client.call("delete_note", json!({ "note_id": 2 })).await;
        assert!(refused["error"]["details"]["confirmation_token"].is_string(), "{refused}");
        assert_eq!((client.asked().len(), client.left().len()), (1, 3));
    }
}

#[tokio::test]
async fn a_question_without_an_answer_is_withdrawn() {
    for way in [(false, false), (true, false)] {
        let ttl = |builder: AdapterBuilder| builder.confirmation_ttl(Duration::from_secs(1));
        let client = connect_to(way, true, vec![Answer::Nothing, ACCEPT], ttl).await;
        let refused = client.call("delete_note", json!({ "note_id": 2 })).await;
        assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{refused}");
        assert_eq!(refused["error"]["details"]["user_answer"], "timed_out");
        client.withdrawn().await;
        // The late answer to the withdrawn question changes nothing.
        assert_eq!(client.left().len(), 3);
        assert_eq!(client.call("delete_note", json!({ "note_id": 2 })).await["data"], 2);
    }
}

#[tokio::test]
async fn a_session_does_not_end_while_its_user_decides() {
    // REQ-SES-02
    let options = HttpOptions::new().settings(HttpSettings {
        session_timeout: Duration::from_secs(3),
        ..HttpSettings::default()
    });
    let client = connect_with((true, false), vec![Answer::Slow, ACCEPT], options).await;
    assert_eq!(client.call("delete_note", json!({ "note_id": 2 })).await["data"], 2);
    assert_eq!(client.call("delete_note", json!({ "note_id": 1 })).await["data"], 1);
}

#[tokio::test]
async fn the_user_is_asked_again_if_the_state_has_changed() {
    for way in WAYS {
        let client = connect(way, true, vec![Answer::ChangeAndAccept, ACCEPT]).await;
        assert_eq!(client.call("delete_notes", json!({})).await["data"], 4, "{way:?}");
        let asked = client.asked();
        assert!(asked[0].starts_with("Delete 3 notes?"), "{asked:?}");
        assert!(asked[1].starts_with("Delete 4 notes?"), "{asked:?}");
    }
    for way in [(false, false), (true, false)] {
        let changes = [(); 3].map(|()| Answer::ChangeAndAccept);
        let client = connect(way, true, changes.into()).await;
        let refused = client.call("delete_notes", json!({})).await;
        assert_eq!(refused["error"]["details"]["user_answer"], "outdated", "{refused}");
        assert_eq!(client.left().len(), 6);
    }
}

#[tokio::test]
async fn a_state_is_for_one_call_and_one_answer() {
    // REQ-TOK-07, REQ-TOK-10
    let accept = || InputResponses::from([("confirmation".into(), json!({ "action": "accept" }))]);
    for way in [(false, true), (true, true)] {
        let client = connect(way, true, Vec::new()).await;
        let delete = |note: u32| params("delete_note", json!({ "note_id": note }));
        let ask = async |note| match client.client.call_tool_once(delete(note)).await.unwrap() {
            CallToolResponse::InputRequired(question) => question.request_state.unwrap(),
            other => panic!("{other:?}"),
        };
        let repeat = async |note, state: &str, answers| {
            let call = delete(note).with_request_state(state).with_input_responses(answers);
            client.client.call_tool_once(call).await.unwrap()
        };
        let state = ask(1).await;
        let crossed = reply(repeat(2, &state, accept()).await);
        assert_eq!(crossed["error"]["code"], "TOKEN_SCOPE_MISMATCH", "{way:?}");
        for forged in ["", "question_", "conf_x", &state[..state.len() - 1], &format!("{state}A")] {
            let forged = reply(repeat(1, forged, accept()).await);
            assert_eq!(forged["error"]["code"], "TOKEN_INVALID", "{way:?}");
        }
        // The state cannot be used as a confirmation token, and a token cannot be used as a state.
        let as_token = json!({ "note_id": 1, "_confirmation": state });
        let call = client.client.call_tool_once(params("delete_note", as_token)).await.unwrap();
        assert_eq!(reply(call)["error"]["code"], "TOKEN_INVALID", "{way:?}");
        assert_eq!(client.left().len(), 3);
        assert_eq!(reply(repeat(1, &state, accept()).await)["data"], 1, "{way:?}");
        let replayed = reply(repeat(1, &state, accept()).await);
        assert_eq!(replayed["error"]["code"], "TOKEN_ALREADY_USED", "{way:?}");
        // A declined question cannot be accepted later.
        let state = ask(2).await;
        let decline =
            InputResponses::from([("confirmation".into(), json!({ "action": "decline" }))]);
        let declined = reply(repeat(2, &state, decline).await);
        assert_eq!(declined["error"]["details"]["user_answer"], "declined");
        let replayed = reply(repeat(2, &state, accept()).await);
        assert_eq!(replayed["error"]["code"], "TOKEN_ALREADY_USED", "{way:?}");
        // Without a readable answer, the user is asked again.
        let state = ask(2).await;
        for unreadable in [json!({ "action": "yes" }), json!("accept"), json!(null)] {
            let answers = InputResponses::from([("confirmation".into(), unreadable)]);
            let again = repeat(2, &state, answers).await;
            assert!(matches!(again, CallToolResponse::InputRequired(_)), "{again:?}");
        }
        assert_eq!(client.left(), [2, 3]);
    }
}

#[tokio::test]
async fn the_user_is_asked_about_each_item_of_a_batch() {
    // REQ-BAT-08
    let items =
        [1, 2, 3].map(|note| json!({ "operation": "delete_note", "params": { "note_id": note } }));
    let batch = json!({ "operations": items });
    let batch = CallToolRequestParams::new("mcp_aql_delete")
        .with_arguments(batch.as_object().cloned().unwrap());
    let decline = || Answer::Action(ElicitationAction::Decline);
    for way @ (_, modern) in WAYS {
        let client = connect(way, true, vec![ACCEPT, decline(), ACCEPT]).await;
        let result = reply(client.client.call_tool_once(batch.clone()).await.unwrap());
        let pending = result["pending_operations"].as_array().unwrap().len();
        match modern {
            // A repeated batch would run its first items again.
            true => {
                assert_eq!((client.asked().len(), client.left().len(), pending), (0, 3, 2));
            }
            // After an item that the user has declined, no item runs.
            false => {
                let declined = &result["halted_at"]["result"]["error"]["details"]["user_answer"];
                assert_eq!(declined, "declined", "{result}");
                assert_eq!((client.asked().len(), client.left(), pending), (2, vec![2, 3], 1));
            }
        }
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_withdraws_its_question() {
    for way in [(false, false), (true, false)] {
        let client = connect(way, true, vec![Answer::Nothing, ACCEPT]).await;
        let request = CallToolRequest::new(params("delete_note", json!({ "note_id": 1 })));
        let call = client
            .client
            .send_cancellable_request(request.into(), PeerRequestOptions::no_options())
            .await
            .unwrap();
        let mut asked = client.user.asked.subscribe();
        asked.wait_for(|asked| asked.len() == 1).await.unwrap();
        call.cancel(None).await.unwrap();
        // The user accepts after the question was withdrawn, and this is too late.
        client.withdrawn().await;
        client.call("delete_note", json!({ "note_id": 2 })).await;
        assert_eq!(client.left(), [1, 3], "{way:?}");
    }
}
