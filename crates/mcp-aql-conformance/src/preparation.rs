//! Prepares a run: calls list operations to learn identifiers. If only a few items exist and creating is allowed,
//! creates more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};

use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::Cases;
use crate::category::Category;
use crate::items::{to_create, varied};
use crate::nouns::{is_identifier, thing_of};
use crate::pages;
use crate::resources::{Proof, RESERVED, Resource, Role};
use crate::run::{Run, arguments, do_all};
use crate::shape::Shape;
use crate::values::{self, SEARCH_TEXT};

/// Number of items below which the run creates more. Checks of pages and groups need several.
const MIN_ITEMS: usize = 5;

/// Returns the words that occur in the strings of most items.
fn frequent_words(items: &[&Value]) -> Vec<String> {
    /// Maximum number of returned words. Each one costs a search.
    const MAX_WORDS: usize = 5;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for item in items {
        let texts = item.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str);
        let words: BTreeSet<&str> = texts
            .flat_map(|text| text.split(|letter: char| !letter.is_alphabetic()))
            .filter(|word| (3..=40).contains(&word.len()))
            .collect();
        words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    words.into_iter().take(MAX_WORDS).map(|(word, _)| word.to_owned()).collect()
}

impl Run {
    /// Reads existing items and creates missing ones.
    pub(crate) async fn prepare(&self) {
        let most = self.look_around().await;
        self.meet_all().await;
        self.find_out_what_is_new().await;
        if most < MIN_ITEMS {
            // Two rounds, because items of the second may need items of the first.
            let mut has_new = false;
            for _ in 0..2 {
                if self.create_items().await == 0 {
                    break;
                }
                has_new = true;
            }
            if has_new {
                self.look_around().await;
            }
            // Try again, because fixtures missing in the first attempt may exist now.
            self.find_out_what_is_new().await;
        }
        self.have_one_of_each().await;
        self.find_search_texts().await;
    }

    /// Finds a search string in stored items for each search without a working one.
    ///
    /// This concerns searches that require a string but find nothing with an example or a generated string.
    async fn find_search_texts(&self) {
        let searches = self.adapter.reads().filter(|operation| {
            let configured = self.settings.file.params.get(&operation.name);
            let is_given = configured.is_some_and(|params| params.contains_key(SEARCH_TEXT))
                || self.settings.file.values.contains_key(SEARCH_TEXT);
            let query = operation.parameter(SEARCH_TEXT);
            query.is_some_and(|query| query.required && query.kind == "string")
                && !is_given
                && self.forbids(operation).is_none()
        });
        let searches: Vec<_> = searches.collect();
        do_all(searches.into_iter().map(|search| async move {
            if let Some(text) = self.found_text(search).await {
                self.note_search_text(&search.name, text);
            }
        }))
        .await;
    }

    /// Returns a word with which a search finds items. Returns `None` if the search finds items without it, or if no
    /// word helps.
    async fn found_text(&self, search: &Operation) -> Option<Value> {
        let unheard = Cases::default();
        let params = self.valid(search).ok()?;
        let find = async |params: Map<String, Value>| {
            let found = self.call(search, params, &Cases::default()).await;
            let found = found.and_then(|found| Some(pages::items(found.data()?)?.len()));
            found.unwrap_or_default()
        };
        if find(params.clone()).await > 0 {
            return None;
        }
        let thing = thing_of(&search.name)?;
        let is_list = |operation: &&Operation| {
            operation.name.starts_with("list_")
                && thing_of(&operation.name).as_ref() == Some(&thing)
        };
        let list = self.adapter.reads().find(is_list)?;
        let mut all = self.valid(list).ok()?;
        for (name, value) in [("fields", json!("full")), ("first", json!(100))] {
            if list.parameter(name).is_some() {
                all.insert(name.to_owned(), value);
            }
        }
        let listed = self.call(list, all, &unheard).await?;
        for word in frequent_words(&pages::items(listed.data()?)?) {
            let mut params = params.clone();
            params.insert(SEARCH_TEXT.to_owned(), word.clone().into());
            if find(params).await > 0 {
                return Some(word.into());
            }
        }
        None
    }

    /// Returns `true` if the run may do more to items than create them.
    fn may_touch(&self) -> bool {
        [Category::Update, Category::Delete, Category::Execute]
            .into_iter()
            .any(|category| self.may(category))
    }

