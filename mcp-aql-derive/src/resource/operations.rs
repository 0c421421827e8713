//! Parses `operations(…)`, `singular` and `plural`, and names the ready operations of a resource.

use darling::FromMeta;
use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::is_public_name;
use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Ident, LitStr, Meta, Token};

use super::lists::list;
use crate::operation::danger_attr::{self, Danger};
use crate::support::options::{Grammar, JsonOption, Options};
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

    /// Reports whether the operation reads only.
    pub(super) fn reads(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Search)
    }

    fn is_of_several(self) -> bool {
        matches!(self, Self::List | Self::Search)
    }
}

/// An operation with its options.
#[derive(Debug)]
pub(super) struct ReadyOperation {
    pub(super) kind: ReadyKind,
    /// The name, if it does not follow from the resource.
    pub(super) name: Option<LitStr>,
    pub(super) danger: Option<SpannedValue<Danger>>,
    pub(super) examples: Vec<JsonOption>,
    pub(super) span: Span,
    /// The faults of its options, which hide no others.
    faults: Option<darling::Error>,
}

/// The options of one operation: `delete(name = "remove_task", danger(…), example = { … })`.
const OPERATION: Grammar = Grammar {
    attribute: "operations",
    known: &["name", "danger", "example"],
    repeatable: &["example"],
    bare: false,
    text: Some("name"),
    hint: danger_attr::hint,
};

impl ReadyOperation {
    fn new(kind: ReadyKind, span: Span) -> Self {
        Self { kind, name: None, danger: None, examples: Vec::new(), span, faults: None }
    }

    /// Parses `get`, `get = "find_task"` or `get(name = "find_task")`.
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ident = input.call(Ident::parse_any)?;
        let text = ident.unraw().to_string();
        let Some(kind) = ReadyKind::ALL.into_iter().find(|kind| kind.verb() == text) else {
            let known = ReadyKind::ALL.map(ReadyKind::verb);
            return Err(syn::Error::new(
                ident.span(),
                format!("unknown operation `{text}`: {}", names::suggestion(&text, known)),
            ));
        };
        let mut operation = Self::new(kind, ident.span());
        if input.parse::<Option<Token![=]>>()?.is_some() {
            operation.name = Some(input.parse::<LitStr>().map_err(|error| {
                let wanted = format!("the name of an operation is text: write `{text} = \"…\"`");
                syn::Error::new(error.span(), wanted)
            })?);
        } else if input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            operation.read_options(content.parse()?);
        }
        Ok(operation)
    }

    fn read_options(&mut self, tokens: TokenStream) {
        let mut errors = darling::Error::accumulator();
        let mut options = Options::default();
        options.read(tokens, &OPERATION, &mut errors);
        let name = options.take::<Text>("name", &mut errors);
        self.name = name.map(|name| LitStr::new(&name.0, name.span()));
        self.danger = options.take("danger", &mut errors);
        self.examples = options.take_json("example");
        self.faults = errors.finish().err();
    }

    /// Returns the question of a confirmation, if the author has written one.
    pub(super) fn question(&self) -> Option<&SpannedValue<Text>> {
        self.danger.as_ref()?.message.as_ref()
    }
}

/// The ready operations of a resource.
pub(super) struct ReadyOperations {
    /// All possible ones, or those that the author has chosen.
    pub(super) listed: Vec<ReadyOperation>,
    /// Whether the author has chosen.
    is_chosen: bool,
    /// The span of `operations`.
    pub(super) span: Span,
    /// The name of one resource.
    pub(super) singular: SpannedValue<String>,
    /// The name of several.
    pub(super) plural: SpannedValue<String>,
}

/// `operations` or `operations(create = "add_task", get)`.
struct ChosenOperations(Option<Vec<ReadyOperation>>);

impl FromMeta for ChosenOperations {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        if matches!(meta, Meta::Path(_)) {
            return Ok(Self(None));
        }
        list(meta, "create, get, list", ReadyOperation::parse).map(|chosen| Self(Some(chosen)))
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
        let chosen = options.take::<ChosenOperations>("operations", errors);
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
        let (mut chosen, span) = (chosen?.into_inner().0, span?);
        let faults = chosen.iter_mut().flatten().filter_map(|operation| operation.faults.take());
        errors.extend(faults);
        let is_chosen = chosen.is_some();
        let listed = chosen
            .unwrap_or_else(|| ReadyKind::ALL.map(|kind| ReadyOperation::new(kind, span)).into());
        Some(Self { listed, is_chosen, span, singular, plural })
    }

    /// Returns the operations. A resource that cannot be searched has no `search` unless its author has chosen it.
    pub(super) fn of(&self, is_searchable: bool) -> impl Iterator<Item = &ReadyOperation> {
        let may_search = self.is_chosen || is_searchable;
        self.listed.iter().filter(move |it| may_search || it.kind != ReadyKind::Search)
    }

    /// Returns the operation of a kind.
    pub(super) fn find(&self, kind: ReadyKind) -> Option<&ReadyOperation> {
        self.listed.iter().find(|operation| operation.kind == kind)
    }

    /// Returns the name and the description of an operation.
    pub(super) fn texts(&self, kind: ReadyKind) -> (String, String) {
        let verb = kind.verb();
        let subject = if kind.is_of_several() { &self.plural } else { &self.singular };
        let own = self.find(kind).and_then(|it| it.name.as_ref());
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
