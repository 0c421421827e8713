//! Tests `assert_conforms`: the test of an adapter runs the conformance runner in its own process.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use mcp_aql::prelude::*;
use mcp_aql::table::{DynamicOperation, DynamicParameter};
use mcp_aql::testing::conformance::{Category, File, Mode, Settings, Verdict};
use mcp_aql::testing::{assert_conforms, assert_conforms_with, conformance_report};
use mcp_aql::{AdapterBuilder, EndpointMode, SemanticCategory};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A note.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Note {
    /// Identifier.
    #[resource(id)]
    note_id: String,
    /// The text of the note.
    text: String,
}

/// Stores all notes.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, Note>>>);

impl Notes {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[operations]
impl Notes {
    /// Create a note.
    #[operation(category = "CREATE")]
    fn create_note(
        &self,
        /// The text of the note.
        #[param(min_length = 1, max_length = 1000)]
        text: String,
    ) -> Note {
        let mut notes = self.lock();
        let note = Note { note_id: format!("note-{}", notes.len() + 1), text };
        notes.insert(note.note_id.clone(), note.clone());
        note
    }

    /// Read a note.
    #[operation(category = "READ")]
    fn get_note(
        &self,
        /// Identifier of the note.
        #[param(max_length = 100)]
        note_id: String,
    ) -> Result<Note, OperationError> {
        let found = self.lock().get(&note_id).cloned();
        found.ok_or_else(|| OperationError::not_found("note", &note_id))
    }
}

fn notes() -> AdapterBuilder {
    Adapter::builder("notes").operations(Notes::default()).without_config()
}

/// Returns the panic message of a failing assertion.
async fn complaint(asserting: impl Future<Output = ()>) -> String {
    let Err(panic) = AssertUnwindSafe(asserting).catch_unwind().await else {
        return "nothing".to_owned();
    };
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_conforming_adapter_passes_in_both_modes() {
    let adapter = notes().build().unwrap();
    assert_conforms(&adapter).await;
    let report = conformance_report(&adapter, Settings::default().allow_all()).await.unwrap();
    assert_eq!(report.modes, [Mode::Semantic, Mode::Single]);
    assert_eq!(report.implementation, "notes");
}

fn text_of(params: &Map<String, Value>, name: &str) -> String {
    params.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns an adapter with the same operations, known only at run time.
fn dynamic_notes() -> AdapterBuilder {
    let text = |max_length: usize| json!({ "type": "string", "maxLength": max_length });
    let note = json!({
        "type": "object",
        "properties": { "note_id": { "type": "string" }, "text": { "type": "string" } },
        "required": ["note_id", "text"],
    });
    let notes = Notes::default();
    let create = {
        let notes = notes.clone();
        move |params: Map<String, Value>, _| {
            let note = notes.create_note(text_of(&params, "text"));
            async move { Ok(json!(note)) }
        }
    };
    let get = move |params: Map<String, Value>, _| {
        let note = notes.get_note(text_of(&params, "note_id"));
        async move { Ok(json!(note?)) }
    };
    let create =
        DynamicOperation::new("create_note", SemanticCategory::Create, "Create a note.", create)
            .parameter(DynamicParameter::required("text", "The text of the note.", text(1000)))
            .returns(note.clone());
    let get = DynamicOperation::new("get_note", SemanticCategory::Read, "Read a note.", get)
        .parameter(DynamicParameter::required("note_id", "Identifier of the note.", text(100)))
        .returns(note);
    let builder = Adapter::builder("notes").without_config();
    builder.dynamic_operation(create).dynamic_operation(get)
}

#[tokio::test]
async fn an_adapter_whose_operations_are_known_at_run_time_conforms() {
    assert_conforms(&dynamic_notes().build().unwrap()).await;
}

#[tokio::test]
async fn tests_single_mode_adapters_in_semantic_mode_too() {
    let adapter = notes().mode(EndpointMode::Single).build().unwrap();
    let settings = Settings::default().level(1).category("wire");
    let report = conformance_report(&adapter, settings).await.unwrap();
    assert_eq!(report.modes, [Mode::Single, Mode::Semantic], "{}", report.text(false));
}

#[tokio::test]
async fn reports_why_an_adapter_does_not_conform() {
    let adapter = notes().strict_mode(false).build().unwrap();
    let told = complaint(assert_conforms(&adapter)).await;
    assert!(told.starts_with("the adapter does not conform\n\nnotes "), "{told}");
    for needle in ["parameters.unknown_nested", "VALIDATION_UNKNOWN_PARAM"] {
        assert!(told.contains(needle), "{needle} is not in {told}");
    }
}

#[tokio::test]
async fn reports_a_level_that_is_not_achieved() {
    let adapter = notes().build().unwrap();
    let skip = "[[skip]]\ncheck = 'wire.only_messages'\nreason = 'the log is on standard output'";
    let settings = Settings::default().file(File::parse(skip, |_| None).unwrap());
    let told = complaint(assert_conforms_with(&adapter, settings)).await;
    assert!(told.contains("the log is on standard output"), "{told}");
}

#[tokio::test]
async fn operations_that_are_not_allowed_do_not_run() {
    let notes = Notes::default();
    let build = || Adapter::builder("notes").operations(notes.clone()).without_config().build();
    let report = conformance_report(&build().unwrap(), Settings::default()).await.unwrap();
    assert_ne!(report.checks().filter(|check| check.verdict == Verdict::Pass).count(), 0);
    assert_eq!(notes.lock().len(), 0, "{}", report.text(false));

    let settings = Settings::default().allow(Category::Create);
    let report = conformance_report(&build().unwrap(), settings).await.unwrap();
    assert_ne!(notes.lock().len(), 0, "{}", report.text(false));
}
