//! Makes the typical mistakes of callers in valid calls.

use serde_json::{Map, Value, json};

use super::place::{Step, all, get, parse, set, take};

/// A call with a mistake.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) kind: &'static str,
    pub(super) operation: String,
    pub(super) params: Value,
    /// The intended call. `None` if the mistake has lost a part of it.
    pub(super) meant: Option<(String, Value)>,
}

/// The parts of an adapter's calls where special mistakes are possible.
#[derive(Default)]
pub(super) struct Features {
    /// Names of maps. Their keys are data and cannot be misspelled.
    pub(super) maps: &'static [&'static str],
    /// Paths of the tags of unions.
    pub(super) tags: &'static [&'static str],
    /// Parameters whose type is a union of objects with one member. The name of the member is the variant.
    pub(super) wrappers: &'static [&'static str],
    /// Paths of enums.
    pub(super) enums: &'static [&'static str],
    /// Paths of maps, with invalid keys.
    pub(super) keys: Vec<(&'static str, &'static [&'static str])>,
    /// Paths of values, with values beyond their limits.
    pub(super) limits: Vec<(&'static str, Vec<Value>)>,
    pub(super) query: Option<QueryFields>,
}

/// The operations that list and search a resource, and one of its fields for each kind.
pub(super) struct QueryFields {
    pub(super) list: &'static str,
    pub(super) search: &'static str,
    pub(super) text: &'static str,
    pub(super) number: &'static str,
    pub(super) boolean: &'static str,
    pub(super) list_field: &'static str,
    /// An enum field with one of its values.
    pub(super) choice: (&'static str, &'static str),
}

/// Returns all mistakes in a valid call.
pub(super) fn mistakes(features: &Features, operation: &str, params: &Value) -> Vec<Mistake> {
    let mut maker = Maker { features, operation, params, made: Vec::new() };
    maker.missing();
    maker.misspelt();
    maker.wrong_types();
    maker.flat();
    maker.nested();
    maker.stringified();
    maker.extra();
    maker.wrong_tags();
    maker.wrong_values();
    maker.other_names();
    maker.other_operations();
    maker.other_queries();
    maker.keys();
    maker.limits();
    maker.made
}

struct Maker<'a> {
    features: &'a Features,
    operation: &'a str,
    params: &'a Value,
    made: Vec<Mistake>,
}

fn member(name: &str) -> Step {
    Step::Member(name.to_owned())
}

impl Maker<'_> {
    fn is_map(&self, steps: &[Step]) -> bool {
        matches!(steps.last(), Some(Step::Member(name)) if self.features.maps.contains(&name.as_str()))
    }

    /// Adds a mistake without any loss of information.
    fn lossless(&mut self, kind: &'static str, params: Value) {
        let meant = Some((self.operation.to_owned(), self.params.clone()));
        self.made.push(Mistake { kind, operation: self.operation.to_owned(), params, meant });
    }

    /// Adds a mistake that loses a part of the call.
    fn lossy(&mut self, kind: &'static str, params: Value) {
        self.made.push(Mistake { kind, operation: self.operation.to_owned(), params, meant: None });
    }

    fn with(&self, steps: &[Step], new: Value) -> Value {
        let mut params = self.params.clone();
        set(&mut params, steps, new);
        params
    }

    fn renamed(&self, steps: &[Step], name: &str) -> Value {
        let mut params = self.params.clone();
        let value = take(&mut params, steps).expect("it is there");
        let around = &steps[..steps.len() - 1];
        set(&mut params, &[around, &[member(name)]].concat(), value);
        params
    }

    /// Returns the members of all objects, with their names.
    fn members(&self) -> Vec<(Vec<Step>, String)> {
        let named = |steps: Vec<Step>| match steps.last().cloned() {
            Some(Step::Member(name)) if !self.is_map(&steps[..steps.len() - 1]) => {
                Some((steps, name))
            }
            _ => None,
        };
        all(self.params).into_iter().filter_map(named).collect()
    }

    /// Returns the objects in the parameters, except maps.
    fn objects(&self) -> Vec<Vec<Step>> {
        let is_object = |steps: &Vec<Step>| {
            get(self.params, steps).is_some_and(Value::is_object) && !self.is_map(steps)
        };
        all(self.params).into_iter().filter(is_object).collect()
    }

    fn missing(&mut self) {
        for (steps, _) in self.members() {
            let mut params = self.params.clone();
            take(&mut params, &steps);
            self.lossy("missing", params);
        }
        self.lossy("missing", json!({}));
    }

    fn misspelt(&mut self) {
        for (steps, name) in self.members() {
            for wrong in misspellings(&name) {
                let params = self.renamed(&steps, &wrong);
                self.lossless("misspelt", params);
            }
        }
    }

    fn wrong_types(&mut self) {
        for (steps, _) in self.members() {
            let value = get(self.params, &steps).expect("it is there").clone();
            for wrong in [
                json!(7),
                json!(2.5),
                json!("text"),
                json!([]),
                json!({}),
                json!(true),
                json!(null),
            ] {
                let params = self.with(&steps, wrong);
                self.lossy("wrong type", params);
            }
            let params = self.with(&steps, json!([value]));
            self.lossless("wrong type: one value as a list", params);
            let params = self.with(&steps, json!({ "value": value }));
            self.lossless("wrong type: a value as an object", params);
            if let Some([first]) = value.as_array().map(Vec::as_slice) {
                let params = self.with(&steps, first.clone());
                self.lossless("wrong type: a list as one value", params);
            }
        }
    }

    /// Moves the members of an object to the level above.
    fn flat(&mut self) {
        for steps in self.objects() {
            let mut params = self.params.clone();
            let Some(Value::Object(members)) = take(&mut params, &steps) else { continue };
            let around = steps[..steps.len() - 1].to_vec();
            if !get(&params, &around).is_some_and(Value::is_object) {
                continue;
            }
            let whole = get(&params, &around).and_then(Value::as_object).expect("an object");
            if members.keys().any(|name| whole.contains_key(name)) {
                continue;
            }
            let mut some = self.params.clone();
            for (place, (name, value)) in members.into_iter().enumerate() {
                let to = [&*around, &[member(&name)]].concat();
                if place == 0 {
                    take(&mut some, &[&*steps, &[member(&name)]].concat());
                    set(&mut some, &to, value.clone());
                }
                set(&mut params, &to, value);
            }
            // With the object, the name of a filter's field or the key of a map is lost.
            if (matches!(steps.first(), Some(Step::Member(name)) if name == "filter")
                && steps.len() > 1)
                || self.is_map(&around)
            {
                self.lossy("flat", params);
            } else {
                self.lossless("flat", params);
            }
            self.lossless("flat", some);
        }
    }

    /// Adds a level of nesting, or moves parameters into another one.
    fn nested(&mut self) {
        for name in ["data", "order", "body", "arguments"] {
            let params = json!({ name: self.params });
            self.lossless("nested", params);
        }
        for steps in self.objects() {
            let value = get(self.params, &steps).expect("it is there").clone();
            let params = self.with(&steps, json!({ "value": value }));
            self.lossless("nested", params);
            if let Some(Step::Member(name)) = steps.last() {
                let params = self.with(&steps, json!({ name: value }));
                self.lossless("nested", params);
            }
        }
        let top: Map<_, _> = self.params.as_object().expect("an object").clone();
        for (name, value) in &top {
            for (around, inner) in &top {
                if name != around && inner.is_object() && !self.is_map(&[member(around)]) {
                    let mut params = self.params.clone();
                    take(&mut params, &[member(name)]);
                    set(&mut params, &[member(around), member(name)], value.clone());
                    self.lossless("nested", params);
                }
            }
        }
    }

    fn stringified(&mut self) {
        for steps in all(self.params) {
            let value = get(self.params, &steps).expect("it is there");
            if !value.is_string() {
                let params = self.with(&steps, json!(value.to_string()));
                self.lossless("stringified", params);
            }
        }
    }

    fn extra(&mut self) {
        for name in ["verbose", "note_to_self", "xyz"] {
            let params = self.with(&[member(name)], json!(true));
            self.lossless("extra", params);
            for steps in self.objects() {
                let params = self.with(&[steps, vec![member(name)]].concat(), json!(true));
                self.lossless("extra", params);
            }
        }
    }

    fn wrong_tags(&mut self) {
        for path in self.features.tags {
            let steps = parse(self.params, path);
            let Some(tag) = get(self.params, &steps).and_then(Value::as_str) else { continue };
            let mut params = self.params.clone();
            take(&mut params, &steps);
            self.lossless("wrong tag", params);
            for wrong in [tag.to_uppercase(), misspellings(tag)[0].clone(), "zzz".to_owned()] {
                let params = self.with(&steps, json!(wrong));
                self.lossless("wrong tag", params);
            }
            for name in ["type", "variant"] {
                let params = self.renamed(&steps, name);
                self.lossless("wrong tag", params);
            }
            let params = self.with(&steps, json!(7));
            self.lossless("wrong tag", params);
            // Write the variant in the style of other unions.
            let union = &steps[..steps.len() - 1];
            let mut content = get(self.params, union).expect("it is there").clone();
            take(&mut content, &steps[steps.len() - 1..]);
            let params = self.with(union, json!({ tag: content }));
            self.lossy("wrong tag", params);
        }
        for name in self.features.wrappers {
            self.wrong_wrappers(name);
        }
    }

    fn wrong_wrappers(&mut self, parameter: &str) {
        let union = get(self.params, &[member(parameter)]).and_then(Value::as_object);
        let Some((name, content)) = union.and_then(|it| it.iter().next()) else { return };
        let tagged = |key: &str| {
            let mut tagged = content.clone();
            tagged[key] = json!(name);
            tagged
        };
        for wrong in [
            json!({ misspellings(name)[0].clone(): content }),
            json!({ name.to_uppercase(): content }),
            content.clone(),
        ] {
            let params = self.with(&[member(parameter)], wrong);
            self.lossless("wrong tag", params);
        }
        for wrong in
            [json!(name), json!({ "zzz": content }), tagged("kind"), tagged("type"), json!({})]
        {
            let params = self.with(&[member(parameter)], wrong);
            self.lossy("wrong tag", params);
        }
    }

    /// Uses invalid values of enums.
    fn wrong_values(&mut self) {
        for path in self.features.enums {
            let steps = parse(self.params, path);
            let Some(value) = get(self.params, &steps).and_then(Value::as_str) else { continue };
            let mut wrong = misspellings(value);
            wrong.extend([value.to_uppercase(), value.replace('_', " "), value.replace('_', "-")]);
            for wrong in wrong.into_iter().filter(|wrong| wrong != value) {
                let params = self.with(&steps, json!(wrong));
                self.lossless("wrong enum value", params);
            }
            let params = self.with(&steps, json!("zzz"));
            self.lossy("wrong enum value", params);
        }
    }

    /// Uses common names of parameters and fields from other APIs.
    fn other_names(&mut self) {
        const NAMES: [(&str, &[&str]); 8] = [
            ("first", &["limit", "page_size", "pageSize", "per_page", "count", "max_results"]),
            ("sort", &["order_by", "orderBy", "sort_by", "order", "ordering"]),
            ("filter", &["where", "filters", "conditions", "criteria"]),
            ("fields", &["select", "columns"]),
            ("query", &["q", "search", "text", "keywords"]),
            ("input", &["data", "patch", "changes", "updates", "set"]),
            ("sort.field", &["by", "key", "column"]),
            ("sort.order", &["direction", "dir"]),
        ];
        for (path, names) in NAMES {
            let steps = parse(self.params, path);
            if get(self.params, &steps).is_none() {
                continue;
            }
            for name in names {
                let params = self.renamed(&steps, name);
                self.lossless("other API's name", params);
            }
        }
        let names = self.params.as_object().into_iter().flatten().map(|(name, _)| name);
        let ids: Vec<_> = names.filter(|name| name.ends_with("_id")).collect();
        if let [id] = ids.as_slice() {
            for name in ["id".to_owned(), id.replace('_', "-")] {
                let params = self.renamed(&[member(id)], &name);
                self.lossless("other API's name", params);
            }
        }
        for (steps, name) in self.members() {
            let camel = camel_case(&name);
            if camel != name {
                let params = self.renamed(&steps, &camel);
                self.lossless("other API's name", params);
            }
        }
    }

    fn other_operations(&mut self) {
        let (verb, object) = self.operation.split_once('_').expect("a verb and an object");
        let verbs: &[&str] = match verb {
            "create" => &["add", "new", "insert", "make"],
            "get" => &["fetch", "read", "show"],
            "modify" | "change" | "update" => {
                let all: &[&str] = &["update", "edit", "change", "patch", "modify"];
                all
            }
            "list" => &["browse", "all"],
            "search" => &["find", "lookup"],
            "delete" => &["remove", "destroy"],
            _ => &[],
        };
        let misspelt = misspellings(verb);
        for verb in verbs.iter().copied().chain(misspelt.iter().map(String::as_str)) {
            let meant = Some((self.operation.to_owned(), self.params.clone()));
            self.made.push(Mistake {
                kind: "other API's operation",
                operation: format!("{verb}_{object}"),
                params: self.params.clone(),
                meant,
            });
        }
    }

    /// Writes filters, sorts and selections in the style of other APIs.
    fn other_queries(&mut self) {
        let Some(fields) = &self.features.query else { return };
        if self.operation == fields.list {
            for name in ["q", "query", "search"] {
                let mut meant = self.params.clone();
                meant["query"] = json!("tea");
                let params = self.with(&[member(name)], json!("tea"));
                self.made.push(Mistake {
                    kind: "other API's query",
                    operation: self.operation.to_owned(),
                    params,
                    meant: Some((fields.search.to_owned(), meant)),
                });
            }
        } else if self.operation != fields.search {
            return;
        }
        let (choice, chosen) = fields.choice;
        for (name, value) in
            [(choice, json!(chosen)), (fields.boolean, json!(true)), (fields.number, json!(5))]
        {
            let mut params = self.params.clone();
            let mut meant = self.params.clone();
            meant["filter"][name] = value.clone();
            params[name] = value;
            self.made.push(Mistake {
                kind: "other API's query",
                operation: self.operation.to_owned(),
                params,
                meant: Some((self.operation.to_owned(), meant)),
            });
        }
        for (name, wrong) in wrong_queries(fields) {
            let mut params = self.params.clone();
            if name == "first" {
                params.as_object_mut().expect("an object").remove("last");
            }
            params[name] = wrong;
            self.lossy("other API's query", params);
        }
    }

    fn keys(&mut self) {
        for (path, keys) in &self.features.keys {
            let steps = parse(self.params, path);
            if let Some(value) = get(self.params, &steps).and_then(Value::as_object) {
                let value = value.values().next().cloned().unwrap_or(json!(7));
                for key in *keys {
                    let params = self.with(&steps, json!({ *key: value }));
                    self.lossy("map key", params);
                }
            }
        }
    }

    fn limits(&mut self) {
        for (path, values) in &self.features.limits {
            let steps = parse(self.params, path);
            if get(self.params, &steps).is_some() {
                for value in values {
                    let params = self.with(&steps, value.clone());
                    self.lossy("limit", params);
                }
            }
        }
    }
}

