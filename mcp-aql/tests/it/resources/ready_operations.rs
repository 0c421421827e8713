//! Tests of resources with ready operations.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_aql::prelude::*;
use mcp_aql::resource::{MemoryRecords, Record, ResourceRules, RowFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A book.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Book {
    /// Number of the book.
    #[resource(id)]
    book_id: u32,
    /// Title of the book.
    #[resource(search, filter, sort)]
    #[param(min_length = 1, max_length = 80)]
    title: String,
    /// Number of copies.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 0, default = 1)]
    copies: u8,
    /// Number of changes.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    version: u64,
}

#[tokio::test]
async fn the_operations_follow_from_the_type() {
    // REQ-CLS-06, REQ-UPD-01, REQ-CON-02, REQ-CON-03
    let books = MemoryRecords::<Book>::new();
    let adapter = Adapter::builder("library").resource(books.clone()).without_config();
    let adapter = adapter.build().unwrap();
    let call = async |operation: &str, params: Value| {
        let result = adapter.call(operation, params).await;
        match result.error() {
            Some(error) => json!(error.code),
            None => result.data().clone(),
        }
    };
    for title in ["Emma", "Dune"] {
        call("create_book", json!({ "title": title })).await;
    }
    assert_eq!(
        call("get_book", json!({ "book_id": 1 })).await["book"],
        json!({ "book_id": 1, "title": "Emma", "copies": 1, "_version": 1 })
    );
    let update = json!({ "book_id": 1, "if_match": 1, "input": { "copies": 3 } });
    assert_eq!(call("update_book", update.clone()).await["book"]["_version"], 2);
    assert_eq!(call("update_book", update).await, "CONFLICT_VERSION_MISMATCH");
    let listed = call("list_books", json!({ "filter": { "copies": { "gt": 1 } } })).await;
    assert_eq!(listed["items"][0]["title"], "Emma");
    let found = call("search_books", json!({ "query": "dune" })).await;
    assert_eq!(found["items"][0]["book_id"], 2);
    assert_eq!(call("get_book", json!({ "book_id": 3 })).await, "NOT_FOUND_RESOURCE");
    assert_eq!(call("create_book", json!({ "title": "" })).await, "VALIDATION_INVALID_VALUE");
}

/// Changes the book after the preview of a confirmed call.
struct ChangedMeanwhile {
    books: MemoryRecords<Book>,
    previews: AtomicUsize,
}

impl ResourceRules for ChangedMeanwhile {
    type Resource = Book;

    fn describe(&self, _record: &Book) -> Option<String> {
        if self.previews.fetch_add(1, Ordering::Relaxed) == 1 {
            self.books.write(|books| books.values_mut().for_each(|book| book.copies = 9));
        }
        Some("a book".to_owned())
    }
}

#[tokio::test]
async fn what_was_confirmed_is_deleted_and_nothing_else() {
    // REQ-TOK-05, REQ-CON-03
    let books = MemoryRecords::<Book>::new();
    let rules = ChangedMeanwhile { books: books.clone(), previews: AtomicUsize::new(0) };
    let adapter = Adapter::builder("library").resource(books.clone().with_rules(rules));
    let adapter = adapter.without_config().build().unwrap();
    adapter.call("create_book", json!({ "title": "Emma" })).await;
    let confirmed = async || {
        let asked = adapter.call("delete_book", json!({ "book_id": 1 })).await;
        let token = asked.error().unwrap().details["confirmation_token"].clone();
        adapter.call("delete_book", json!({ "book_id": 1, "_confirmation": token })).await
    };
    let changed = confirmed().await;
    let error = changed.error().unwrap();
    assert_eq!(error.code, "CONFLICT_VERSION_MISMATCH");
    assert!(error.message.contains("has changed since this call was confirmed"), "{error:?}");
    assert_eq!(books.read(|books| books[&1].copies), 9);
    let deleted = confirmed().await;
    assert_eq!(deleted.data()["book"]["copies"], 9, "{:?}", deleted.error());
}

/// A note of one of several people.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations(create, get, list, update, delete), singular = "memo", plural = "memoranda")]
struct Note {
    /// Identifier of the note.
    #[resource(id)]
    note_id: String,
    /// The text.
    text: String,
    /// Whether the note must stay.
    #[param(default = false)]
    kept: bool,
    /// Name of the owner.
    #[resource(read_only)]
    #[create_input(value = String::new())]
    owner: String,
}

/// Rules by which notes belong to the person whose session created them.
struct OwnNotes;

fn owner(context: &Context) -> String {
    context.session().map(|session| session.id().to_owned()).unwrap_or_default()
}

impl ResourceRules for OwnNotes {
    type Resource = Note;

    fn visible(&self, context: &Context) -> RowFilter<Note> {
        RowFilter::new(json!({ "owner": owner(context) }))
    }

    fn before_create(&self, context: &Context, new: &mut Note) -> Result<(), OperationError> {
        new.owner = owner(context);
        Ok(())
    }

    fn before_update(
        &self,
        _context: &Context,
        old: &Note,
        new: &mut Note,
    ) -> Result<(), OperationError> {
        if old.kept && new.text != old.text {
            return Err(OperationError::wrong_state("memo", "kept", ["update_memo"]));
        }
        Ok(())
    }

    fn before_delete(&self, _context: &Context, old: &Note) -> Result<(), OperationError> {
        if old.kept {
            return Err(OperationError::wrong_state("memo", "kept", ["update_memo"]));
        }
        Ok(())
    }
}

/// Delete a memo without a question.
#[operation(category = "DELETE", danger(level = "reversible"))]
fn delete_memo(
    State(notes): State<MemoryRecords<Note>>,
    /// Identifier of the memo.
    note_id: String,
) -> bool {
    notes.write(|notes| notes.remove(&note_id)).is_some()
}

#[tokio::test]
async fn rules_hide_refuse_and_complete_records() {
    // REQ-AGG-06, REQ-ERR-05
    let notes = MemoryRecords::<Note>::new();
    let adapter = Adapter::builder("memos")
        .resource(notes.clone().with_rules(OwnNotes))
        .without_config()
        .build()
        .unwrap();
    let mode = async || mcp_aql::testing::Client::connect(&adapter).await.unwrap();
    let (ada, eve) = (mode().await, mode().await);
    let ask = async |client: &mcp_aql::testing::Client, operation: &str, params: Value| {
        let family = match operation.split('_').next() {
            Some("create") => "create",
            Some("update") => "update",
            _ => "read",
        };
        client.call(&format!("mcp_aql_{family}"), operation, params).await.unwrap()
    };
    let created = ask(&ada, "create_memo", json!({ "text": "Tea" })).await;
    let id = created.data()["memo"]["note_id"].clone();
    assert_eq!(id, "memo-1");
    ask(&eve, "create_memo", json!({ "text": "Coffee" })).await;
    let asked = json!({ "aggregate": { "all": { "count": true } }, "include_items": true });
    for (client, text) in [(&ada, "Tea"), (&eve, "Coffee")] {
        let listed = ask(client, "list_memoranda", asked.clone()).await;
        assert_eq!(listed.data()["items"][0]["text"], text);
        assert_eq!(listed.data()["aggregations"]["all"], 1);
        assert_eq!(listed.data()["pageInfo"]["totalCount"], 1);
    }
    let hidden = ask(&eve, "get_memo", json!({ "note_id": id })).await;
    assert_eq!(hidden.error().unwrap().code, "NOT_FOUND_RESOURCE");
    let change = |id: &Value, input: Value| json!({ "note_id": id, "input": input });
    let stolen = ask(&eve, "update_memo", change(&id, json!({ "text": "Mine" }))).await;
    let absent = ask(&eve, "update_memo", change(&json!("memo-7"), json!({ "text": "" }))).await;
    let absent = absent.error().unwrap().message.replace("memo-7", "memo-1");
    assert_eq!(stolen.error().unwrap().message, absent, "a hidden record is answered like none");
    ask(&ada, "update_memo", change(&id, json!({ "kept": true }))).await;
    let refused = ask(&ada, "update_memo", change(&id, json!({ "text": "Milk" }))).await;
    assert_eq!(refused.error().unwrap().code, "CONFLICT_VERSION_MISMATCH");
    assert_eq!(notes.read(|notes| notes["memo-1"].text.clone()), "Tea", "nothing has changed");
}

#[tokio::test]
async fn an_operation_of_the_same_name_replaces_a_ready_one() {
    let notes = MemoryRecords::<Note>::new();
    let adapter = Adapter::builder("memos")
        .resource(notes.clone())
        .state(notes.clone())
        .operation(delete_memo {})
        .without_config()
        .build()
        .unwrap();
    adapter.call("create_memo", json!({ "text": "Tea", "kept": true })).await;
    let deleted = adapter.call("delete_memo", json!({ "note_id": "memo-1" })).await;
    assert_eq!(*deleted.data(), json!(true));
    assert!(notes.read(|notes| notes.is_empty()));
}

#[cfg(feature = "conformance")]
#[tokio::test]
async fn a_ready_resource_conforms_with_nothing_configured() {
    // REQ-CNF-01
    // The runner searches with the words of the example, and the search must find something.
    let book = Book { book_id: 7, title: "Some words".to_owned(), copies: 1, version: 1 };
    let adapter = Adapter::builder("library").resource(MemoryRecords::from_iter([book]));
    mcp_aql::testing::assert_conforms(&adapter.without_config().build().unwrap()).await;
}

/// A desk with any kind of records. Its operations are named after the type of the records.
struct Desk<R: Record>(MemoryRecords<R>);

#[operations]
impl<R: Record<Id = u32>> Desk<R> {
    /// Counts the records.
    #[operation(
        category = "READ",
        name = R::NAMES.list.name,
        description = R::NAMES.list.description,
    )]
    fn list(&self) -> usize {
        self.0.read(|records| records.len())
    }

    /// Looks for a record.
    #[operation(
        category = "READ",
        name = R::NAMES.get.name,
        description = R::NAMES.get.description,
    )]
    fn get(
        &self,
        /// Number of the record.
        id: u32,
    ) -> bool {
        self.0.read(|records| records.contains_key(&id))
    }
}

