//! Parses `operations(…)`, `singular` and `plural`, and names the ready operations of a resource.

use darling::FromMeta;
use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::is_public_name;
use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::{Ident, LitStr, Meta, Token};

use super::lists::list;
use crate::support::options::Options;
use crate::support::values::Text;
use crate::support::{fault, names};

/// The kinds of ready operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadyKind {
    Create,
    Get,
    List,
    Search,
    Update,
    Delete,
}

impl ReadyKind {
    pub(super) const ALL: [Self; 6] =
        [Self::Create, Self::Get, Self::List, Self::Search, Self::Update, Self::Delete];

    /// Returns the name of the option, which is also the verb of the operation.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::List => "list",
            Self::Search => "search",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    fn is_of_several(self) -> bool {
        matches!(self, Self::List | Self::Search)
    }
}

/// A chosen operation.
#[derive(Debug, Clone)]
pub(super) struct ReadyOperation {
    pub(super) kind: ReadyKind,
    /// The name, if it does not follow from the resource.
    pub(super) name: Option<LitStr>,
    pub(super) span: Span,
}

/// The ready operations of a resource.
pub(super) struct ReadyOperations {
    /// The chosen ones; `None` stands for all.
    pub(super) chosen: Option<Vec<ReadyOperation>>,
    /// The span of `operations`.
    pub(super) span: Span,
    /// The name of one resource.
    pub(super) singular: SpannedValue<String>,
    /// The name of several.
    pub(super) plural: SpannedValue<String>,
}

/// `operations` or `operations(create = "add_task", get)`.
#[derive(Debug, Clone)]
struct Chosen(Option<Vec<ReadyOperation>>);

impl FromMeta for Chosen {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        if matches!(meta, Meta::Path(_)) {
            return Ok(Self(None));
        }
        list(meta, "create, get, list", |input| {
            let ident = input.call(Ident::parse_any)?;
            let text = ident.unraw().to_string();
            let Some(kind) = ReadyKind::ALL.into_iter().find(|kind| kind.verb() == text) else {
                let known = ReadyKind::ALL.map(ReadyKind::verb);
                return Err(syn::Error::new(
                    ident.span(),
                    format!("unknown operation `{text}`: {}", names::suggestion(&text, known)),
                ));
            };
            let name = match input.parse::<Option<Token![=]>>()? {
                Some(_) => Some(input.parse::<LitStr>().map_err(|error| {
                    let wanted =
                        format!("the name of an operation is text: write `{text} = \"…\"`");
                    syn::Error::new(error.span(), wanted)
                })?),
                None => None,
            };
            Ok(ReadyOperation { kind, name, span: ident.span() })
        })
        .map(|chosen| Self(Some(chosen)))
    }
}

impl ReadyOperations {
    /// Reads the options. Without `operations`, there are none.
    pub(super) fn read(
        options: &mut Options,
        resource: &Ident,
        errors: &mut Accumulator,
    ) -> Option<Self> {
        let span = options.span_of("operations");
        let unclear = !options.lacks("operations");
        let chosen = options.take::<Chosen>("operations", errors);
        let mut name = |key: &str| {
            let text = options.take::<Text>(key, errors)?;
            if span.is_none() && !unclear {
                errors.push(fault(
                    text.span(),
                    format_args!(
                        "`{key}` names ready operations: write `operations` too, or leave it out"
                    ),
                ));
            } else if !is_public_name(&text.0) {
                let snake = names::to_snake_case(&text.0);
                errors.push(fault(
                    text.span(),
                    format_args!(
                        "`{key}` is part of names in snake_case: write `{key} = \"{snake}\"`"
                    ),
                ));
            }
            Some(text.map_ref(|text| text.0.clone()))
        };
        let (singular, plural) = (name("singular"), name("plural"));
        let singular = singular.unwrap_or_else(|| {
            let name = names::to_snake_case(&resource.unraw().to_string());
            SpannedValue::new(name, resource.span())
        });
        let plural = plural
            .unwrap_or_else(|| SpannedValue::new(names::plural_of(&singular), singular.span()));
        Some(Self { chosen: chosen?.into_inner().0, span: span?, singular, plural })
    }

    /// Returns the operations, for a resource that may be searched.
    pub(super) fn all(&self, is_searchable: bool) -> Vec<ReadyOperation> {
        match &self.chosen {
            Some(chosen) => chosen.clone(),
            None => {
                let kinds = ReadyKind::ALL.into_iter();
                kinds
                    .filter(|kind| is_searchable || *kind != ReadyKind::Search)
                    .map(|kind| ReadyOperation { kind, name: None, span: self.span })
                    .collect()
            }
        }
    }

    /// Returns the name and the description of an operation.
    pub(super) fn texts(&self, kind: ReadyKind, chosen: &[ReadyOperation]) -> (String, String) {
        let verb = kind.verb();
        let subject = if kind.is_of_several() { &self.plural } else { &self.singular };
        let own = chosen.iter().find(|it| it.kind == kind).and_then(|it| it.name.as_ref());
        let name = own.map_or_else(|| format!("{verb}_{}", **subject), LitStr::value);
        let (one, many) = (spoken(&self.singular), spoken(&self.plural));
        let article = if one.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let description = match kind {
            ReadyKind::Create => format!("Create {article} {one}."),
            ReadyKind::Get => format!("Get {article} {one}."),
            ReadyKind::List => format!("List {many}."),
            ReadyKind::Search => format!("Search {many} for words."),
            ReadyKind::Update => format!(
                "Update {article} {one}. Fields that `input` omits stay unchanged, `null` removes a value."
            ),
            ReadyKind::Delete => format!("Delete {article} {one}, and return it."),
        };
        (name, description)
    }

    /// Returns the question before a deletion. `id` is the parameter with the identifier.
    pub(super) fn delete_question(&self, id: &str) -> String {
        format!("Delete {} '{{{id}}}'?", spoken(&self.singular))
    }
}

/// Returns a name in snake_case as words.
fn spoken(name: &str) -> String {
    name.replace('_', " ")
}