    /// Reads all existing items before creating any, so the run cannot mistake them for its own.
    async fn meet_all(&self) {
        if !self.may(Category::Create) || !self.may_touch() {
            return;
        }
        let unheard = Cases::default();
        let unheard = &unheard;
        let meet = |kind: &'_ Resource| {
            let (name, list) = (kind.name.clone(), kind.operation(&self.adapter, Role::List));
            async move {
                if let Some(list) = list
                    && self.forbids(list).is_none()
                    && pages::shows_all(self, list, unheard).await
                {
                    self.resources().prove(&name, Proof::Listed);
                }
            }
        };
        do_all(self.resources().kinds().iter().map(meet)).await;
    }

    /// Creates the same item twice for resources without a complete list of existing items. The result shows if CREATE
    /// operations may return existing items.
    async fn find_out_what_is_new(&self) {
        if !self.may(Category::Create) || !self.may_touch() {
            return;
        }
        for kind in self.resources().kinds() {
            if let Some(create) = kind.operation(&self.adapter, Role::Create)
                && self.forbids(create).is_none()
                && !self.resources().is_proved(&kind.name)
                && let Some(names) = self.makes_two(kind, create).await
            {
                self.resources().prove(&kind.name, Proof::Anew(names));
            }
        }
    }

    /// Returns the names of the parameters if two equal calls of an operation create two items.
    async fn makes_two(&self, kind: &Resource, create: &Operation) -> Option<BTreeSet<String>> {
        let unheard = Cases::default();
        let id = |made: &Exchange| kind.identity(kind.object(made.data()?)?);
        for params in [to_create(self, create), self.valid(create)] {
            let mut params = params.ok()?;
            let mut first = self.act(create, params.clone(), &unheard).await?;
            if first.code().is_some_and(|code| code.starts_with("CONFLICT_")) {
                params = varied(self, create, &params, 1);
                first = self.act(create, params.clone(), &unheard).await?;
            }
            if !first.succeeded() {
                continue;
            }
            let second = self.act(create, params.clone(), &unheard).await?;
            let is_refused = second.code().is_some_and(|code| code.starts_with("CONFLICT_"));
            let (first, second) = (id(&first)?, id(&second));
            return (is_refused || second.is_some_and(|second| second != first))
                .then(|| params.into_iter().map(|(name, _)| name).collect());
        }
        None
    }

    /// Creates an item of each resource of which the run owns none. The run changes only its own items.
    async fn have_one_of_each(&self) {
        if !self.may_touch() {
            return;
        }
        for kind in self.resources().kinds() {
            if let Some(create) = kind.operation(&self.adapter, Role::Create)
                && self.forbids(create).is_none()
                && !self.resources().has_one(&kind.name)
            {
                let Ok(params) = self.valid(create) else { continue };
                self.try_to_create(create, params).await;
            }
        }
    }

    /// Calls every READ operation with known values for its required parameters. Returns the length of the longest
    /// list.
    async fn look_around(&self) -> usize {
        let calls =
            self.adapter.reads().filter(|operation| self.forbids(operation).is_none()).filter_map(
                |operation| {
                    let configured = self.settings.file.params.get(&operation.name).cloned();
                    let params = match configured {
                        Some(params) => params,
                        None => self.with_known_values(operation)?,
                    };
                    Some((operation, params))
                },
            );
        let calls = calls.map(|(operation, params)| async move {
            let exchange =
                self.send(&operation.tool, arguments(&operation.name, params), None).await;
            exchange.data().and_then(pages::items).map_or(0, |items| items.len())
        });
        // Collect the futures: an iterator with closures would make this future not `Send`.
        let calls: Vec<_> = calls.collect();
        let counts: Vec<_> = stream::iter(calls).buffered(self.at_once()).collect().await;
        counts.into_iter().max().unwrap_or_default()
    }

    /// Returns the required parameters of an operation if the adapter states a value for each. Returns `None` if one of
    /// them identifies an item.
    fn with_known_values(&self, operation: &Operation) -> Option<Map<String, Value>> {
        let params = self.valid(operation).ok()?;
        let is_known = |parameter: &Parameter| {
            let value = params.get(&parameter.name);
            !is_identifier(&parameter.name)
                && value
                    .is_some_and(|value| !values::is_generated(self, operation, parameter, value))
        };
        operation.required().all(is_known).then_some(params)
    }

    /// Creates items of every resource without known items. Returns their number.
    async fn create_items(&self) -> usize {
        let planted = AtomicUsize::new(0);
        let operations = self.adapter.of(Category::Create).filter(|operation| {
            self.forbids(operation).is_none()
                && !RESERVED.contains(&operation.name.as_str())
                && !self.was_created_for_reads(&operation.name)
        });
        let planted_so_far = &planted;
        let create = operations.map(|operation| async move {
            for turn in 0..MIN_ITEMS {
                let Some(exchange) = self.create_item(operation, turn).await else { break };
                if !exchange.succeeded() {
                    break;
                }
                planted_so_far.fetch_add(1, Ordering::Relaxed);
                self.note_created_for_reads(&operation.name);
            }
        });
        do_all(create).await;
        planted.into_inner()
    }

    async fn create_item(&self, operation: &Operation, turn: usize) -> Option<Exchange> {
        let params = values::valid(self, operation, turn).ok()?;
        let mut varied = params.clone();
        for parameter in &operation.parameters {
            if varied.contains_key(&parameter.name)
                || is_identifier(&parameter.name)
                || values::is_withheld(operation, parameter)
            {
                continue;
            }
            // Use nested objects where objects are free-form.
            if parameter.kind == "object" {
                let value = json!({ "conformance": turn });
                varied.insert(parameter.name.clone(), value);
                continue;
            }
            // For an object of a named type, take an example: generated objects lack the optional fields.
            let shape = Shape::of(&self.adapter, parameter);
            let shown = operation.examples_of(&parameter.name).filter(|it| it.is_object());
            let mut shown = shown.map(values::without_widening);
            if let Some(object) = shown.find(|it| shape.accepts(it)) {
                varied.insert(parameter.name.clone(), object);
                continue;
            }
            let is_bounded = ["enum", "maximum", "format"]
                .iter()
                .any(|member| parameter.member(member).is_some());
            if (is_bounded || parameter.kind == "boolean")
                && parameter.name != "dry_run"
                && let Some(value) = Shape::of(&self.adapter, parameter).made(turn)
            {
                varied.insert(parameter.name.clone(), value);
            }
        }
        let has_more = varied.len() > params.len();
        let exchange = self.try_to_create(operation, varied).await?;
        // A call without a reply may have created the item, so do not repeat it.
        if exchange.succeeded() || exchange.no_response().is_some() || !has_more {
            return Some(exchange);
        }
        self.try_to_create(operation, params).await
    }

    /// Calls a permitted CREATE operation, unless a limit is reached.
    async fn try_to_create(
        &self,
        operation: &Operation,
        params: Map<String, Value>,
    ) -> Option<Exchange> {
        let arguments = arguments(&operation.name, params);
        let _pending = self.within_limits(&arguments).await.ok()?;
        Some(self.send(&operation.tool, arguments, None).await)
    }
}