#[tokio::test]
async fn operations_of_generic_types_are_named_after_them() {
    // REQ-CLS-06
    let adapter = Adapter::builder("desks")
        .operations(Desk(MemoryRecords::<Book>::new()))
        .operations(Desk(MemoryRecords::<Page>::new()))
        .without_config();
    let adapter = adapter.build().unwrap();
    assert_eq!(*adapter.call("list_books", json!({})).await.data(), json!(0));
    assert_eq!(*adapter.call("get_page", json!({ "id": 1 })).await.data(), json!(false));
    let asked = json!({ "query": "operations", "name": "list_pages" });
    let details = adapter.call("introspect", asked).await;
    assert_eq!(details.data()["operation"]["description"], "List pages.");
}

/// A page.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(get, list))]
struct Page {
    /// Number of the page.
    #[resource(id)]
    page_id: u32,
}

#[tokio::test]
async fn a_deletion_is_described_or_refused_before_anybody_is_asked() {
    // REQ-DNG-05, REQ-TOK-06, REQ-CON-03
    let book = Book { book_id: 7, title: "Emma".to_owned(), copies: 1, version: 3 };
    let adapter = Adapter::builder("library").resource(MemoryRecords::from_iter([book]));
    let adapter = adapter.without_config().build().unwrap();
    let delete = async |params: Value| {
        let result = adapter.call("delete_book", params).await;
        let error = result.error().unwrap().clone();
        (error.code, error.details.get("confirmation_message").cloned().unwrap_or_default())
    };
    let (code, question) = delete(json!({ "book_id": 7, "if_match": 3 })).await;
    assert_eq!(
        (code.as_str(), &question),
        ("CONFIRMATION_REQUIRED", &json!("Delete book '7', Emma?"))
    );
    assert_eq!(delete(json!({ "book_id": 8 })).await.0, "NOT_FOUND_RESOURCE");
    let outdated = delete(json!({ "book_id": 7, "if_match": 2 })).await;
    assert_eq!(outdated.0, "CONFLICT_VERSION_MISMATCH");

    let kept = Note {
        note_id: "memo-1".to_owned(),
        text: "Tea".to_owned(),
        kept: true,
        owner: String::new(),
    };
    let notes = MemoryRecords::from_iter([kept]).with_rules(OwnNotes);
    let adapter = Adapter::builder("memos").resource(notes).without_config().build().unwrap();
    let refused = adapter.call("delete_memo", json!({ "note_id": "memo-1" })).await;
    assert_eq!(refused.error().unwrap().details["state"], "kept", "{refused:?}");
}

