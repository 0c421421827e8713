//! The operations of an adapter with their descriptions, in full and as seen by each caller.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use mcp_aql_rank::operations::OperationIndex;

use crate::caller::principal::Principal;
use crate::introspection::{self, Introspection, Source};
use crate::operation::further_query::FurtherQueries;
use crate::router::{EndpointMode, Entry, Registry};
use crate::schema::shape::{Members, Shapes};
use crate::util::lock;

/// The operations of an adapter, the shapes of their types, and their descriptions. It does not change after the
/// adapter is built.
pub(crate) struct Catalog {
    pub(crate) registry: Registry,
    pub(crate) shapes: Arc<Shapes>,
    /// Descriptions, in the order of the operations.
    pub(crate) descriptions: Vec<Arc<Description>>,
    pub(crate) introspection: Introspection,
    pub(crate) mode: EndpointMode,
    /// Value that a server made from this catalog, such as its list of tools. It is kept as long as the catalog.
    pub(crate) of_server: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// The parts of an operation's description that its table does not contain.
pub(crate) struct Description {
    pub(crate) returns: Members,
    /// Examples, as pairs of description and `params` in JSON.
    pub(crate) examples: Vec<(String, String)>,
    /// The `params` of a sample call as JSON, if there is a sample.
    pub(crate) sample: Option<String>,
}

/// The catalogs for callers who may call only some of the operations. Callers with the same permissions share one
/// catalog.
pub(crate) struct Views {
    render: Box<Render>,
    known: Mutex<HashMap<Vec<bool>, Arc<Catalog>>>,
}

/// Renders the introspection of a registry with these types and queries.
type Render = dyn Fn(&Registry, BTreeMap<String, Members>, Arc<FurtherQueries>) -> Introspection
    + Send
    + Sync;

/// Maximum number of cached views. It bounds memory use if callers have many combinations of scopes.
const MAX_VIEWS: usize = 64;

impl Views {
    pub(crate) fn new(
        render: impl Fn(&Registry, BTreeMap<String, Members>, Arc<FurtherQueries>) -> Introspection
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { render: Box::new(render), known: Mutex::default() }
    }

    /// Returns the catalog of the operations that a principal may call. Without a principal, it contains all
    /// operations.
    pub(crate) fn of(&self, principal: Option<&Principal>, whole: &Arc<Catalog>) -> Arc<Catalog> {
        let Some(principal) = principal else { return Arc::clone(whole) };
        let entries = whole.registry.entries.iter();
        let permits = |entry: &Arc<Entry>| {
            entry.operation.missing_scope(principal).is_none()
                && entry.operation.missing_claim(Some(principal)).is_none()
        };
        let shown: Vec<_> = entries.map(permits).collect();
        if shown.iter().all(|is_shown| *is_shown) {
            return Arc::clone(whole);
        }
        let known = lock(&self.known).get(&shown).map(Arc::clone);
        if let Some(catalog) = known {
            return catalog;
        }
        let catalog = Arc::new(self.view(whole, &shown));
        let mut known = lock(&self.known);
        if known.len() >= MAX_VIEWS {
            known.clear();
        }
        Arc::clone(known.entry(shown).or_insert(catalog))
    }

    fn view(&self, whole: &Catalog, shown: &[bool]) -> Catalog {
        let registry = &whole.registry;
        let entries = only_shown(&registry.entries, shown);
        let descriptions = only_shown(&whole.descriptions, shown).collect();
        let registry =
            Registry::new(registry.profile.clone(), entries, registry.tool_names.clone());
        let types = whole.types_of(&registry);
        let introspection =
            (self.render)(&registry, types, Arc::clone(&whole.introspection.further));
        let shapes = Arc::clone(&whole.shapes);
        let (mode, of_server) = (whole.mode, OnceLock::new());
        Catalog { registry, shapes, descriptions, introspection, mode, of_server }
    }
}

/// Selects the values of the operations visible to the caller.
fn only_shown<'a, T>(all: &'a [Arc<T>], shown: &'a [bool]) -> impl Iterator<Item = Arc<T>> + 'a {
    all.iter().zip(shown).filter(|(_, is_shown)| **is_shown).map(|(one, _)| Arc::clone(one))
}

impl Catalog {
    /// Returns the types used by operations, directly or through other types. The names of types are found by searching
    /// the rendered descriptions.
    fn types_of(&self, registry: &Registry) -> BTreeMap<String, Members> {
        let all = &self.introspection.types;
        let names = |text: &str, found: &mut Vec<String>| {
            let words = text.split(|each: char| !each.is_alphanumeric() && each != '_');
            found.extend(words.filter(|word| all.contains_key(*word)).map(str::to_owned));
        };
        let mut found: Vec<_> =
            introspection::protocol_types().into_iter().map(|(name, _)| name).collect();
        for entry in &registry.entries {
            names(self.in_full(entry.operation.spec.name).unwrap_or_default(), &mut found);
        }
        let mut types = BTreeMap::new();
        while let Some(name) = found.pop() {
            let Some(listed) = all.get(&name).filter(|_| !types.contains_key(&name)) else {
                continue;
            };
            names(listed.text(), &mut found);
            types.insert(name, listed.details.clone());
        }
        types
    }

    /// Returns the `params` of a sample call of an operation, as JSON.
    pub(crate) fn sample(&self, name: &str) -> Option<&str> {
        self.descriptions.get(self.registry.index_of(name)?)?.sample.as_deref()
    }
}

/// Renders detailed descriptions when they are first requested.
impl Source for Catalog {
    fn has(&self, name: &str) -> bool {
        self.registry.index_of(name).is_some()
    }

    fn in_brief(&self, index: usize) -> String {
        let entry = self.registry.entries.get(index);
        entry.map_or_else(String::new, |entry| {
            introspection::list_entry_in_brief(entry, &self.registry, &self.shapes)
        })
    }

    fn in_full(&self, name: &str) -> Option<&str> {
        let index = self.registry.index_of(name)?;
        let listed = self.introspection.operations.get(index)?;
        let entry = self.registry.entries.get(index)?;
        let description = self.descriptions.get(index)?;
        Some(listed.in_full.get_or_init(|| {
            let tools = &self.registry.tool_names;
            let tool = match self.mode {
                EndpointMode::Single => tools.last(),
                EndpointMode::Semantic | EndpointMode::All => tools.get(entry.family),
            };
            introspection::details(
                entry,
                &self.registry,
                tool.map_or("", String::as_str),
                &description.returns,
                &description.examples,
                &self.shapes,
            )
        }))
    }

    fn search_index(&self) -> OperationIndex {
        let operations = self.registry.entries.iter().zip(&self.descriptions);
        OperationIndex::new(operations.map(|(entry, description)| {
            introspection::document(&entry.operation, &description.examples, &self.shapes)
        }))
    }
}
