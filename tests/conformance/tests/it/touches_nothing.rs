//! Tests that a run does not change data of others.
//!
//! The adapters make that hard: identifiers look alike, two parameters identify an item, and CREATE operations return
//! existing items.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_aql::prelude::*;
use mcp_aql_conformance::{File, MemoryTarget, Report, Runner, Settings, Verdict};
use serde::Serialize;

/// The stored items by resource and number.
type Files = BTreeMap<(&'static str, u32), String>;

/// An office with many resources. The numbers of all of them start at 1.
#[derive(Clone, Default)]
struct Office {
    files: Arc<Mutex<Files>>,
    /// If `true`, items are removed at once, but the reply comes late. The number may already be reused then.
    answers_late: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Paper {
    id: u32,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Case {
    case_id: u32,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Cases {
    items: Vec<Case>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Label {
    label_id: u32,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Labels {
    items: Vec<Label>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Tag {
    tag_id: u32,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Tags {
    items: Vec<Tag>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Stamp {
    stamp_id: u32,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Job {
    job_id: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Jobs {
    items: Vec<Job>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Remark {
    case_id: u32,
    number: u32,
    text: String,
}

fn add(files: &mut Files, kind: &'static str, text: String) -> u32 {
    let last = files.keys().filter(|(known, _)| *known == kind).map(|(_, number)| *number);
    let number = last.max().unwrap_or_default() + 1;
    files.insert((kind, number), text);
    number
}

impl Office {
    /// Creates an office with data of others.
    fn used() -> Self {
        let office = Self::default();
        for (kind, many) in [("task", 3), ("project", 40), ("case", 6), ("label", 3)] {
            for number in 1..=many {
                office.open().insert((kind, number), format!("{kind} {number} of others"));
            }
        }
        // These items are beyond the first page of tags, and in resources without a list.
        for number in 1..=60 {
            office.open().insert(("tag", number), format!("tag {number} of others"));
        }
        for (kind, number) in [("label", 2), ("tag", 50), ("stamp", 1)] {
            office.open().insert((kind, number), "urgent".to_owned());
        }
        for number in 1..=40 {
            office.open().insert(("job", number), "of others".to_owned());
        }
        office
    }

    fn open(&self) -> MutexGuard<'_, Files> {
        self.files.lock().expect("nobody panics with it")
    }

    fn add(&self, kind: &'static str, text: String) -> u32 {
        add(&mut self.open(), kind, text)
    }

    /// Returns the number of the only item with this string. Creates the item if it does not exist.
    fn only(&self, kind: &'static str, text: String) -> u32 {
        let mut files = self.open();
        let found = files.iter().find(|((known, _), there)| *known == kind && **there == text);
        let found = found.map(|((_, number), _)| *number);
        found.unwrap_or_else(|| add(&mut files, kind, text))
    }

    fn text(&self, kind: &'static str, number: u32) -> Result<String, OperationError> {
        let found = self.open().get(&(kind, number)).cloned();
        found.ok_or_else(|| OperationError::not_found(kind, number.to_string()))
    }

    fn remove(&self, kind: &'static str, number: u32) -> Result<String, OperationError> {
        let found = self.open().remove(&(kind, number));
        if self.answers_late {
            std::thread::sleep(Duration::from_millis(u64::from(number % 7) * 5));
        }
        found.ok_or_else(|| OperationError::not_found(kind, number.to_string()))
    }
}

#[operations]
impl Office {
    /// Make a task.
    #[operation(category = "CREATE", example = { "text": "Count the chairs" })]
    fn create_task(
        &self,
        /// The text of the task.
        text: String,
    ) -> Paper {
        Paper { id: self.add("task", text.clone()), text }
    }

    /// Get a task.
    #[operation(category = "READ", example = { "id": 1 })]
    fn get_task(
        &self,
        /// The task.
        id: u32,
    ) -> Result<Paper, OperationError> {
        Ok(Paper { id, text: self.text("task", id)? })
    }

    /// Delete a task.
    #[operation(category = "DELETE", example = { "id": 1 })]
    fn delete_task(
        &self,
        /// The task.
        id: u32,
    ) -> Result<Paper, OperationError> {
        Ok(Paper { id, text: self.remove("task", id)? })
    }

    /// Make a project.
    #[operation(category = "CREATE", example = { "text": "New chairs" })]
    fn create_project(
        &self,
        /// The title of the project.
        text: String,
    ) -> Paper {
        Paper { id: self.add("project", text.clone()), text }
    }

    /// Get a project.
    #[operation(category = "READ", example = { "id": 1 })]
    fn get_project(
        &self,
        /// The project.
        id: u32,
    ) -> Result<Paper, OperationError> {
        Ok(Paper { id, text: self.text("project", id)? })
    }

    /// Delete a project.
    #[operation(category = "DELETE", example = { "id": 1 })]
    fn delete_project(
        &self,
        /// The project.
        id: u32,
    ) -> Result<Paper, OperationError> {
        Ok(Paper { id, text: self.remove("project", id)? })
    }

    /// Open a case.
    #[operation(category = "CREATE", example = { "text": "A chair is gone" })]
    fn create_case(
        &self,
        /// The text of the case.
        text: String,
    ) -> Case {
        Case { case_id: self.add("case", text.clone()), text }
    }

    /// List the cases.
    #[operation(category = "READ", wrap = false)]
    fn list_cases(&self) -> Cases {
        let files = self.open();
        let cases = files.iter().filter(|((kind, _), _)| *kind == "case");
        Cases {
            items: cases
                .map(|((_, case_id), text)| Case { case_id: *case_id, text: text.clone() })
                .collect(),
        }
    }

    /// Get a case.
    #[operation(category = "READ", example = { "case_id": 1 })]
    fn get_case(
        &self,
        /// The case.
        case_id: u32,
    ) -> Result<Case, OperationError> {
        Ok(Case { case_id, text: self.text("case", case_id)? })
    }

    /// Delete a case.
    #[operation(category = "DELETE", example = { "case_id": 1 })]
    fn delete_case(
        &self,
        /// The case.
        case_id: u32,
    ) -> Result<Case, OperationError> {
        Ok(Case { case_id, text: self.remove("case", case_id)? })
    }

    /// Close a case, which writes so in its text.
    #[operation(category = "EXECUTE", example = { "case_id": 1 })]
    fn execute_closing(
        &self,
        /// The case.
        case_id: u32,
    ) -> Result<Case, OperationError> {
        let text = format!("{}, closed", self.text("case", case_id)?);
        self.open().insert(("case", case_id), text.clone());
        Ok(Case { case_id, text })
    }

    /// Add a remark to a case.
    #[operation(category = "CREATE", example = { "case_id": 1, "text": "It is back" })]
    fn create_remark(
        &self,
        /// The case.
        case_id: u32,
        /// The text of the remark.
        text: String,
    ) -> Result<Remark, OperationError> {
        self.text("case", case_id)?;
        Ok(Remark { case_id, number: self.add("remark", text.clone()), text })
    }

    /// Get a remark.
    #[operation(category = "READ", example = { "case_id": 1, "number": 1 })]
    fn get_remark(
        &self,
        /// The case.
        case_id: u32,
        /// The number of the remark.
        number: u32,
    ) -> Result<Remark, OperationError> {
        Ok(Remark { case_id, number, text: self.text("remark", number)? })
    }

    /// Delete a remark.
    #[operation(category = "DELETE", example = { "case_id": 1, "number": 1 })]
    fn delete_remark(
        &self,
        /// The case.
        case_id: u32,
        /// The number of the remark.
        number: u32,
    ) -> Result<Remark, OperationError> {
        Ok(Remark { case_id, number, text: self.remove("remark", number)? })
    }

    /// Get or create a label with this text.
    #[operation(category = "CREATE", example = { "text": "urgent" })]
    fn create_label(
        &self,
        /// The text of the label.
        text: String,
    ) -> Label {
        Label { label_id: self.only("label", text.clone()), text }
    }

    /// List the labels.
    #[operation(category = "READ", wrap = false)]
    fn list_labels(&self) -> Labels {
        let files = self.open();
        let labels = files.iter().filter(|((kind, _), _)| *kind == "label");
        Labels {
            items: labels
                .map(|((_, label_id), text)| Label { label_id: *label_id, text: text.clone() })
                .collect(),
        }
    }

    /// Get a label.
    #[operation(category = "READ", example = { "label_id": 1 })]
    fn get_label(
        &self,
        /// The label.
        label_id: u32,
    ) -> Result<Label, OperationError> {
        Ok(Label { label_id, text: self.text("label", label_id)? })
    }

    /// Delete a label.
    #[operation(category = "DELETE", example = { "label_id": 1 })]
    fn delete_label(
        &self,
        /// The label.
        label_id: u32,
    ) -> Result<Label, OperationError> {
        Ok(Label { label_id, text: self.remove("label", label_id)? })
    }

    /// Get or create a tag with this text.
    #[operation(category = "CREATE", example = { "text": "urgent" })]
    fn create_tag(
        &self,
        /// The text of the tag.
        text: String,
    ) -> Tag {
        Tag { tag_id: self.only("tag", text.clone()), text }
    }

    /// List the tags, a few at a time.
    #[operation(category = "READ", wrap = false)]
    fn list_tags(
        &self,
        /// The number of tags to return.
        limit: Option<u32>,
        /// The number of tags to skip.
        offset: Option<u32>,
    ) -> Tags {
        let (limit, offset) = (limit.unwrap_or(20).min(20), offset.unwrap_or_default());
        let files = self.open();
        let tags = files.iter().filter(|((kind, _), _)| *kind == "tag").skip(offset as usize);
        let tags = tags.take(limit as usize);
        Tags {
            items: tags
                .map(|((_, tag_id), text)| Tag { tag_id: *tag_id, text: text.clone() })
                .collect(),
        }
    }

    /// Get a tag.
    #[operation(category = "READ", example = { "tag_id": 1 })]
    fn get_tag(
        &self,
        /// The tag.
        tag_id: u32,
    ) -> Result<Tag, OperationError> {
        Ok(Tag { tag_id, text: self.text("tag", tag_id)? })
    }

    /// Delete a tag.
    #[operation(category = "DELETE", example = { "tag_id": 1 })]
    fn delete_tag(
        &self,
        /// The tag.
        tag_id: u32,
    ) -> Result<Tag, OperationError> {
        Ok(Tag { tag_id, text: self.remove("tag", tag_id)? })
    }

    /// Get or create a stamp with this text.
    #[operation(category = "CREATE", example = { "text": "urgent" })]
    fn create_stamp(
        &self,
        /// The text of the stamp.
        text: String,
    ) -> Stamp {
        Stamp { stamp_id: self.only("stamp", text.clone()), text }
    }

    /// Delete a stamp.
    #[operation(category = "DELETE", example = { "stamp_id": 1 })]
    fn delete_stamp(
        &self,
        /// The stamp.
        stamp_id: u32,
    ) -> Result<Stamp, OperationError> {
        Ok(Stamp { stamp_id, text: self.remove("stamp", stamp_id)? })
    }

    /// List the last jobs.
    #[operation(category = "READ", wrap = false)]
    fn list_jobs(&self) -> Jobs {
        let files = self.open();
        let jobs = files.keys().rev().filter(|(kind, _)| *kind == "job").take(5);
        Jobs { items: jobs.map(|(_, job_id)| Job { job_id: *job_id }).collect() }
    }

    /// Start a job again.
    #[operation(category = "EXECUTE")]
    fn start_job(
        &self,
        /// The job.
        #[param(minimum = 1)]
        job_id: u32,
    ) -> Result<Job, OperationError> {
        self.text("job", job_id)?;
        self.open().insert(("job", job_id), "started".to_owned());
        Ok(Job { job_id })
    }

    /// Delete a job.
    #[operation(category = "DELETE")]
    fn delete_job(
        &self,
        /// The job.
        #[param(minimum = 1)]
        job_id: u32,
    ) -> Result<Job, OperationError> {
        self.remove("job", job_id)?;
        Ok(Job { job_id })
    }
}

async fn run(office: &Office) -> Report {
    let office = office.clone();
    let target = MemoryTarget::new("office", move |_, stream| {
        let builder = Adapter::builder("office").version("1.0.0").without_config();
        let adapter = builder.operations(office.clone()).build().expect("the office is sound");
        tokio::spawn(async move { adapter.serve(stream).await });
    });
    Runner::new(target, Settings::default().allow_all()).run().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_there_stays_as_it_was() {
    stays_as_it_was(Office::used()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn what_has_the_number_of_something_removed_is_removed_too() {
    for _ in 0..3 {
        stays_as_it_was(Office { answers_late: true, ..Office::used() }).await;
    }
}

async fn stays_as_it_was(office: Office) {
    let before = office.open().clone();
    let report = run(&office).await;
    let after = office.open().clone();
    let touched: Vec<_> = before.iter().filter(|(at, text)| after.get(at) != Some(text)).collect();
    assert!(touched.is_empty(), "{touched:?}");
    let told = report.left_behind.join("\n");
    // The run removed all items that it could identify.
    let left = |kind: &str| {
        let new = after.keys().filter(|at| !before.contains_key(at));
        new.filter(|(left, _)| *left == kind).count()
    };
    assert_eq!((left("task"), left("project"), left("case")), (0, 0, 0), "{told}");
    assert_eq!((left("label"), left("tag")), (0, 0), "{told}");
    assert!(left("stamp") > 0 && told.contains("it may have existed before"), "{told}");
    assert!(left("remark") > 0 && told.contains("create_remark"), "{told}");
    // Without this, a run that creates nothing would pass as well.
    let check = report.checks().find(|check| check.id == "deletes.removed");
    assert!(check.is_some_and(|check| check.passed > 0), "{check:?}");
}

/// A desk without a gate: it is cleared at once, and records the requested age.
#[derive(Clone, Default)]
struct Desk {
    cleared: Arc<Mutex<Vec<u32>>>,
}

#[operations]
impl Desk {
    /// Clear the desk.
    #[operation(category = "DELETE", example = { "older_than": 3 })]
    fn clear_desk(
        &self,
        /// The age in days above which documents are removed.
        #[param(default = 5)]
        older_than: u32,
    ) -> u32 {
        self.cleared.lock().expect("nobody panics with it").push(older_than);
        older_than
    }

    /// Read the desk.
    #[operation(category = "READ")]
    fn get_desk(&self) -> String {
        "a desk".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_configuration_names_is_called_as_it_says() {
    for named in [true, false] {
        let desk = Desk::default();
        let shared = desk.clone();
        let target = MemoryTarget::new("desk", move |_, stream| {
            let builder = Adapter::builder("desk").version("1.0.0").without_config();
            let adapter = builder.operations(shared.clone()).build().expect("the desk is sound");
            tokio::spawn(async move { adapter.serve(stream).await });
        });
        let text = if named { "[params.clear_desk]\nolder_than = 90" } else { "" };
        let file = File::parse(text, |_| None).expect("it is right");
        let settings = Settings::default().allow_all().level(1).file(file);
        let report = Runner::new(target, settings).run().await;
        let cleared = desk.cleared.lock().expect("nobody panics with it").clone();
        assert_eq!(!cleared.is_empty(), named, "{cleared:?}");
        assert!(cleared.iter().all(|days| *days == 90), "{cleared:?}");
        // Only this parameter has several words.
        let check = report.checks().find(|check| check.id == "parameters.camel_case");
        let expected = if named { Verdict::Pass } else { Verdict::Skip };
        assert_eq!(check.map(|check| check.verdict), Some(expected), "{check:?}");
    }
}
