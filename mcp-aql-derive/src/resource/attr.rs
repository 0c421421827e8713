//! Parses the options of `#[resource(…)]`.
//!
//! Two derives read them: `Resource`, and `UpdateInput` for the marks `id` and `read_only`. Both use the same grammars,
//! so that both report the same error for a misspelled option. rustc prints equal errors only once.
//!
//! ```text
//! #[resource(operations, singular = "person", plural = "people")]    above the struct
//! #[resource(id, filter, sort)]                                      above a field
//! ```

use darling::error::Accumulator;
use darling::util::SpannedValue;
use proc_macro2::Span;
use syn::{Attribute, Ident, Path};

use super::lists::{DefaultSort, Presets, Relationships};
use super::operations::ReadyOperations;
use crate::support::fault;
use crate::support::options::{Grammar, Hint, Options, is_called};
use crate::support::values::{CratePath, Flag, Text};

/// The options above a struct.
pub(crate) const CONTAINER: Grammar = Grammar {
    attribute: "resource",
    known: &[
        "presets",
        "default_sort",
        "relationships",
        "operations",
        "singular",
        "plural",
        "crate",
    ],
    hint: |name| match name {
        _ if FIELD.known.contains(&name) => Hint::belongs("a field", "write it above one"),
        "minimal" | "standard" | "full" => Hint::new(format!("write `presets({name} = […])`")),
        _ => None,
    },
    ..Grammar::EMPTY
};

/// The options above a field.
pub(crate) const FIELD: Grammar = Grammar {
    attribute: "resource",
    known: &[
        "id",
        "search",
        "filter",
        "sort",
        "group",
        "numeric",
        "read_only",
        "nested",
        "references",
    ],
    hint: |name| match name {
        "crate" => Hint::belongs("the struct", "write `#[resource(crate = …)]` above it"),
        "operations" | "singular" | "plural" => {
            Hint::belongs("the struct", "write `#[resource(operations, …)]` above it")
        }
        "presets" | "default_sort" | "relationships" => {
            Hint::belongs("the struct", format!("write `#[resource({name}(…))]` above it"))
        }
        "name" | "rename" => {
            Hint::new("write `#[serde(rename = \"…\")]`, requests and results share one name")
        }
        _ => None,
    },
    ..Grammar::EMPTY
};

/// The parsed options of a field.
pub(super) struct FieldAttr {
    pub(super) marks: Marks,
    /// The resource whose identifiers the field contains.
    pub(super) references: Option<SpannedValue<Text>>,
}

impl FieldAttr {
    pub(super) fn read(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
        let mut options = Options::of(attributes, "resource", &FIELD, errors);
        Self {
            marks: Marks::take(&mut options, FIELD.known, errors),
            references: options.take("references", errors),
        }
    }
}

/// The parsed options of a resource.
pub(super) struct ResourceAttr {
    pub(super) presets: Presets,
    pub(super) default_sort: DefaultSort,
    pub(super) relationships: Relationships,
    pub(super) operations: Option<ReadyOperations>,
    pub(super) runtime: Option<Path>,
}

impl ResourceAttr {
    pub(super) fn read(
        attributes: &[Attribute],
        resource: &Ident,
        errors: &mut Accumulator,
    ) -> Self {
        let mut options = Options::of(attributes, "resource", &CONTAINER, errors);
        let runtime = options.take::<CratePath>("crate", errors).map(|it| it.into_inner().0);
        Self {
            presets: inner(options.take("presets", errors)),
            default_sort: inner(options.take("default_sort", errors)),
            relationships: inner(options.take("relationships", errors)),
            operations: ReadyOperations::read(&mut options, resource, errors),
            runtime,
        }
    }
}

fn inner<T: Default>(value: Option<SpannedValue<T>>) -> T {
    value.map(SpannedValue::into_inner).unwrap_or_default()
}

/// The spans of the marks of a field or of a computed field.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) id: Option<Span>,
    pub(crate) search: Option<Span>,
    pub(crate) filter: Option<Span>,
    pub(crate) sort: Option<Span>,
    pub(crate) group: Option<Span>,
    pub(crate) numeric: Option<Span>,
    pub(crate) read_only: Option<Span>,
    pub(crate) nested: Option<Span>,
    /// If `true`, a mark may be misspelled, so the absence of a mark proves nothing.
    pub(crate) unclear: bool,
}

impl Marks {
    /// Reads those marks whose names are in `known`.
    pub(crate) fn take(
        options: &mut Options,
        known: &[&'static str],
        errors: &mut Accumulator,
    ) -> Self {
        let mut marks = Self::default();
        for name in known {
            let place = match *name {
                "id" => &mut marks.id,
                "search" => &mut marks.search,
                "filter" => &mut marks.filter,
                "sort" => &mut marks.sort,
                "group" => &mut marks.group,
                "numeric" => &mut marks.numeric,
                "read_only" => &mut marks.read_only,
                "nested" => &mut marks.nested,
                _ => continue,
            };
            let span = options.span_of(name);
            let lacks = options.lacks(name);
            *place = options.take::<Flag>(name, errors).and(span);
            marks.unclear |= place.is_none() && !lacks;
        }
        marks
    }

    /// Returns the marks of the field, with their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, Span)> {
        [
            ("id", self.id),
            ("search", self.search),
            ("filter", self.filter),
            ("sort", self.sort),
            ("group", self.group),
            ("numeric", self.numeric),
            ("read_only", self.read_only),
            ("nested", self.nested),
        ]
        .into_iter()
        .filter_map(|(name, span)| Some((name, span?)))
    }

    /// Returns `true` if queries can do more with the field than select it, for example filter or sort by it.
    pub(crate) fn is_queried(&self) -> bool {
        self.all().any(|(name, _)| name != "read_only")
    }
}

/// Returns the span of the attribute's path.
pub(super) fn place(attributes: &[Attribute]) -> Option<Span> {
    use syn::spanned::Spanned as _;
    let attribute = attributes.iter().find(|attribute| is_called(attribute, "resource"))?;
    Some(attribute.path().span())
}

/// Returns `true` if a field has an option of another derive's attribute, such as `#[param(sensitive)]`.
pub(crate) fn has_option(attributes: &[Attribute], attribute: &str, option: &str) -> bool {
    let lists = attributes.iter().filter(|it| is_called(it, attribute));
    let mut tokens = lists.filter_map(|it| Some(it.meta.require_list().ok()?.tokens.clone()));
    tokens.any(|tokens| {
        let mut tokens = tokens.into_iter();
        tokens.any(|token| matches!(token, proc_macro2::TokenTree::Ident(name) if name == option))
    })
}

/// Returns the error for `read_only` on an identifier.
pub(crate) fn read_only_id_fault(field: &Ident, span: Span) -> darling::Error {
    fault(
        span,
        format_args!(
            "`{field}` is an identifier, which is read-only already: leave `read_only` out"
        ),
    )
}

/// Returns the error for marks on a field outside the JSON form.
pub(crate) fn hidden_fault(field: &Ident, span: Span) -> darling::Error {
    fault(
        span,
        format_args!(
            "`{field}` is not in the JSON form because of `#[serde(skip)]`: leave `#[resource(…)]` out"
        ),
    )
}
