//! Tests the tables that the macros generate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test that cannot go on panics, in its helpers too"
)]
#![allow(clippy::too_many_arguments, reason = "a parameter of each kind")]

use mcp_aql::constraint::{Bound, Constraint, EnumValue, Format};
use mcp_aql::prelude::*;
use mcp_aql::table::{
    DangerSpec, DataKey, DefaultSpec, LifecycleSpec, Operation, ParameterEntry, ParameterSpec,
};
use mcp_aql::{DangerLevel, Operations, SemanticCategory};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Short title.
    title: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Todo,
    Done,
}

#[derive(Clone)]
struct Clock(u64);

#[derive(ParamGroup)]
struct Paging {
    /// How many.
    #[param(minimum = 1, maximum = 100, default = 20)]
    first: u32,
    /// Cursor to continue from.
    after: Option<String>,
}

/// Create a task.
///
/// The new task has no comments.
#[operation(
    category = "CREATE",
    endpoint = "manage",
    wrap = "created",
    deprecated(replacement = "add_task", removal_date = "2031-05-06"),
    example = { "title": "Milk", "priority": 2 },
    example("with a note", { "title": "Milk", "note": null, "tags": ["a"] }),
)]
async fn create_task(
    State(clock): State<Clock>,
    _context: Context,
    /// Short title.
    #[param(min_length = 1, max_length = 200, pattern = "^[A-Z]")]
    title: String,
    /// 1 is most urgent.
    #[param(default = 3, minimum = 1, maximum = 5)]
    mut priority: u8,
    /// Its status.
    #[param(default = "todo", enum = ["todo", "done"])]
    status: Status,
    /// Free-form labels.
    #[param(max_items = 20, default = Vec::new())]
    tags: Vec<String>,
    /// A secret note.
    #[param(sensitive, deprecated)]
    note: Option<String>,
    /// When it is due.
    #[param(name = "due_date", format = "date")]
    due: Option<String>,
    #[param(group)] page: Paging,
) -> Result<Task, OperationError> {
    priority += 1;
    let _ = (clock.0, priority, status, tags, note, due, page.first, page.after);
    Ok(Task { task_id: "t-1".into(), title })
}

/// Change a task.
#[operation(category = "UPDATE", example = { "task_id": "t-1", "input": { "title": "Bread" } })]
fn update_task(
    /// Which one.
    task_id: String,
    input: Update<Task>,
) -> Result<Task, OperationError> {
    let _ = input;
    Err(OperationError::not_found("task", task_id))
}

struct Notes<S> {
    store: S,
}

#[operations]
impl<S: Send + Sync + Clone> Notes<S> {
    /// Count the notes.
    #[operation(category = "READ", wrap = false)]
    fn count_notes(&self) -> usize {
        size_of_val(&self.store)
    }

    /// Drop all notes.
    #[operation(category = "EXECUTE", rationale = "Nothing is stored")]
    async fn clear_notes(&self, #[param(group)] page: Paging) {
        let _ = page;
        self.helper();
    }

    /// Return the version.
    #[operation(category = "READ")]
    fn version() -> &'static str {
        "1"
    }

    /// Borrow a result from the receiver.
    #[operation(category = "READ")]
    fn motto(&self) -> &str {
        "carpe diem"
    }

    /// Change a note.
    #[operation(category = "UPDATE")]
    async fn update_note(
        &self,
        /// Which one.
        task_id: String,
        input: Update<Task>,
    ) -> Result<String, OperationError> {
        let _ = input;
        Ok(task_id)
    }

    fn helper(&self) {}
}

/// Delete a task.
#[operation(
    category = "DELETE",
    danger(
        level = "dangerous",
        reasons = ["Its comments go too", "Nobody has a copy"],
        confirmation_message = "Delete '{task_id}' {{for good}}?",
        cooldown_seconds = 30,
        requires_reauth,
    )
)]
fn delete_task(
    /// Which one.
    task_id: String,
) {
    drop(task_id);
}

/// Export the tasks.
#[operation(
    category = "EXECUTE",
    danger(reasons = ["They leave the house"]),
    lifecycle(cancel, progress)
)]
async fn export_tasks(
    execution: ExecutionContext,
    context: Context,
    /// Where to.
    target: String,
) -> String {
    drop((execution, context));
    target
}

