//! Tests that you can read back everything that an accepted request stores, and that a rejected one reports the reason
//! and the position.

use std::sync::Mutex;

use mcp_aql::operator::MemoryChannel;
use mcp_aql::prelude::*;
use mcp_aql::query::PageInfo;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::testing::Client;
use mcp_aql::transport::{CallScope, Endpoint};
use mcp_aql::{Adapter, SizeLimits, Warning};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::board::board;
use crate::shape;
use crate::support::{ask, block_on, call, code, data, details, message};

/// A note.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
struct Note {
    /// Its number.
    #[resource(id)]
    note_id: usize,
    /// Free-form data.
    anything: Map<String, Value>,
}

/// Notes beside other data.
#[derive(Debug, Serialize, JsonSchema)]
struct Report {
    /// A text.
    text: String,
    /// The notes.
    notes: Page<Note>,
    /// Data behind the notes.
    end: [[u8; 1]; 2],
}

/// Two pages of notes.
#[derive(Debug, Serialize, JsonSchema)]
struct Pages {
    one: Page<Note>,
    other: Page<Note>,
}

/// Notes in memory.
#[derive(Default)]
struct Notes(Mutex<Vec<Note>>);

impl Notes {
    fn all(&self) -> Vec<Note> {
        self.0.lock().expect("no test panics with it").clone()
    }

    fn add(&self, anything: Map<String, Value>) -> Note {
        let mut notes = self.0.lock().expect("no test panics with it");
        let note = Note { note_id: notes.len(), anything };
        notes.push(note.clone());
        note
    }
}

#[operations]
impl Notes {
    /// Create a note.
    #[operation(category = "CREATE")]
    fn create_note(
        &self,
        // The description contains words that a simple filter for leaks would reject.
        /// What to write at the beginning, that is, the note's own data.
        anything: Map<String, Value>,
    ) -> Note {
        self.add(anything)
    }

    /// Get a note.
    #[operation(category = "READ")]
    fn get_note(
        &self,
        /// Its number.
        note_id: usize,
    ) -> Result<Note, OperationError> {
        let found = self.all().get(note_id).cloned();
        found.ok_or_else(|| OperationError::not_found("note", note_id))
    }

    /// List the notes.
    #[operation(category = "READ")]
    fn list_notes(
        &self,
        #[query(accept(offset))] query: CollectionQuery<Note>,
    ) -> Result<Page<Note>, OperationError> {
        query.run(self.all())
    }

    /// Show the notes of a shelf, whose pages are made by hand.
    #[operation(category = "READ")]
    fn show_shelf(
        &self,
        /// The number of notes on a page.
        #[param(default = 100)]
        size: usize,
    ) -> Page<Note> {
        let notes = self.all();
        let has_more = notes.len() > size;
        Page::new(notes.into_iter().take(size).collect(), PageInfo::new(has_more, false))
    }

    /// Report on the notes, with a long text beside them.
    #[operation(category = "READ")]
    fn get_report(
        &self,
        /// The length of the text.
        length: usize,
        query: CollectionQuery<Note>,
    ) -> Result<Report, OperationError> {
        Ok(Report { text: "x".repeat(length), notes: query.run(self.all())?, end: [[1], [2]] })
    }

    /// Show a page of the notes twice.
    #[operation(category = "READ")]
    fn compare_notes(&self, query: CollectionQuery<Note>) -> Result<Pages, OperationError> {
        Ok(Pages { one: query.run(self.all())?, other: query.run(self.all())? })
    }

    /// List the notes with many warnings.
    #[operation(category = "READ")]
    fn list_suspects(
        &self,
        /// The number of warnings.
        warnings: usize,
        /// The length of each.
        length: usize,
        query: CollectionQuery<Note>,
        context: Context,
    ) -> Result<Page<Note>, OperationError> {
        for number in 0..warnings {
            let text = format!("{number}{}", "w".repeat(length));
            context.warn(Warning::new("VALIDATION_SUSPECT_WARNING", text));
        }
        query.run(self.all())
    }

    /// Collect the notes into one page.
    #[operation(category = "EXECUTE", lifecycle)]
    async fn collect_notes(&self) -> Page<Note> {
        Page::new(self.all(), PageInfo::new(false, false))
    }