/// A letter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(
    create(name = "add_letter", example = { "from": "Ada", "pages": ["Dear Eve"] }),
    get,
    delete(danger(
        level = "dangerous",
        reasons = ["The letter cannot be printed again"],
        confirmation_message = "Burn {pages} {{pages}} from {from} to {to}?",
    )),
))]
struct Letter {
    /// Number of the letter.
    #[resource(id)]
    letter_id: u32,
    /// Name of the sender.
    from: String,
    /// Name of the reader.
    to: Option<String>,
    /// Texts of the pages.
    pages: Vec<String>,
}

#[tokio::test]
async fn dangers_questions_and_examples_can_be_set() {
    // REQ-DNG-05, REQ-DNG-02
    let adapter =
        Adapter::builder("post").resource(MemoryRecords::<Letter>::new()).without_config();
    let adapter = adapter.build().unwrap();
    let details = async |name: &str| {
        let asked = json!({ "query": "operations", "name": name });
        adapter.call("introspect", asked).await.data()["operation"].clone()
    };
    let added = details("add_letter").await;
    assert_eq!(added["examples"][0]["request"]["params"]["pages"], json!(["Dear Eve"]), "{added}");
    let delete = details("delete_letter").await;
    assert!(delete["description"].as_str().unwrap().ends_with("dangerous."), "{delete}");
    adapter.call("add_letter", json!({ "from": "Ada", "pages": ["a", "b"] })).await;
    let asked = adapter.call("delete_letter", json!({ "letter_id": 1 })).await;
    let details = &asked.error().unwrap().details;
    assert_eq!(details["confirmation_message"], "Burn 2 {pages} from Ada to nothing?");
    assert_eq!(details["reasons"], json!(["The letter cannot be printed again"]), "{details:?}");
}