/// Start over.
#[operation(category = "EXECUTE", lifecycle())]
async fn start_over() {}

fn one(entry: &ParameterEntry) -> ParameterSpec {
    match entry {
        ParameterEntry::One(spec) => *spec,
        other => panic!("not one parameter: {other:?}"),
    }
}

#[test]
fn a_free_function_has_a_table() {
    let spec = create_task::OPERATION.spec;
    assert_eq!(spec.name, "create_task");
    assert_eq!(spec.category, SemanticCategory::Create);
    assert_eq!(spec.description, "Create a task.\n\nThe new task has no comments.");
    assert_eq!(spec.endpoint, Some("manage"));
    assert_eq!(spec.data_key, DataKey::Named("created"));
    assert_eq!(spec.deprecated.unwrap().replacement, Some("add_task"));
    assert_eq!(spec.states.len(), 1);
    assert_eq!(spec.examples[0].params, r#"{"title":"Milk","priority":2}"#);
    assert_eq!(spec.examples[1].description, "with a note");
    let names: Vec<_> = spec.parameters[..6].iter().map(|entry| one(entry).name).collect();
    assert_eq!(names, ["title", "priority", "status", "tags", "note", "due_date"]);
    assert!(matches!(spec.parameters[6], ParameterEntry::Group([_, _])));
}

#[test]
fn dangers_are_declared_in_the_table() {
    // REQ-DNG-05
    let danger = DangerSpec::new(DangerLevel::Dangerous)
        .reasons(&["Its comments go too", "Nobody has a copy"])
        .confirmation_message("Delete '{task_id}' {{for good}}?")
        .cooldown_seconds(30)
        .requires_reauth();
    assert_eq!(delete_task::OPERATION.spec.danger, danger);
    let reasons = DangerSpec::UNDECLARED.reasons(&["They leave the house"]);
    assert_eq!(export_tasks::OPERATION.spec.danger, reasons);
    assert_eq!(create_task::OPERATION.spec.danger, DangerSpec::UNDECLARED);
}

#[test]
fn lifecycles_are_declared_in_the_table() {
    // REQ-LIF-09
    let spec = export_tasks::OPERATION.spec;
    assert_eq!(spec.lifecycle, Some(LifecycleSpec::new(true, false, true)));
    // `Context` and `ExecutionContext` are not parameters.
    assert_eq!(spec.parameters.len(), 1);
    assert_eq!(start_over::OPERATION.spec.lifecycle, Some(LifecycleSpec::new(false, false, false)));
    assert_eq!(create_task::OPERATION.spec.lifecycle, None);
}

#[test]
fn parameters_carry_what_was_written() {
    let spec = create_task::OPERATION.spec;
    let title = one(&spec.parameters[0]);
    assert!(title.required);
    assert_eq!(title.description, "Short title.");
    assert_eq!(
        title.constraints,
        [Constraint::MinLength(1), Constraint::MaxLength(200), Constraint::Pattern("^[A-Z]")]
    );
    let priority = one(&spec.parameters[1]);
    assert!(!priority.required);
    assert!(matches!(priority.default, Some(DefaultSpec::Json("3"))));
    assert_eq!(
        priority.constraints,
        [Constraint::Minimum(Bound::Int(1)), Constraint::Maximum(Bound::Int(5))]
    );
    let status = one(&spec.parameters[2]);
    assert!(matches!(status.default, Some(DefaultSpec::Json("\"todo\""))));
    assert_eq!(
        status.constraints,
        [Constraint::Enum(&[EnumValue::Str("todo"), EnumValue::Str("done")])]
    );
    let tags = one(&spec.parameters[3]);
    let Some(DefaultSpec::Expr(default)) = tags.default else { panic!("no expression") };
    assert_eq!(default().unwrap(), serde_json::json!([]));
    let note = one(&spec.parameters[4]);
    assert!(note.sensitive && note.deprecated.is_some() && !note.required);
    let due = one(&spec.parameters[5]);
    assert_eq!(due.constraints, [Constraint::Format(Format::Date)]);
}

#[test]
fn updates_take_an_input() {
    let spec = update_task::OPERATION.spec;
    assert!(matches!(spec.parameters, [ParameterEntry::One(_), ParameterEntry::Input(_)]));
}

#[test]
fn methods_become_operations_in_the_order_written() {
    let names: Vec<_> = Notes::<u8>::OPERATIONS.iter().map(|method| method.spec.name).collect();
    assert_eq!(names, ["count_notes", "clear_notes", "version", "motto", "update_note"]);
    assert_eq!(Notes { store: 7_u8 }.count_notes(), 1);
}

/// Defines an operation whose descriptions are arguments of a macro.
macro_rules! counter {
    ($function:ident, $noun:literal, $result:ty, $doc:expr) => {
        #[doc = $doc]
        #[doc = concat!("Counts each ", $noun, ".")]
        #[operation(
            category = "READ",
            name = concat!("count_", $noun, "s"),
            danger(confirmation_message = concat!("Count ", $noun, "s of '{", "owner", "}'?")),
            example($noun, { "owner": concat!($noun, "-", 1) })
        )]
        fn $function(
            #[doc = concat!("Whose ", $noun, "s.")]
            #[param(pattern = concat!("^", $noun, "-[0-9]$"))]
            owner: String,
        ) -> $result {
            let _ = owner;
            7
        }
    };
}

