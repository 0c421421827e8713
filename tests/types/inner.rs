//! Many kinds of types, as authors of adapters write them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::samples::{Samples, samples};

fn text(text: &str) -> String {
    text.to_owned()
}

/// A circle.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Circle {
    /// The radius.
    radius: f64,
}

/// All members may be left out.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Lenient {
    /// The first.
    first_member: u8,
    /// The second.
    #[serde(skip_serializing_if = "Option::is_none")]
    second_member: Option<String>,
    #[serde(skip)]
    _hidden: u8,
}

/// Refuses further members.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strict {
    /// The name.
    #[serde(rename = "called", alias = "name")]
    name: String,
    /// The optional size.
    size: Option<u32>,
}

/// Has no members.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Empty {}

/// A number of its own type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Number(u32);

/// A text that is its content.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Name {
    name: String,
}

/// A text with rules.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(transparent)]
#[serde(transparent)]
pub(crate) struct Code(#[schemars(length(min = 2, max = 4), regex(pattern = "^[A-Z]+$"))] String);

/// Two values without names.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pair(String, bool);

/// Contains itself.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tree {
    /// The children.
    children: Vec<Tree>,
    /// The first of them.
    first: Option<Box<Tree>>,
}

/// Members of another struct.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Flattened {
    /// The width.
    width: u8,
    #[serde(flatten)]
    circle: Circle,
}

/// Members of another struct, or none.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedOption {
    /// The width.
    width: u8,
    #[serde(flatten)]
    circle: Option<Circle>,
}

/// Any further members.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Further {
    /// The width.
    width: u8,
    #[serde(flatten)]
    further: BTreeMap<String, i32>,
}

/// The members of two enums.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedEnums {
    /// The width.
    width: u8,
    #[serde(flatten)]
    form: Form,
    #[serde(flatten)]
    fill: Fill,
}

/// The members of an enum without tag.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedUntagged {
    /// The width.
    width: u8,
    #[serde(flatten)]
    either: Either,
}

/// The members of an enum, or none.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FlattenedEnumOption {
    /// The width.
    width: u8,
    #[serde(flatten)]
    form: Option<Form>,
}

/// A word.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Word {
    InProgress,
    Done,
}

/// A word with an explanation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExplainedWord {
    /// It begins.
    InProgress,
    /// It ends.
    Done,
}

/// The only word.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub(crate) enum OnlyWord {
    Only,
}

/// A form with an internal tag.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Form {
    /// A circle.
    Circle(Circle),
    Boxed(Box<Lenient>),
    Point,
    Line {
        /// The length.
        length: u32,
        label: Option<String>,
    },
}

/// Variants of one type, and of types without members of their own.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub(crate) enum Twice {
    Inner(Circle),
    Outer(Circle),
    Empty(Empty),
    Strict(Strict),
    Map(BTreeMap<String, u8>),
}

/// A tag over enums of each form.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "group", rename_all = "snake_case")]
pub(crate) enum Nested {
    Tagged(Form2),
    Adjacent(Fill),
    Untagged(Either),
    External(Outer),
    Flattened(Flattened),
    Further(Further),
}

/// A tag with another name.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "form")]
pub(crate) enum Form2 {
    Circle(Circle),
    Point,
}

/// A tag beside its content.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", content = "content", rename_all = "snake_case")]
pub(crate) enum Fill {
    Solid,
    Hatched {
        /// The number of lines.
        lines: u8,
    },
    Coloured(String),
    Mixed(String, u8),
    Circle(Circle),
}

/// No tag.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Either {
    Circle(Circle),
    Named {
        /// The name.
        name: String,
        level: Option<u8>,
    },
}

/// No tag, and values of each JSON type.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Any {
    Nothing,
    Flag(bool),
    Whole(i32),
    Text(Word),
    List(Vec<u8>),
    Circle(Circle),
}

/// The variant's name is the only member.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outer {
    Circle(Circle),
    /// A line.
    Line {
        /// The length.
        length: u8,
    },
    Both(Circle, u8),
    Form(Form),
    Optional(Option<Circle>),
    Boxed(Box<Outer>),
    List(Vec<Word>),
    Nothing,
    /// Something.
    Something,
}

/// An expression, which contains itself in each variant.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op")]
pub(crate) enum Expression {
    Value {
        /// The value.
        value: Value,
    },
    Not {
        /// The inner one.
        inner: Box<Expression>,
    },
    All {
        /// The parts.
        parts: Vec<Expression>,
    },
}

/// Nothing, or any members.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Unset {
    Nothing,
    Map(BTreeMap<String, u8>),
}