    /// Fail with a long message.
    #[operation(category = "EXECUTE", lifecycle)]
    async fn fail_long(
        &self,
        /// The length of the message.
        length: usize,
        context: Context,
    ) -> Result<u8, OperationError> {
        context.warn(Warning::new("VALIDATION_LONG_WARNING", "w".repeat(7_000)));
        Err(OperationError::not_found("note", 1).with_detail("text", "x".repeat(length)))
    }

    /// Write all notes into one text.
    #[operation(category = "EXECUTE", lifecycle)]
    async fn export_notes(&self) -> String {
        serde_json::to_string(&self.all()).unwrap_or_default()
    }

    /// Copy all notes.
    #[operation(category = "EXECUTE", lifecycle)]
    async fn copy_notes(&self) -> Vec<Note> {
        self.all()
    }

    /// Store a note that no request could store.
    #[operation(category = "CREATE")]
    fn grow_note(
        &self,
        /// The length of a text in it.
        length: usize,
        /// The number of lists inside each other.
        depth: usize,
    ) -> usize {
        let deep = (0..depth).fold(json!(1), |value, _| json!([value]));
        let anything = Map::from_iter([
            ("text".to_owned(), Value::from("x".repeat(length))),
            ("deep".to_owned(), deep),
        ]);
        self.add(anything).note_id
    }
}

fn adapter(limits: SizeLimits) -> Adapter {
    let builder = Adapter::builder("notes").operations(Notes::default());
    builder.limits(limits).without_config().build().expect("the adapter is sound")
}

/// Sends the arguments of a tool call as a string.
fn send(adapter: &Adapter, text: &str) -> Value {
    let reply = block_on(adapter.handle(Endpoint::Unified, text.as_bytes(), CallScope::default()));
    let value: Value = serde_json::from_str(&reply.text).expect("a reply is JSON");
    // `checked` also needs the request. Skip it if the request is invalid JSON.
    if let Ok(asked) = serde_json::from_str(text) {
        shape::checked(&asked, &reply);
    }
    value
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({}), |value, _| json!({ "a": value }))
}

#[test]
fn the_deepest_value_of_a_request_is_in_every_reply() {
    // REQ-ENC-12
    for levels in [8, 32, 64] {
        let adapter = adapter(SizeLimits { max_nesting_depth: levels, ..SizeLimits::default() });
        // Next to `operation`, one more level is available than inside `params`.
        let deepest = nested(levels - 2);
        let created = ask(&adapter, json!({ "operation": "create_note", "anything": deepest }));
        assert_eq!(data(created)["note"]["anything"], deepest);
        let got = call(&adapter, "get_note", json!({ "note_id": 0 }));
        assert_eq!(data(got)["note"]["anything"], deepest);
        let full = json!({ "operation": "list_notes", "params": { "fields": "full" } });
        assert_eq!(data(ask(&adapter, full.clone()))["items"][0]["anything"], deepest);
        let batch = ask(&adapter, json!({ "operations": [full] }));
        let item = &batch["results"][0]["result"];
        assert_eq!(item["data"]["items"][0]["anything"], deepest, "{levels}");
        let deeper =
            ask(&adapter, json!({ "operation": "create_note", "anything": nested(levels - 1) }));
        assert_eq!(code(&deeper), Some("VALIDATION_PAYLOAD_TOO_LARGE"));
        let place = details(&deeper)["location"].as_str().unwrap_or_default();
        assert!(place.starts_with("anything.a.a"), "{place}");
    }
}

#[test]
fn the_smallest_limits_leave_introspection_whole() {
    // REQ-INT-09, REQ-ENC-10 to REQ-ENC-12
    let limits = SizeLimits {
        max_request_size: 64 << 10,
        max_response_size: 1 << 20,
        max_string_length: 64 << 10,
        max_array_elements: 100,
        max_nesting_depth: 8,
        ..SizeLimits::default()
    };
    let board = crate::board::builder().limits(limits).build().expect("the limits are legal");
    let all = data(call(&board, "introspect", json!({ "query": "operations" })));
    for entry in all["operations"].as_array().expect("a list") {
        let about = json!({ "query": "operations", "name": entry["name"] });
        let one = data(call(&board, "introspect", about.clone()));
        assert_eq!(one["operation"]["name"], entry["name"]);
        let item = json!({ "operation": "introspect", "params": about });
        let batch = ask(&board, json!({ "operations": [item] }));
        assert_eq!(batch["results"][0]["result"]["success"], true, "{batch}");
    }
}