/// Counts the changes of letters, and rejects the second one.
struct Counted(Arc<Mutex<Vec<String>>>);

impl ResourceRules for Counted {
    type Resource = Book;

    fn after_create(&self, _context: &Context, new: &Book) -> Result<(), OperationError> {
        self.push(format!("created {}", new.title))
    }

    fn after_update(
        &self,
        _context: &Context,
        old: &Book,
        new: &Book,
    ) -> Result<(), OperationError> {
        self.push(format!("updated {} to {}", old.title, new.title))
    }

    fn after_delete(&self, _context: &Context, old: &Book) -> Result<(), OperationError> {
        self.push(format!("deleted {}", old.title))
    }
}

impl Counted {
    fn push(&self, event: String) -> Result<(), OperationError> {
        if event.contains("Dune") {
            return Err(OperationError::wrong_state("book", "banned", ["list_books"]));
        }
        self.0.lock().unwrap().push(event);
        Ok(())
    }
}

#[tokio::test]
async fn rules_run_after_a_change_and_can_undo_it() {
    // REQ-CON-02
    let events = Arc::new(Mutex::new(Vec::new()));
    let books = MemoryRecords::<Book>::new();
    let ruled = books.clone().with_rules(Counted(Arc::clone(&events)));
    let adapter = Adapter::builder("library").resource(ruled).without_config().build().unwrap();
    adapter.call("create_book", json!({ "title": "Emma" })).await;
    adapter.call("create_book", json!({ "title": "Dune" })).await;
    let change = |title: &str| json!({ "book_id": 1, "input": { "title": title } });
    adapter.call("update_book", change("Dune")).await;
    assert_eq!(
        books.read(|books| books.values().map(|it| it.title.clone()).collect::<Vec<_>>()),
        ["Emma"]
    );
    adapter.call("update_book", change("Persuasion")).await;
    let asked = adapter.call("delete_book", json!({ "book_id": 1 })).await;
    let token = asked.error().unwrap().details["confirmation_token"].clone();
    adapter.call("delete_book", json!({ "book_id": 1, "confirmation_token": token })).await;
    assert_eq!(
        *events.lock().unwrap(),
        ["created Emma", "updated Emma to Persuasion", "deleted Persuasion"]
    );
}

