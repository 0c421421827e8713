//! The adapter of the MCP tests. Its tables are written by hand.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use mcp_aql::prelude::*;
use mcp_aql::table::{
    Call, ExampleSpec, OperationEntry, OperationSpec, ParameterEntry, ParameterSpec, ReturnsSpec,
};
use mcp_aql::{AdapterBuilder, Operations, SemanticCategory};
use tokio::sync::watch;

/// A note.
#[derive(Debug, Clone, serde::Serialize, JsonSchema)]
struct Note {
    note_id: u32,
    title: String,
}

/// The caller of an operation.
#[derive(Debug, serde::Serialize, JsonSchema)]
struct Caller {
    session: Option<String>,
    label: Option<String>,
}

/// Counters for events of the fixture.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    pub started: Arc<watch::Sender<u32>>,
    pub cancelled: Arc<watch::Sender<u32>>,
    pub sessions_ended: Arc<watch::Sender<u32>>,
}

/// The notes of the fixture, and its counters.
#[derive(Debug, Default)]
struct Fixture {
    notes: Mutex<Vec<Note>>,
    signals: Signals,
}

/// A session state that counts how many times it is dropped.
#[derive(Default)]
struct Held(Mutex<Option<DropCounter>>);

struct DropCounter {
    file: Option<PathBuf>,
    ended: Arc<watch::Sender<u32>>,
}

impl Drop for DropCounter {
    fn drop(&mut self) {
        self.ended.send_modify(|count| *count += 1);
        if let Some(file) = &self.file {
            std::fs::write(file, "the session is over").unwrap_or_default();
        }
    }
}

impl Fixture {
    fn create_note(&self, title: String) -> Note {
        let mut notes = self.notes.lock().unwrap();
        let note = Note { note_id: u32::try_from(notes.len()).unwrap() + 1, title };
        notes.push(note.clone());
        note
    }

    fn list_notes(&self) -> Vec<Note> {
        self.notes.lock().unwrap().clone()
    }

    fn get_note(&self, note_id: u32) -> Result<Note, OperationError> {
        let notes = self.notes.lock().unwrap();
        let found = notes.iter().find(|note| note.note_id == note_id);
        found.cloned().ok_or_else(|| OperationError::not_found("note", note_id.to_string()))
    }

    async fn execute_export(context: Context, steps: u32) -> u32 {
        for step in 0..steps {
            context.progress(f64::from(step + 1), Some(f64::from(steps)), "exporting").await;
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        steps
    }

    async fn execute_wait(&self, context: Context) -> bool {
        self.signals.started.send_modify(|count| *count += 1);
        context.cancelled().await;
        self.signals.cancelled.send_modify(|count| *count += 1);
        true
    }

    fn hold_session(
        &self,
        context: &Context,
        file: Option<PathBuf>,
    ) -> Result<u32, OperationError> {
        let session = context.require_session()?;
        let farewell = DropCounter { file, ended: Arc::clone(&self.signals.sessions_ended) };
        *session.state::<Held>().0.lock().unwrap() = Some(farewell);
        Ok(session.state::<AtomicU32>().fetch_add(1, Ordering::Relaxed) + 1)
    }
}

const ID: ParameterEntry =
    ParameterEntry::One(ParameterSpec::required::<u32>("note_id", "Which note."));

impl Operations for Fixture {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[
        OperationEntry::new(
            OperationSpec::new("create_note", SemanticCategory::Create, "Create a note.")
                .parameters(&[ParameterEntry::One(ParameterSpec::required::<String>(
                    "title", "Title.",
                ))])
                .returns(ReturnsSpec::of::<Note, _>())
                .examples(&[ExampleSpec { description: "", params: r#"{"title":"Milk"}"# }]),
            |fixture, mut call: Call| {
                Box::pin(async move {
                    let title = call.param::<String>()?;
                    call.reply(fixture.create_note(title))
                })
            },
        ),
        OperationEntry::new(
            OperationSpec::new("list_notes", SemanticCategory::Read, "List the notes.")
                .returns(ReturnsSpec::of::<Vec<Note>, _>()),
            |fixture, call: Call| Box::pin(async move { call.reply(fixture.list_notes()) }),
        ),
        OperationEntry::new(
            OperationSpec::new("get_note", SemanticCategory::Read, "Show a note.")
                .parameters(&[ID])
                .returns(ReturnsSpec::of::<Result<Note, OperationError>, _>()),
            |fixture, mut call: Call| {
                Box::pin(async move {
                    let id = call.param::<u32>()?;
                    call.reply(fixture.get_note(id))
                })
            },
        ),
        OperationEntry::new(
            OperationSpec::new("delete_notes", SemanticCategory::Delete, "Delete all notes."),
            |fixture, call: Call| {
                Box::pin(async move {
                    fixture.notes.lock().unwrap().clear();
                    call.reply(())
                })
            },
        ),
        OperationEntry::new(
            OperationSpec::new("execute_export", SemanticCategory::Execute, "Export in steps.")
                .parameters(&[ParameterEntry::One(ParameterSpec::required::<u32>(
                    "steps",
                    "How many steps.",
                ))])
                .returns(ReturnsSpec::of::<u32, _>()),
            |_, mut call: Call| {
                Box::pin(async move {
                    let steps = call.param::<u32>()?;
                    let context = call.context();
                    call.reply(Self::execute_export(context, steps).await)
                })
            },
        ),
        OperationEntry::new(
            OperationSpec::new("execute_wait", SemanticCategory::Execute, "Wait to be cancelled.")
                .returns(ReturnsSpec::of::<bool, _>()),
            |fixture, call: Call| {
                Box::pin(async move {
                    let context = call.context();
                    call.reply(fixture.execute_wait(context).await)
                })
            },
        ),
        OperationEntry::new(
            OperationSpec::new("execute_panic", SemanticCategory::Execute, "Panic."),
            |_, _: Call| Box::pin(async move { panic!("/etc/secret is broken") }),
        ),
        OperationEntry::new(
            OperationSpec::new("show_caller", SemanticCategory::Read, "Show who calls.")
                .returns(ReturnsSpec::of::<Caller, _>()),
            |_, call: Call| {
                Box::pin(async move {
                    let context = call.context();
                    let session = context.session().map(|session| session.id().to_owned());
                    let label = context.client_request_id().map(str::to_owned);
                    call.reply(Caller { session, label })
                })
            },
        ),
        OperationEntry::new(
            OperationSpec::new("execute_hold", SemanticCategory::Execute, "Keep session state.")
                .parameters(&[ParameterEntry::One(ParameterSpec::optional::<PathBuf>(
                    "file",
                    "Written when the session ends.",
                ))])
                .returns(ReturnsSpec::of::<Result<u32, OperationError>, _>()),
            |fixture, mut call: Call| {
                Box::pin(async move {
                    let file = call.optional::<PathBuf>()?;
                    let context = call.context();
                    call.reply(fixture.hold_session(&context, file))
                })
            },
        ),
    ];
}

pub fn builder() -> AdapterBuilder {
    builder_with(&Signals::default())
}

/// Returns a builder for an adapter that counts its events.
pub fn builder_with(signals: &Signals) -> AdapterBuilder {
    let fixture = Fixture { signals: signals.clone(), ..Fixture::default() };
    Adapter::builder("notes").version("1.2.3").operations(fixture)
}