#[test]
fn a_long_text_that_was_made_of_many_is_in_the_reply() {
    // REQ-ENC-09, REQ-ENC-10, REQ-LIF-04
    let limits = SizeLimits { max_string_length: 64 << 10, ..SizeLimits::default() };
    let adapter = adapter(limits);
    let text = "x".repeat(60 << 10);
    for _ in 0..4 {
        data(call(&adapter, "create_note", json!({ "anything": { "text": text } })));
    }
    block_on(async {
        let ask = |operation: &str, params: Value| {
            let arguments = json!({ "operation": operation, "params": params });
            let Value::Object(arguments) = arguments else { panic!("an object") };
            let adapter = &adapter;
            async move {
                let reply =
                    adapter.handle(Endpoint::Unified, arguments, CallScope::default()).await;
                serde_json::from_str::<Value>(&reply.text).expect("JSON")
            }
        };
        let begun = ask("export_notes", json!({})).await;
        let id = begun["data"]["execution_id"].clone();
        let params = json!({ "execution_id": id, "wait_seconds": 20 });
        let state = ask("get_execution", params).await;
        assert_eq!(state["data"]["status"], "completed", "{state}");
        let length = state["data"]["result"].to_string().len();
        assert!(length > 240 << 10, "{length}");
    });
}