samples! {
    Unset: [Self::Nothing, Self::Map(BTreeMap::new()), Self::Map(BTreeMap::from([(text("a"), 1)]))],
    Circle: [Self { radius: 1.5 }, Self { radius: -3.0 }],
    Lenient: [Self::default(), Self { first_member: 3, second_member: Some(text("a")), _hidden: 0 }],
    Strict: [Self { name: text("a"), size: None }, Self { name: text("b"), size: Some(7) }],
    Empty: [Self {}],
    Number: [Self(0), Self(7)],
    Name: [Self { name: text("a") }],
    Code: [Self(text("AB")), Self(text("ABCD"))],
    Pair: [Self(text("a"), true)],
    Tree: [
        Self { children: vec![], first: None },
        Self {
            children: vec![Self { children: vec![], first: None }],
            first: Some(Box::new(Self { children: vec![], first: None })),
        },
    ],
    Flattened: [Self { width: 3, circle: Circle { radius: 1.0 } }],
    FlattenedOption: [Self { width: 3, circle: None }, Self { width: 3, circle: Some(Circle { radius: 1.0 }) }],
    Further: [
        Self { width: 3, further: BTreeMap::new() },
        Self { width: 3, further: BTreeMap::from([(text("a"), -1), (text("b"), 2)]) },
    ],
    FlattenedEnums: [
        Self { width: 1, form: Form::Point, fill: Fill::Solid },
        Self { width: 1, form: Form::Circle(Circle { radius: 1.0 }), fill: Fill::Hatched { lines: 3 } },
    ],
    FlattenedUntagged: [
        Self { width: 1, either: Either::Circle(Circle { radius: 1.0 }) },
        Self { width: 1, either: Either::Named { name: text("a"), level: None } },
    ],
    FlattenedEnumOption: [
        Self { width: 1, form: None },
        Self { width: 1, form: Some(Form::Line { length: 3, label: None }) },
    ],
    Word: [Self::InProgress, Self::Done],
    ExplainedWord: [Self::InProgress, Self::Done],
    OnlyWord: [Self::Only],
    Form: [
        Self::Circle(Circle { radius: 1.5 }),
        Self::Boxed(Box::new(Lenient { first_member: 1, second_member: None, _hidden: 0 })),
        Self::Point,
        Self::Line { length: 3, label: None },
    ],
    Twice: [
        Self::Inner(Circle { radius: 1.0 }),
        Self::Outer(Circle { radius: 2.0 }),
        Self::Empty(Empty {}),
        Self::Strict(Strict { name: text("a"), size: Some(1) }),
        Self::Map(BTreeMap::new()),
        Self::Map(BTreeMap::from([(text("a"), 1)])),
    ],
    Nested: [
        Self::Tagged(Form2::Circle(Circle { radius: 1.0 })),
        Self::Tagged(Form2::Point),
        Self::Adjacent(Fill::Solid),
        Self::Adjacent(Fill::Hatched { lines: 1 }),
        Self::Untagged(Either::Circle(Circle { radius: 1.0 })),
        Self::Untagged(Either::Named { name: text("a"), level: Some(2) }),
        Self::External(Outer::Circle(Circle { radius: 1.0 })),
        Self::External(Outer::Line { length: 1 }),
        Self::Flattened(Flattened { width: 1, circle: Circle { radius: 1.0 } }),
        Self::Further(Further { width: 1, further: BTreeMap::from([(text("a"), 1)]) }),
    ],
    Form2: [Self::Circle(Circle { radius: 1.0 }), Self::Point],
    Fill: [
        Self::Solid,
        Self::Hatched { lines: 3 },
        Self::Coloured(text("red")),
        Self::Mixed(text("red"), 1),
        Self::Circle(Circle { radius: 1.0 }),
    ],
    Either: [
        Self::Circle(Circle { radius: 1.0 }),
        Self::Named { name: text("a"), level: None },
        Self::Named { name: text("a"), level: Some(1) },
    ],
    Any: [
        Self::Nothing,
        Self::Flag(true),
        Self::Whole(-3),
        Self::Text(Word::Done),
        Self::List(vec![]),
        Self::List(vec![1, 2]),
        Self::Circle(Circle { radius: 1.0 }),
    ],
    Outer: [
        Self::Circle(Circle { radius: 1.0 }),
        Self::Line { length: 1 },
        Self::Both(Circle { radius: 1.0 }, 1),
        Self::Form(Form::Point),
        Self::Optional(None),
        Self::Optional(Some(Circle { radius: 1.0 })),
        Self::Boxed(Box::new(Self::Nothing)),
        Self::List(vec![Word::Done]),
        Self::Nothing,
        Self::Something,
    ],
    Expression: [
        Self::Value { value: Value::from(1) },
        Self::Not { inner: Box::new(Self::All { parts: vec![] }) },
        Self::All { parts: vec![Self::Value { value: Value::from("a") }] },
    ],
}