/// Returns invalid values of a query's parameters.
fn wrong_queries(fields: &QueryFields) -> Vec<(&'static str, Value)> {
    let &QueryFields { text, number, boolean, list_field, choice: (choice, chosen), .. } = fields;
    let misspelt = misspellings(text)[0].clone();
    vec![
        ("sort", json!(text)),
        ("sort", json!(format!("-{number}"))),
        ("sort", json!([text])),
        ("sort", json!({ text: "desc" })),
        ("sort", json!({ "order": "desc" })),
        ("sort", json!({ "field": "name" })),
        ("sort", json!({ "field": list_field })),
        ("sort", json!({ "field": text, "order": "descending" })),
        ("sort", json!({ "field": text, "order": -1 })),
        ("filter", json!(format!("{choice} = {chosen}"))),
        ("filter", json!([{ choice: chosen }])),
        ("filter", json!({ number: { "$gt": 5 } })),
        ("filter", json!({ number: { ">=": 5 } })),
        ("filter", json!({ number: { "between": [1, 5] } })),
        ("filter", json!({ number: "5" })),
        ("filter", json!({ number: { "in": 5 } })),
        ("filter", json!({ text: { "like": "tea" } })),
        ("filter", json!({ text: 7 })),
        ("filter", json!({ boolean: "yes" })),
        ("filter", json!({ list_field: { "eq": "new" } })),
        ("filter", json!({ misspelt.clone(): "Tea" })),
        ("filter", json!({ "zzz": "Tea" })),
        ("filter", json!({ choice: chosen.to_uppercase() })),
        ("filter", json!({ "and": { boolean: true } })),
        ("filter", json!({ "or": [{ misspellings(boolean)[0].clone(): true }] })),
        ("fields", json!(text)),
        ("fields", json!(format!("{text},{number}"))),
        ("fields", json!([misspelt])),
        ("fields", json!(["id"])),
        ("fields", json!({ text: true })),
        ("fields", json!("all")),
        ("first", json!("10")),
        ("first", json!(-1)),
        ("first", json!(2.5)),
        ("aggregate", json!({ "total": "count" })),
        ("aggregate", json!({ "total": { "cuont": true } })),
        ("aggregate", json!("count")),
    ]
}

/// Returns a name with two letters swapped, with one left out, and with one doubled.
fn misspellings(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let middle = letters.len() / 2;
    if middle == 0 {
        return Vec::new();
    }
    let mut swapped = letters.clone();
    swapped.swap(middle - 1, middle);
    let mut short = letters.clone();
    short.remove(middle);
    let mut long = letters.clone();
    long.insert(middle, letters[middle]);
    let texts = [swapped, short, long].map(String::from_iter);
    texts.into_iter().filter(|text| text != name).collect()
}

fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let mut letters = part.chars();
        let upper = letters.next().map(|first| first.to_ascii_uppercase());
        text + &upper.into_iter().chain(letters).collect::<String>()
    })
}