#[test]
fn rows_that_do_not_fit_leave_the_others_in_their_place() {
    // REQ-ENC-09, REQ-PAG-01, REQ-WRN-08
    let adapter = adapter(SizeLimits {
        max_response_size: 1 << 20,
        result_budget: 100 << 20,
        ..SizeLimits::default()
    });
    // Two rows are too large on their own. Of the others, four fit into a reply.
    let bad = [2, 7];
    for index in 0..12_usize {
        let (length, depth) = match index {
            2 => (2 << 20, 0),
            7 => (1, 118),
            _ => (250_000, 0),
        };
        data(call(&adapter, "grow_note", json!({ "length": length, "depth": depth })));
    }
    let id = |item: &Value| item["note_id"].as_u64().expect("an id");
    let expected: Vec<_> = (0..12).filter(|index| !bad.contains(index)).collect();
    for (size, cursor, more, edge) in [
        ("first", "after", "hasNextPage", "endCursor"),
        ("last", "before", "hasPreviousPage", "startCursor"),
    ] {
        let mut found = Vec::new();
        let mut params = json!({ "fields": "full", size: 12 });
        loop {
            let reply = call(&adapter, "list_notes", params.clone());
            let warning = &reply["warnings"][0];
            let page = data(reply.clone());
            let mut ids: Vec<_> = page["items"].as_array().expect("items").iter().map(id).collect();
            assert!(ids.len() <= 4, "{ids:?}");
            if size == "last" {
                ids.reverse();
            }
            found.extend(ids);
            if page["pageInfo"][more] == false {
                break;
            }
            assert_eq!(warning["code"], "VALIDATION_TRUNCATED_WARNING", "{warning}");
            assert_eq!(warning["details"]["field"], "items");
            params[cursor] = page["pageInfo"][edge].clone();
        }
        found.sort_unstable();
        assert_eq!(found, expected, "{size}");
    }
    // The row can still be read without its large fields.
    let page = data(call(&adapter, "list_notes", json!({ "fields": ["note_id"] })));
    assert_eq!(page["items"].as_array().map(Vec::len), Some(12));
    // With page numbers, an oversized row is omitted with a warning.
    let reply = call(&adapter, "list_notes", json!({ "fields": "full", "limit": 2, "offset": 1 }));
    let warned = reply["warnings"][0].clone();
    let page = data(reply);
    assert_eq!(page["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&page["pagination"]["returned"], &page["pagination"]["limit"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(warned["details"]["left_out"], 1, "{warned}");
    // If the other rows do not fit together, the error suggests a page size that fits.
    let reply = call(&adapter, "list_notes", json!({ "fields": "full", "limit": 12 }));
    assert_eq!(details(&reply)["limit_type"], "response_size");
    let size = details(&reply)["fitting_page_size"].clone();
    assert!(size.as_u64() >= Some(4), "{reply}");
    let mut found = Vec::new();
    for offset in (0..12).step_by(usize::try_from(size.as_u64().expect("a size")).expect("small")) {
        let params = json!({ "fields": "full", "limit": size, "offset": offset });
        let page = data(call(&adapter, "list_notes", params));
        found.extend(page["items"].as_array().expect("items").iter().map(id));
    }
    assert_eq!(found, expected);
}

/// Returns an adapter with a reply limit of 1 MiB, and with notes of these lengths.
fn with_notes(lengths: &[usize]) -> Adapter {
    let adapter = adapter(SizeLimits {
        max_response_size: 1 << 20,
        result_budget: 100 << 20,
        ..SizeLimits::default()
    });
    for length in lengths {
        data(call(&adapter, "grow_note", json!({ "length": length, "depth": 0 })));
    }
    adapter
}

fn ids(page: &Value) -> Vec<u64> {
    let items = page["items"].as_array().expect("items");
    items.iter().map(|item| item["note_id"].as_u64().expect("an id")).collect()
}

#[test]
fn a_hand_made_page_omits_rows_that_are_too_large_and_suggests_a_size() {
    // REQ-ENC-09, REQ-WRN-08
    let adapter = with_notes(&[10, 2 << 20, 300_000, 300_000, 300_000, 300_000]);
    let reply = call(&adapter, "show_shelf", json!({ "size": 4 }));
    let warning = reply["warnings"][0].clone();
    assert_eq!(warning["code"], "VALIDATION_TRUNCATED_WARNING", "{warning}");
    assert_eq!(warning["details"]["left_out"], 1, "{warning}");
    assert_eq!(ids(&data(reply)), [0, 2, 3]);
    let reply = call(&adapter, "show_shelf", json!({}));
    assert_eq!(details(&reply)["fitting_page_size"], 3, "{reply}");
    assert!(message(&reply).ends_with("Ask for a page of 3"), "{reply}");
}

#[test]
fn a_result_that_cannot_be_cut_names_the_parameters_that_make_it_smaller() {
    // REQ-ENC-09
    let adapter = with_notes(&[300_000; 5]);
    let reply = call(&adapter, "compare_notes", json!({ "fields": "full" }));
    assert_eq!(reply["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE", "{reply}");
    let details = details(&reply);
    assert_eq!(details["limit_value"], 1 << 20, "{reply}");
    let hint = "the result does not fit in one reply: ask for a smaller 'first' or fewer 'fields'";
    assert_eq!(details["hint"], hint, "{reply}");
    let step = "Ask for a smaller 'first' or fewer 'fields'";
    assert!(message(&reply).ends_with(step), "{reply}");
    data(call(&adapter, "compare_notes", json!({ "fields": "full", "first": 1 })));
    data(call(&adapter, "compare_notes", json!({ "fields": ["note_id"] })));
}

#[test]
fn a_page_in_a_struct_leaves_room_for_the_other_fields() {
    // REQ-ENC-09
    let adapter = with_notes(&[100_000; 12]);
    for length in (0..900_000).step_by(60_000) {
        let params = json!({ "length": length, "fields": "full" });
        let reply = call(&adapter, "get_report", params);
        let report = data(reply.clone());
        let report = &report["report"];
        assert_eq!(report["text"].as_str().map(str::len), Some(length));
        let kept = ids(&report["notes"]);
        // The page must contain exactly as many rows as fit.
        let room = (1 << 20) - length;
        let count = u64::try_from(room / 100_100).expect("small");
        assert_eq!(kept, (0..count).collect::<Vec<_>>(), "{length}");
        assert_eq!(reply["warnings"].as_array().map(Vec::len), Some(1), "{length}");
    }
    // Deeply nested data next to the page does not reduce its rows. A row with too many levels is omitted.
    data(call(&adapter, "grow_note", json!({ "length": 1, "depth": 117 })));
    let params = json!({ "length": 1, "fields": "full", "last": 2 });
    assert_eq!(ids(&data(call(&adapter, "get_report", params))["report"]["notes"]), [11]);
    let full = json!({ "fields": "full", "last": 1 });
    assert_eq!(ids(&data(call(&adapter, "list_notes", full))), Vec::<u64>::new());
}

#[test]
fn warnings_have_room_beside_a_page() {
    // REQ-ENC-09, REQ-WRN-10
    let adapter = with_notes(&[30_000; 40]);
    for (warnings, length) in [(0, 0), (1, 10), (10, 400), (10, 5_000), (10, 90_000), (200, 70_000)]
    {
        let params = json!({
            "warnings": warnings, "length": length, "fields": "full", "first": 100,
        });
        let text = json!({ "operation": "list_suspects", "params": params }).to_string();
        let scope = CallScope::default();
        let reply = block_on(adapter.handle(Endpoint::Unified, text.as_bytes(), scope));
        assert!(reply.text.len() <= 1 << 20, "{}", reply.text.len());
        let reply: Value = serde_json::from_str(&reply.text).expect("JSON");
        let shown = reply["warnings"].as_array().expect("warnings").clone();
        assert_eq!(shown.len(), (warnings + 1).min(10), "{warnings}");
        let kept = ids(&data(reply));
        assert!(!kept.is_empty() && kept.len() < 40, "{warnings} {length}: {kept:?}");
        let taken = Value::from(shown).to_string().len() + kept.len() * 30_000;
        let left = (1 << 20) - taken;
        assert!(left < 34_000, "a row more has no room: {left}");
    }
    // If the warnings alone are too large, the call fails.
    let params = json!({ "warnings": 10, "length": 200_000, "fields": "full" });
    let reply = call(&adapter, "list_suspects", params);
    assert_eq!(details(&reply)["operation_ran"], true);
}

#[test]
fn pages_in_a_batch_share_the_room() {
    // REQ-ENC-09, REQ-BAT-02
    let adapter = with_notes(&[200_000; 8]);
    let list = |params: Value| json!({ "operation": "list_notes", "params": params });
    let some = list(json!({ "fields": "full", "first": 3 }));
    let all = list(json!({ "fields": "full", "first": 8 }));
    let reply =
        ask(&adapter, json!({ "operations": [some, all, list(json!({ "fields": ["note_id"] }))] }));
    assert_eq!(reply["summary"]["succeeded"], 3, "{}", reply["summary"]);
    let page = &reply["results"][1]["result"]["data"];
    assert_eq!(ids(page), [0, 1]);
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    assert_eq!(reply["warnings"][0]["code"], "VALIDATION_TRUNCATED_WARNING");
    // The cursor continues with the next row. No row was treated as too large on its own.
    let next = json!({ "fields": "full", "first": 1, "after": page["pageInfo"]["endCursor"] });
    assert_eq!(ids(&data(call(&adapter, "list_notes", next))), [2]);
    // If not even one row fits, or if there is no cursor to continue with, the item fails and reports that it ran.
    let shelf = json!({ "operation": "show_shelf", "params": { "size": 4 } });
    let four = || list(json!({ "fields": "full", "first": 4 }));
    for last in [four(), shelf] {
        let mut items = vec![four(), last, list(json!({}))];
        if items[1]["operation"] == "list_notes" {
            items.insert(
                1,
                json!({ "operation": "get_report", "params": { "length": 190_000, "first": 0 } }),
            );
        }
        let count = items.len();
        let reply = ask(&adapter, json!({ "operations": items }));
        let error = |index: usize| reply["results"][index]["result"]["error"]["details"].clone();
        assert_eq!(error(count - 2)["operation_ran"], true, "{}", reply["summary"]);
        assert_eq!(error(count - 1)["operation_ran"], false, "{}", reply["summary"]);
    }
}

#[test]
fn executions_are_listed_however_long_their_errors_are() {
    // REQ-ENC-09, REQ-PAG-01, REQ-LIF-05, REQ-WRN-01
    let adapter = with_notes(&[300_000, 2 << 20, 300_000]);
    block_on(async {
        let ask = |operation: &str, params: Value| {
            let request = json!({ "operation": operation, "params": params }).to_string();
            let adapter = &adapter;
            async move {
                let scope = CallScope::default();
                let reply = adapter.handle(Endpoint::Unified, request.as_bytes(), scope).await;
                assert!(reply.text.len() <= 1 << 20);
                serde_json::from_str::<Value>(&reply.text).expect("JSON")
            }
        };
        let wait = |begun: Value| async {
            let id = data(begun)["execution_id"].clone();
            data(ask("get_execution", json!({ "execution_id": id, "wait_seconds": 20 })).await)
        };
        // If the page of an execution is cut, its state has the warning.
        let state = wait(ask("collect_notes", json!({})).await).await;
        assert_eq!(ids(&state["result"]), [0, 2], "{}", state["status"]);
        assert_eq!(state["warnings"][0]["code"], "VALIDATION_TRUNCATED_WARNING");
        for _ in 0..80 {
            let state = wait(ask("fail_long", json!({ "length": 15_000 })).await).await;
            assert_eq!(state["status"], "failed");
        }
        for (size, cursor, more, edge) in [
            ("first", "after", "hasNextPage", "endCursor"),
            ("last", "before", "hasPreviousPage", "startCursor"),
        ] {
            let mut params = json!({ size: 100 });
            let (mut found, mut pages) = (std::collections::BTreeSet::new(), 0);
            loop {
                let page = data(ask("list_executions", params.clone()).await);
                pages += 1;
                for item in page["items"].as_array().expect("items") {
                    assert!(found.insert(item["execution_id"].to_string()), "listed twice");
                }
                if page["pageInfo"][more] == false {
                    break;
                }
                params[cursor] = page["pageInfo"][edge].clone();
            }
            assert_eq!((found.len(), pages), (81, 2), "{size}");
        }
    });
}

#[test]
fn the_operations_of_the_framework_start_and_answer_without_warnings() {
    // REQ-WRN-01
    let log = crate::leaks::logged(|| {
        let adapter = Adapter::builder("notes")
            .operations(Notes::default())
            .safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
            .without_config()
            .build()
            .expect("the adapter is sound");
        block_on(async {
            let client = Client::connect(&adapter).await.expect("it connects");
            for (operation, params) in [
                ("list_executions", json!({})),
                ("list_notes", json!({})),
                ("introspect", json!({ "query": "operations" })),
                ("introspect", json!({ "query": "operations", "parameters": true, "first": 2 })),
                ("introspect", json!({ "query": "types" })),
            ] {
                let result = client.call("mcp_aql_read", operation, params).await.expect("a reply");
                assert!(result.is_success(), "{operation}: {result:?}");
                assert_eq!(result.warnings().len(), 0, "{operation}");
            }
        });
    });
    assert!(log.contains("operation succeeded"), "{log}");
    assert!(!log.contains("event WARN") && !log.contains("event ERROR"), "{log}");
}

#[test]
fn a_repeated_member_is_refused_wherever_it_is() {
    // REQ-RQ-01, REQ-RQ-08
    let adapter = adapter(SizeLimits::default());
    for (text, place) in [
        (r#"{"operation":"list_notes","operation":"create_note"}"#, "operation"),
        (r#"{"operation":"create_note","params":{},"params":{"anything":{}}}"#, "params"),
        (r#"{"operation":"create_note","params":{"anything":{"a":1,"a":2}}}"#, "params.anything.a"),
        (r#"{"operation":"create_note","anything":[{"b":{"a":1,"\u0061":2}}]}"#, "anything[0].b.a"),
        (r#"{"operations":[],"operations":[{"operation":"list_notes"}]}"#, "operations"),
    ] {
        let reply = send(&adapter, text);
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{text}");
        assert!(message(&reply).contains(&format!("'{place}'")), "{}", message(&reply));
    }
    let listed = data(call(&adapter, "list_notes", json!({})));
    assert_eq!(listed["items"], json!([]), "nothing was stored");
}

#[test]
fn an_invalid_value_fails_only_its_item() {
    // REQ-BAT-02, REQ-ENC-02, REQ-ENC-05
    let adapter = adapter(SizeLimits { max_array_elements: 100, ..SizeLimits::default() });
    let long = vec!["1"; 101].join(",");
    for (value, expected, place) in [
        (r#"{"a":"\u0000"}"#, "VALIDATION_INVALID_ENCODING", "operations[1].params.anything.a"),
        (r#"{"\u0000":1}"#, "VALIDATION_INVALID_ENCODING", "operations[1].params.anything"),
        (r#"{"a":1,"a":1}"#, "VALIDATION_INVALID_VALUE", "operations[1].params.anything.a"),
        (
            r#"{"a":[123456789012345678901234567890]}"#,
            "VALIDATION_INVALID_VALUE",
            "operations[1].params.anything.a[0]",
        ),
        (r#"{"a":[1,-1e999]}"#, "VALIDATION_INVALID_VALUE", "operations[1].params.anything.a[1]"),
        (r#"{"a":"\ud800"}"#, "VALIDATION_INVALID_ENCODING", "operations[1].params.anything.a"),
        (r#"{"\udc00":1}"#, "VALIDATION_INVALID_ENCODING", "operations[1].params.anything"),
        (
            &format!(r#"{{"a":[{long}]}}"#),
            "VALIDATION_PAYLOAD_TOO_LARGE",
            "operations[1].params.anything.a",
        ),
        (
            &nested(40).to_string(),
            "VALIDATION_PAYLOAD_TOO_LARGE",
            "operations[1].params.anything.a",
        ),
    ] {
        let good = r#"{"operation":"create_note","params":{"anything":{}}}"#;
        let bad = format!(r#"{{"operation":"create_note","params":{{"anything":{value}}}}}"#);
        let reply = send(&adapter, &format!(r#"{{"operations":[{good},{bad},{good}]}}"#));
        assert_eq!(reply["summary"], json!({ "total": 3, "succeeded": 2, "failed": 1 }), "{reply}");
        let result = &reply["results"][1]["result"];
        assert_eq!(code(result), Some(expected), "{value}");
        assert!(result["error"].to_string().contains(place), "{result}");
        assert_eq!(reply["results"][1]["operation"], "create_note");
        // As a single request, it must fail with the same code.
        assert_eq!(code(&send(&adapter, &bad)), Some(expected), "{value}");
    }
}

#[test]
fn numbers_beyond_64_bits_are_refused_and_others_come_back_as_they_were() {
    // REQ-ENC-05
    let adapter = adapter(SizeLimits::default());
    let create = |number: &str| {
        format!(r#"{{"operation":"create_note","params":{{"anything":{{"n":{number}}}}}}}"#)
    };
    for number in ["18446744073709551616", "3.14159265358979323846", "-9223372036854775809"] {
        let reply = send(&adapter, &create(number));
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{number}");
        assert!(message(&reply).contains("'params.anything.n'"), "{}", message(&reply));
    }
    for number in ["18446744073709551615", "-9223372036854775808", "0.30000000000000004", "1e300"] {
        let reply = send(&adapter, &create(number));
        let sent: Value = serde_json::from_str(number).expect("a number");
        assert_eq!(data(reply)["note"]["anything"]["n"], sent, "{number}");
    }
}

#[test]
fn numbers_of_seventeen_digits_are_the_same_wherever_they_were_stored() {
    // REQ-ENC-05
    let adapter = adapter(SizeLimits::default());
    // A fast but inexact parser would read each of these numbers as its neighbor.
    for number in ["51.248178375505404", "-93.31137037688033", "31.245270191439438"] {
        let create =
            format!(r#"{{"operation":"create_note","params":{{"anything":{{"n":{number}}}}}}}"#);
        let arguments = create.as_bytes();
        let reply = block_on(adapter.handle(Endpoint::Unified, arguments, CallScope::default()));
        assert!(reply.text.contains(&format!(r#""n":{number}}}"#)), "{}", reply.text);
        // The store keeps the result of an execution as a JSON string.
        let text = block_on(async {
            let ask = |request: String| async {
                let request = request.into_bytes();
                let scope = CallScope::default();
                adapter.handle(Endpoint::Unified, &request, scope).await.text
            };
            let begun = ask(r#"{"operation":"copy_notes"}"#.to_owned()).await;
            let begun: Value = serde_json::from_str(&begun).expect("JSON");
            let id = begun["data"]["execution_id"].as_str().expect("an id").to_owned();
            let params = json!({ "execution_id": id, "wait_seconds": 20 });
            ask(json!({ "operation": "get_execution", "params": params }).to_string()).await
        });
        assert!(text.contains(&format!(r#""n":{number}}}"#)), "{text}");
    }
}

#[test]
fn null_is_not_a_version() {
    // REQ-CON-03, REQ-ENC-15
    let board = board();
    data(call(&board, "create_task", json!({ "title": "Milk" })));
    let change = |if_match: Value| {
        let input = json!({ "title": "Bread" });
        call(
            &board,
            "update_task",
            json!({ "task_id": "t-1", "input": input, "if_match": if_match }),
        )
    };
    let reply = change(Value::Null);
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"), "{reply}");
    assert_eq!(details(&reply)["param_name"], "if_match");
    let task = data(call(&board, "get_task", json!({ "task_id": "t-1" })));
    assert_eq!(task["task"]["title"], "Milk", "nothing has changed");
    assert_eq!(code(&change(task["task"]["_version"].clone())), None);
}

#[test]
fn a_description_that_looks_like_a_stack_trace_is_in_the_details() {
    // REQ-ERR-05, REQ-ERR-06, REQ-CNF-09
    let reply = call(&adapter(SizeLimits::default()), "create_note", json!({}));
    assert_eq!(message(&reply), "Missing required parameter 'anything'. Expected: object");
    let description = "What to write at the beginning, that is, the note's own data.";
    assert_eq!(details(&reply)["missing_params"][0]["description"], description);
}

/// Generates any JSON, including some with too many levels, characters or digits.
fn any_value() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        "-?[1-9][0-9]{0,30}",
        "-?[0-9]\\.[0-9]{0,12}[1-9]",
        "-?[0-9]\\.[0-9]{20,30}[1-9]",
    ];
    let text = prop_oneof![
        8 => "[a-zé\"\\\\ ]{0,8}",
        1 => Just("x".repeat(70_000)),
        1 => Just("a\u{0}".to_owned()),
    ];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        number,
        text.prop_map(|text| json!(text).to_string()),
        (1..130_usize).prop_map(|count| format!("[{}]", vec!["1"; count].join(","))),
        (1..70_usize).prop_map(|depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth))),
    ];
    leaf.prop_recursive(4, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            btree_map("[a-c]", inner.clone(), 0..3).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
            // The same member may occur twice.
            vec(("[a-c]", inner), 0..3).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn stored_data_can_be_read_and_rejections_name_the_location(
        value in any_value(),
        form in 0..3_usize,
        depth in prop::sample::select(vec![8_usize, 32, 64]),
    ) {
        // REQ-RQ-08, REQ-ENC-02, REQ-ENC-05, REQ-ENC-09 to REQ-ENC-13, REQ-BAT-02
        let adapter = adapter(SizeLimits {
            max_request_size: 256 << 10,
            max_string_length: 64 << 10,
            max_array_elements: 100,
            max_nesting_depth: depth,
            ..SizeLimits::default()
        });
        let anything = format!(r#"{{"value":{value}}}"#);
        let inside = format!(r#"{{"operation":"create_note","params":{{"anything":{anything}}}}}"#);
        let text = match form {
            0 => inside.clone(),
            1 => format!(r#"{{"operation":"create_note","anything":{anything}}}"#),
            _ => format!(r#"{{"operations":[{inside}]}}"#),
        };
        let mut reply = send(&adapter, &text);
        if reply["success"] == true && form == 2 {
            reply = reply["results"][0]["result"].clone();
        }
        if reply["success"] == false {
            let error = &reply["error"];
            prop_assert!(!error["message"].as_str().unwrap_or_default().is_empty());
            let place = ["location", "param_name"].map(|key| error["details"][key].as_str());
            let is_whole = error["details"]["limit_type"] == "request_size";
            prop_assert!(place.iter().flatten().any(|place| !place.is_empty()) || is_whole, "{}", error);
            let listed = data(call(&adapter, "list_notes", json!({})));
            prop_assert_eq!(&listed["items"], &json!([]), "nothing is stored");
            return Ok(());
        }
        let stored = reply["data"]["note"]["anything"].to_string();
        let sent: Value = serde_json::from_str(&anything).expect("JSON");
        // Compare the JSON strings, so that every digit counts.
        prop_assert_eq!(&stored, &sent.to_string());
        let get = json!({ "operation": "get_note", "params": { "note_id": 0 } });
        let list = json!({ "operation": "list_notes", "params": { "fields": "full" } });
        let one = data(ask(&adapter, get.clone()));
        prop_assert_eq!(one["note"]["anything"].to_string(), stored.clone());
        let all = data(ask(&adapter, list.clone()));
        prop_assert_eq!(all["items"][0]["anything"].to_string(), stored.clone());
        let batch = ask(&adapter, json!({ "operations": [get, list] }));
        prop_assert_eq!(&batch["summary"]["succeeded"], &json!(2), "{}", batch);
        let listed = &batch["results"][1]["result"]["data"]["items"][0]["anything"];
        prop_assert_eq!(listed.to_string(), stored);
    }
}