counter!(counted_tasks, "task", u32, "Count tasks.");

/// Show the manifest.
///
#[doc = include_str!("../Cargo.toml")]
#[operation(category = "READ")]
fn show_manifest(
    #[doc = env!("CARGO_PKG_NAME")]
    #[param(default = concat!("a", "b"))]
    text: String,
) {
    drop(text);
}

#[test]
fn texts_may_be_macros() {
    let spec = counted_tasks::OPERATION.spec;
    assert_eq!(spec.name, "count_tasks");
    assert_eq!(spec.description, "Count tasks.\nCounts each task.");
    assert_eq!(spec.danger.confirmation_message, Some("Count tasks of '{owner}'?"));
    assert_eq!(spec.examples[0].description, "task");
    assert_eq!(spec.examples[0].params, r#"{"owner":"task-1"}"#);
    let owner = one(&spec.parameters[0]);
    assert_eq!(owner.description, "Whose tasks.");
    assert_eq!(owner.constraints, [Constraint::Pattern("^task-[0-9]$")]);

    let spec = show_manifest::OPERATION.spec;
    let manifest = include_str!("../Cargo.toml");
    assert_eq!(spec.description, format!("Show the manifest.\n\n{}", manifest.trim_end()));
    let text = one(&spec.parameters[0]);
    assert_eq!(text.description, "mcp-aql-tests");
    assert!(matches!(text.default, Some(DefaultSpec::Json("\"ab\""))));
}

/// Read two attributes.
#[operation(category = "READ")]
#[operation(name = "read_both")]
fn read_attributes() {}

#[test]
fn attributes_of_one_function_are_taken_together() {
    let spec = read_attributes::OPERATION.spec;
    assert_eq!((spec.name, spec.category), ("read_both", SemanticCategory::Read));
}

struct Board;

#[operations(blocks(admin, reports))]
impl Board {
    /// Count the boards.
    #[operation(category = "READ")]
    fn count_boards(&self) -> usize {
        1
    }
}

mod admin {
    use super::*;

    #[operations(block = admin)]
    impl Board {
        /// Reset the board.
        #[operation(category = "EXECUTE", danger(level = "reversible"))]
        async fn reset_board(&self) {}
    }
}

#[operations(block = reports)]
impl Board {
    /// Sum the points.
    #[operation(category = "READ")]
    fn sum_points() -> u32 {
        7
    }

    /// Sum the points twice.
    #[operation(category = "READ")]
    fn sum_points_twice(&self) -> u32 {
        Self::sum_points() * 2
    }
}

struct Shelf<T>(T);

#[operations(blocks(more))]
impl<T: Send + Sync + Clone> Shelf<T> {
    /// Count the books.
    #[operation(category = "READ")]
    fn count_books(&self) -> usize {
        size_of_val(&self.0)
    }
}

#[operations(block = more)]
impl<T: Send + Sync + Clone> Shelf<T> {
    /// Weigh the books.
    #[operation(category = "READ")]
    fn weigh_books(&self) -> usize {
        drop(self.0.clone());
        2
    }
}

#[tokio::test]
async fn a_type_may_have_several_blocks() {
    let adapter =
        Adapter::builder("boards").operations(Board).operations(Shelf(3_u8)).build().unwrap();
    let names: Vec<_> = adapter.operations().map(|spec| spec.name).collect();
    let own = ["count_boards", "reset_board", "sum_points", "sum_points_twice"];
    assert_eq!(names[1..5], own);
    assert_eq!(names[5..], ["count_books", "weigh_books"]);
    let result = adapter.call("sum_points_twice", serde_json::json!({})).await;
    assert_eq!(result.data(), 14);
    assert_eq!(adapter.call("weigh_books", serde_json::json!({})).await.data(), 2);
}

#[test]
fn functions_stay_callable() {
    let called = update_task::OPERATION.spec.name;
    assert_eq!(called, "update_task");
    let _ = create_task {};
    let _ = update_task {};
}

#[derive(Debug, thiserror::Error, OperationError)]
enum TaskError {
    #[error("no task {id}")]
    #[operation_error(code = "NOT_FOUND_RESOURCE", details(resource_type = "task", resource_id = id))]
    Missing { id: String },
    #[error("{0} of {1} tasks")]
    #[operation_error(code = "RATE_LIMIT_EXCEEDED", details(used = 0, limit = 1, hint = "wait"))]
    Full(u32, u32),
    #[error("stale")]
    #[operation_error(
        code = "CONFLICT_VERSION_MISMATCH",
        details(expected_version = expected, actual_version = 2)
    )]
    Stale { expected: u64 },
    #[error("forbidden")]
    #[operation_error(code = "PERMISSION_DENIED", message = "You may only read")]
    Forbidden,
    #[error(transparent)]
    #[operation_error(transparent)]
    Other(#[from] OperationError),
    #[error("disk")]
    Disk(#[from] std::io::Error),
}

#[test]
fn errors_map_to_codes() {
    let error = OperationError::from(TaskError::Missing { id: "t-7".into() });
    assert_eq!(error.code(), ErrorCode::NotFoundResource);
    assert_eq!(error.message(), "Resource 'task' not found: 't-7'");
    assert_eq!(error.cause().unwrap().to_string(), "no task t-7");

    let error = OperationError::from(TaskError::Full(3, 2));
    assert_eq!(error.message(), "3 of 2 tasks");
    assert_eq!(error.details()["limit"], 2);
    assert_eq!(error.details()["hint"], "wait");

    let error = OperationError::from(TaskError::Stale { expected: 1 });
    assert_eq!(error.details()["expected_version"], "1");
    assert_eq!(error.details()["actual_version"], "2");

    let error = OperationError::from(TaskError::Forbidden);
    assert_eq!(error.message(), "You may only read");

    let inner = OperationError::permission_denied("no");
    assert_eq!(OperationError::from(TaskError::Other(inner)).code(), ErrorCode::PermissionDenied);

    let error = OperationError::from(TaskError::Disk(std::io::Error::other("fire")));
    assert_eq!(error.code(), ErrorCode::InternalError);
}

/// The kind of a thing. Its `Display` and JSON forms differ.
#[derive(Debug, Clone, Copy, serde::Serialize)]
enum ThingKind {
    Shelf,
}

impl std::fmt::Display for ThingKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("shelf")
    }
}

