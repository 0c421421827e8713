//! The resource of these tests. It has a field of each kind.

use std::collections::{BTreeMap, HashMap};

use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Task {
    #[resource(id)]
    pub(crate) task_id: String,
    /// Short title.
    #[param(min_length = 1, max_length = 200)]
    pub(crate) title: String,
    /// Status of the work.
    pub(crate) status: Status,
    /// 1 is most urgent.
    #[param(minimum = 1, maximum = 5)]
    pub(crate) priority: u8,
    /// When it is due.
    #[param(format = "date", deprecated(replacement = "schedule", removal_date = "2031-05-06"))]
    pub(crate) due_date: Option<String>,
    /// Free-form labels.
    #[param(max_items = 20)]
    pub(crate) tags: Vec<String>,
    /// Author and origin.
    pub(crate) metadata: Metadata,
    /// Reviewer.
    pub(crate) review: Option<Metadata>,
    /// Numbers by name.
    pub(crate) counts: BTreeMap<String, u32>,
    /// People by role.
    pub(crate) people: HashMap<String, Metadata>,
    /// Rooms by floor.
    pub(crate) rooms: Option<BTreeMap<i16, BTreeMap<String, Vec<u8>>>>,
    /// Anything.
    pub(crate) extra: Value,
    /// Any object.
    pub(crate) settings: Map<String, Value>,
    /// Replaced as a whole.
    #[update_input(replace)]
    pub(crate) place: Place,
    /// Kind of the work.
    #[serde(rename = "kind")]
    pub(crate) r#type: Kind,
    /// A token.
    #[expect(clippy::box_collection, reason = "any box will do")]
    #[param(sensitive, pattern = "^[a-z]+$")]
    pub(crate) secret: Option<Box<String>>,
    #[resource(read_only)]
    pub(crate) created_at: String,
    #[resource(read_only)]
    #[serde(rename = "_version")]
    pub(crate) version: u64,
    #[serde(skip)]
    pub(crate) cached: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Todo,
    Doing,
    Done,
}

/// A value that is an object in JSON but is replaced as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Chore { minutes: u32 },
    Errand { shop: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Place {
    pub(crate) x: i32,
    pub(crate) y: i32,
}

/// Details.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Metadata {
    /// Author.
    pub(crate) author: String,
    /// Remark.
    pub(crate) note: Option<String>,
    /// Nested further.
    pub(crate) origin: Origin,
    /// The previous metadata.
    pub(crate) parent: Option<Box<Metadata>>,
    #[resource(read_only)]
    #[serde(default)]
    pub(crate) score: i64,
}

/// The origin of data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Origin {
    /// Name of the system.
    pub(crate) system: String,
    /// Number in that system.
    pub(crate) number: Option<i64>,
}

impl Metadata {
    pub(crate) fn by(author: &str) -> Self {
        Self { author: author.into(), ..Self::default() }
    }
}

pub(crate) fn task() -> Task {
    Task {
        task_id: "t-1".into(),
        title: "Milk".into(),
        status: Status::Todo,
        priority: 3,
        due_date: Some("2031-05-06".into()),
        tags: vec!["shop".into(), "food".into()],
        metadata: Metadata {
            note: Some("two".into()),
            origin: Origin { system: "mail".into(), number: Some(7) },
            ..Metadata::by("alice")
        },
        review: None,
        counts: BTreeMap::from([("a".into(), 1), ("b".into(), 2)]),
        people: HashMap::from([("boss".into(), Metadata::by("bob"))]),
        rooms: None,
        extra: json!({"deep": {"x": 1, "y": [1, {"z": null}]}, "gone": true}),
        settings: Map::from_iter([("dark".into(), json!(true)), ("font".into(), json!({"pt": 9}))]),
        place: Place { x: 1, y: 2 },
        r#type: Kind::Chore { minutes: 5 },
        secret: Some(Box::new("abc".into())),
        created_at: "2031-05-06T07:08:09Z".into(),
        version: 4,
        cached: true,
    }
}

/// Returns the task after merging `input`.
pub(crate) fn merged(input: Value) -> Task {
    let mut task = task();
    Update::from_json(input).expect("the input is valid").merge_into(&mut task);
    task
}