/// A key, whose text is a secret.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(operations(get, list, delete))]
struct Key {
    /// Number of the key.
    #[resource(id)]
    key_id: u32,
    /// Text of the key.
    #[resource(search)]
    #[param(sensitive)]
    text: String,
}

/// Rules that fail to describe a record.
struct Failing;

impl ResourceRules for Failing {
    type Resource = Key;

    #[expect(clippy::panic, reason = "the test is about it")]
    fn describe(&self, record: &Key) -> Option<String> {
        match record.key_id {
            1 => None,
            _ => panic!("no description"),
        }
    }
}

/// Rules that prevent the deletion of the second key.
struct Keeping;

impl ResourceRules for Keeping {
    type Resource = Key;

    fn before_delete(&self, _context: &Context, old: &Key) -> Result<(), OperationError> {
        if old.key_id == 2 {
            return Err(OperationError::wrong_state("key", "in use", ["list_keys"]));
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_question_shows_no_secret_and_survives_a_panic() {
    // REQ-ERR-05, REQ-DNG-05
    let keys = [1, 2, 3].map(|key_id| Key { key_id, text: "hush".to_owned() });
    let store = MemoryRecords::from_iter(keys).with_rules(Keeping).with_rules(Failing);
    let adapter = Adapter::builder("house").resource(store).without_config().build().unwrap();
    let delete = async |key_id: u32| {
        let result = adapter.call("delete_key", json!({ "key_id": key_id })).await;
        result.error().unwrap().clone()
    };
    assert_eq!(delete(1).await.details["confirmation_message"], "Delete key '1'?");
    assert_eq!(delete(2).await.details["state"], "in use", "rules below other rules are asked");
    assert_eq!(delete(3).await.code, "INTERNAL_ERROR");
}

/// A badge with one of 255 numbers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(create, get))]
struct Badge {
    /// Number of the badge.
    #[resource(id)]
    badge_id: u8,
}

/// A locker whose number callers choose.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(create))]
struct Locker {
    /// Number of the locker.
    #[resource(id)]
    #[create_input(chosen)]
    locker_id: u8,
}

#[tokio::test]
async fn a_record_is_rejected_when_the_numbers_are_used_up() {
    // REQ-ERR-02
    let badges = MemoryRecords::from_iter((1..=254).map(|badge_id| Badge { badge_id }));
    let lockers = MemoryRecords::<Locker>::new();
    let builder = Adapter::builder("gate").resource(badges.clone()).resource(lockers.clone());
    let adapter = builder.without_config().build().unwrap();
    let last = adapter.call("create_badge", json!({})).await;
    assert_eq!(last.data()["badge"]["badge_id"], 255);
    // The number of a removed record is not used again.
    badges.write(|badges| badges.remove(&7));
    let more = adapter.call("create_badge", json!({})).await;
    let refused = more.error().unwrap();
    assert_eq!(refused.code, "CONFLICT_ALREADY_EXISTS");
    assert!(refused.message.starts_with("No other 'badge' can be created"), "{refused:?}");
    assert_eq!(adapter.call("get_badge", json!({ "badge_id": 255 })).await.code(), None);
    // Numbers chosen by callers are not counted.
    for _ in 0..300 {
        let created = adapter.call("create_locker", json!({ "locker_id": 200 })).await;
        assert_eq!(created.code(), None, "{:?}", created.error());
        lockers.write(|lockers| lockers.clear());
    }
}