/// A number without a `Display` implementation.
#[derive(Debug, Clone, Copy, serde::Serialize)]
struct ThingId(u32);

#[derive(Debug, thiserror::Error, OperationError)]
#[error("a text that no template makes")]
enum ThingError {
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = kind, resource_id = id)
    )]
    Missing { kind: ThingKind, id: String },
    #[operation_error(
        code = "CONFLICT_ALREADY_EXISTS",
        details(resource_type = 0, resource_id = 1)
    )]
    There(String, ThingId),
    #[operation_error(
        code = "CONFLICT_VERSION_MISMATCH",
        details(expected_version = 0, actual_version = 1)
    )]
    Stale(String, String),
    #[operation_error(code = "PERMISSION_DENIED", details(reason = why))]
    Denied { why: String },
    #[operation_error(
        code = "VALIDATION_INVALID_TYPE",
        details(param_name = name, expected_type = "text", actual_type = "number")
    )]
    NotText { name: String },
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        message = "No such thing",
        details(resource_id = id, note = note)
    )]
    Worded { id: String, note: String },
    #[operation_error(code = "NOT_FOUND_RESOURCE", details(resource_id = id))]
    Untyped { id: String },
}

#[test]
fn templates_are_filled_from_fields_and_literals_alike() {
    // REQ-ERR-03, REQ-ERR-05
    for (error, message) in [
        (
            ThingError::Missing { kind: ThingKind::Shelf, id: "s-1".into() },
            "Resource 'shelf' not found: 's-1'",
        ),
        (ThingError::There("shelf".into(), ThingId(7)), "Resource 'shelf' already exists: '7'"),
        (
            ThingError::Stale("v1".into(), "v2".into()),
            "Version mismatch: 'if_match' is 'v1', but the resource has version 'v2'. Read the resource \
             again, then send the change with its new version",
        ),
        (ThingError::Denied { why: "locked".into() }, "Permission denied: 'locked'"),
        (
            ThingError::NotText { name: "title".into() },
            "Parameter 'title' expected 'text', got 'number'",
        ),
        (ThingError::Worded { id: "s-1".into(), note: "n".into() }, "No such thing"),
        (ThingError::Untyped { id: "s-1".into() }, "a text that no template makes"),
    ] {
        let error = OperationError::from(error);
        assert_eq!(error.message(), message);
    }
    let error = OperationError::from(ThingError::There("shelf".into(), ThingId(7)));
    assert_eq!(
        (&error.details()["resource_type"], &error.details()["resource_id"]),
        (&serde_json::json!("shelf"), &serde_json::json!("7"),)
    );
}

#[test]
fn text_of_the_caller_is_truncated_in_messages() {
    // REQ-ERR-03
    let long = || "x".repeat(100_000);
    for error in [
        ThingError::Missing { kind: ThingKind::Shelf, id: long() },
        ThingError::There(long(), ThingId(7)),
        ThingError::Stale(long(), long()),
        ThingError::Denied { why: long() },
        ThingError::NotText { name: long() },
        ThingError::Worded { id: long(), note: String::new() },
        ThingError::Untyped { id: long() },
    ] {
        let error = OperationError::from(error);
        let text = serde_json::to_string(&error).unwrap();
        assert!(text.len() < 1_500, "{}: {} bytes", error.message(), text.len());
        assert!(text.contains('…'), "{text}");
    }
    // A message of the author may have any length.
    let worded = ThingError::Worded { id: "s-1".into(), note: long() };
    assert_eq!(OperationError::from(worded).details()["note"], long());
    for error in [
        OperationError::not_found(&long(), long()),
        OperationError::already_exists(&long(), long()),
        OperationError::version_mismatch(long(), long()),
    ] {
        assert!(serde_json::to_string(&error).unwrap().len() < 1_500);
    }
}

/// A type that does not implement `std::error::Error`.
#[derive(OperationError)]
#[operation_error(code = "VALIDATION_INVALID_VALUE", message = "No", details(reason = reason))]
struct Refusal {
    reason: String,
}

#[test]
fn a_struct_is_an_error_too() {
    let error = OperationError::from(Refusal { reason: "late".into() });
    assert_eq!(error.details()["reason"], "late");
    assert!(error.cause().is_none());
}

fn main_that_fails(error: TaskError) -> mcp_aql::Result<()> {
    Err(error)?;
    Ok(())
}

fn main_that_is_refused(reason: &str) -> mcp_aql::Result<()> {
    Err(Refusal { reason: reason.into() })?;
    Ok(())
}

#[test]
fn errors_leave_main_by_a_question_mark() {
    let error = main_that_fails(TaskError::Disk(std::io::Error::other("fire"))).unwrap_err();
    assert_eq!(error.to_string(), "disk: fire", "its own words and causes");
    let error = main_that_is_refused("late").unwrap_err();
    let shown = error.to_string();
    assert_eq!(
        shown, "VALIDATION_INVALID_VALUE: No",
        "what clients read, for want of its own words"
    );
}
