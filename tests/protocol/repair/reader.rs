//! The simulated reader. With fixed rules, it makes the next call from a rejected call and the error message. It knows
//! neither the operation's table nor the intended call.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::form::{first_decimal, scalar, text_matching, value_of};
use super::place::{self, Step, get, parse, set, take};

/// A sentence of an error message, with the hints after it.
struct Sentence {
    text: String,
    hints: Vec<String>,
}

static BOUNDARY: LazyLock<Regex> = LazyLock::new(|| {
    let starts = "Missing required|Parameter '|Did you mean|Send |Replace '|Unknown |Valid |Leave it|\
                  Only the adapter|Call introspect|To search|'[^']+'(?: \\(as '[^']+'\\))?(?:, '[^']+'(?: \\(as '[^']+'\\))?)* belongs? ";
    Regex::new(&format!("[.?] (?P<start>{starts})")).expect("it is a pattern")
});

fn sentences(message: &str) -> Vec<Sentence> {
    let lines = BOUNDARY.replace_all(message, "\n$start");
    let mut sentences: Vec<Sentence> = Vec::new();
    for line in lines.lines() {
        let line = line.trim_end_matches(['.', '?']);
        let is_hint = (line.starts_with("Did you mean") && !line.contains("' instead of '"))
            || line.starts_with("Send ")
            || line.starts_with("Leave it out");
        match sentences.last_mut().filter(|_| is_hint) {
            Some(last) => last.hints.push(line.to_owned()),
            None => sentences.push(Sentence { text: line.to_owned(), hints: Vec::new() }),
        }
    }
    sentences
}

/// Matches a pattern in which `~` stands for a quoted name. Returns the captures.
fn captures<'t>(pattern: &str, text: &'t str) -> Option<Captures<'t>> {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        let regex = compiled.entry(pattern.to_owned()).or_insert_with(|| {
            let pattern = pattern.replace('~', "'([^']*)'");
            Regex::new(&format!("^(?s:{pattern})$")).expect("it is a pattern")
        });
        regex.captures(text)
    })
}

fn hint_of<'h>(hints: &'h [String], start: &str) -> Option<&'h str> {
    hints.iter().find_map(|hint| hint.strip_prefix(start))
}

/// Returns the call that follows from an error message.
pub(super) fn next_call(operation: &str, params: &Value, error: &Value) -> (String, Value) {
    let message = error["message"].as_str().unwrap_or_default();
    let mut call = Repair { operation: operation.to_owned(), params: params.clone(), error };
    // Read names first: a value sent under a wrong name or at a wrong position is not missing.
    let sentences = sentences(message);
    let (names, rest): (Vec<_>, Vec<_>) =
        sentences.iter().partition(|sentence| call.read_names(sentence));
    debug_assert_eq!(names.len() + rest.len(), sentences.len());
    rest.into_iter().for_each(|sentence| call.read_faults(sentence));
    (call.operation, call.params)
}

struct Repair<'e> {
    operation: String,
    params: Value,
    error: &'e Value,
}

impl Repair<'_> {
    /// Returns the steps of a path. Messages name the fields of `input` without it.
    fn steps(&self, path: &str) -> Vec<Step> {
        let steps = parse(&self.params, path);
        let in_input = parse(&self.params, &format!("input.{path}"));
        let exists = |steps: &[Step]| get(&self.params, steps).is_some();
        if !exists(&steps) && exists(&in_input) { in_input } else { steps }
    }

    fn rename(&mut self, path: &str, name: &str) {
        let steps = self.steps(path);
        let Some(value) = take(&mut self.params, &steps) else { return };
        let mut new = steps;
        let name = name.rsplit_once('.').filter(|_| new.len() > 1).map_or(name, |(_, last)| last);
        if let Some(last) = new.last_mut() {
            *last = Step::Member(name.to_owned());
        }
        if get(&self.params, &new).is_none() {
            set(&mut self.params, &new, value);
        }
    }

    fn remove(&mut self, path: &str) {
        let steps = self.steps(path);
        take(&mut self.params, &steps);
    }

    fn put(&mut self, path: &str, value: Value) {
        let steps = self.steps(path);
        set(&mut self.params, &steps, value);
    }

    /// Reads a sentence about names and positions.
    fn read_names(&mut self, sentence: &Sentence) -> bool {
        self.read_unknown(&sentence.text, &sentence.hints) || self.read_places(&sentence.text)
    }

    /// Reads a sentence about values.
    fn read_faults(&mut self, sentence: &Sentence) {
        let (text, hints) = (sentence.text.as_str(), sentence.hints.as_slice());
        let _ = self.read_missing(text, hints)
            || self.read_type(text, hints)
            || self.read_query(text, hints)
            || self.read_value(text, hints);
    }

    fn read_unknown(&mut self, text: &str, hints: &[String]) -> bool {
        if let Some(found) = captures("Did you mean ~ instead of ~", text) {
            self.rename(&found[2], &found[1]);
        } else if let Some(found) = captures("Parameter ~ is unknown; did you mean ~", text) {
            self.rename(&found[1], &found[2]);
        } else if let Some(found) = captures("Parameter ~ is unknown", text) {
            self.remove(&found[1]);
        } else if captures("Unknown operation: ~", text).is_some() {
            if let Some(near) = hint_of(hints, "Did you mean '") {
                self.operation = near.trim_end_matches('\'').to_owned();
            }
        } else if let Some(found) =
            captures("Unknown (?:parameter|field)\\(s\\) for operation ~: (.*)", text)
        {
            // If no other sentence mentions the name, it is superfluous.
            let whole = self.error["message"].as_str().unwrap_or_default().to_owned();
            for name in found[2].split(", ") {
                if whole.matches(name).count() == 1 {
                    self.remove(name.trim_matches('\''));
                }
            }
        } else {
            return false;
        }
        true
    }

    fn read_places(&mut self, text: &str) -> bool {
        if let Some(found) = captures("(.*) belongs? inside ~: (.*)", text) {
            let steps = self.steps_of_form(&found[2], &found[3]);
            for name in found[1].split(", ") {
                let (path, member) = match captures("~ \\(as ~\\)", name) {
                    Some(found) => (found[1].to_owned(), found[2].to_owned()),
                    None => {
                        let path = name.trim_matches('\'').to_owned();
                        let member = path.rsplit('.').next().unwrap_or_default().to_owned();
                        (path, member)
                    }
                };
                let from = self.steps(&path);
                if let Some(value) = take(&mut self.params, &from) {
                    let to = [steps.clone(), vec![Step::Member(member)]].concat();
                    set(&mut self.params, &to, value);
                }
            }
        } else if let Some(found) = captures("~ belongs next to ~, not inside it", text) {
            let steps = self.steps(&found[1]);
            let name = found[1].rsplit('.').next().unwrap_or_default().to_owned();
            if let Some(value) = take(&mut self.params, &steps) {
                set(&mut self.params, &[Step::Member(name)], value);
            }
        } else if let Some(found) = captures("Replace ~ with its members", text) {
            let steps = self.steps(&found[1]);
            if let Some(Value::Object(members)) = take(&mut self.params, &steps) {
                let around = &steps[..steps.len() - 1];
                for (name, value) in members {
                    set(&mut self.params, &[around, &[Step::Member(name)]].concat(), value);
                }
            }
        } else if let Some(found) = captures("To search, call ~ with ~ instead of ~", text) {
            self.operation = found[1].to_owned();
            self.rename(&found[3], &found[2]);
        } else if let Some(found) =
            captures("Only the adapter can set (.*): leave it out of 'input'", text)
        {
            found[1].split(", ").for_each(|path| self.remove(path.trim_matches('\'')));
        } else {
            return false;
        }
        true
    }

    /// Returns the steps of a path, including the lists in the form.
    fn steps_of_form(&self, path: &str, form: &str) -> Vec<Step> {
        let mut steps = Vec::new();
        for step in parse(&self.params, path) {
            let name = match &step {
                Step::Member(name) => name.clone(),
                Step::Item(_) => String::new(),
            };
            steps.push(step);
            let is_list = !name.is_empty() && form.contains(&format!("{name}: ["));
            let has_index = path.contains(&format!("{name}["));
            if is_list && !has_index {
                steps.push(Step::Item(0));
            }
        }
        steps
    }

    fn read_missing(&mut self, text: &str, hints: &[String]) -> bool {
        let Some(found) =
            captures("Missing required parameter ~\\. Expected: (.*?)(?: \\([^()]*\\))?", text)
        else {
            return false;
        };
        // The value may already be there, because it was renamed or moved.
        let form = hint_of(hints, "Send '").and_then(|hint| hint.split_once("' as "));
        if let Some((path, form)) = form {
            let sent = get(&self.params, &self.steps(path)).cloned().unwrap_or_default();
            self.put(path, value_of(form, &sent));
        } else if get(&self.params, &self.steps(&found[1])).is_none() {
            let value = match hint_of(hints, "Did you mean '") {
                Some(near) => json!(near.trim_end_matches('\'')),
                None if found[2].contains(['{', '[']) && !found[2].contains("matching") => {
                    value_of(&found[2], &Value::Null)
                }
                None => scalar(&found[2], &Value::Null),
            };
            self.put(&found[1], value);
        }
        true
    }

    fn read_type(&mut self, text: &str, hints: &[String]) -> bool {
        let Some(found) = captures("Parameter ~ expected '(.*)', got ~", text) else {
            return false;
        };
        let path = found[1].to_owned();
        let sent = get(&self.params, &self.steps(&path)).cloned().unwrap_or_default();
        let hint = hints.first().map_or("", String::as_str);
        let new = match hint {
            "Send it as JSON, not as a string" => {
                serde_json::from_str(sent.as_str().unwrap_or_default()).unwrap_or(sent)
            }
            "Send it as a string, in quotation marks" => json!(sent.to_string()),
            "Send a whole number" => json!(sent.as_f64().unwrap_or(0.0).round()),
            "Send one value, not a list" => sent.get(0).cloned().unwrap_or_default(),
            "Send true or false" => json!(true),
            "Send its items directly in the outer list" => return self.unwrapped_list(&path),
            hint if hint.starts_with("Leave it out") => return self.removed(&path),
            "Send a list: [string]" if !sent.is_string() => json!([sent.to_string()]),
            hint if hint.starts_with("Send a list") => json!([sent]),
            "Send the value alone, without an object" => {
                sent.as_object().and_then(|it| it.values().next()).cloned().unwrap_or_default()
            }
            hint => match hint.strip_prefix("Send ") {
                Some(words) if words.starts_with("a ") || words.starts_with("an ") => {
                    scalar(words.split_once(' ').map_or("", |(_, words)| words), &sent)
                }
                Some(form) => value_of(form, &sent),
                None => value_of(&found[2], &sent),
            },
        };
        let new = match new.as_f64().filter(|number| number.fract() == 0.0) {
            #[expect(clippy::cast_possible_truncation, reason = "it is small")]
            Some(number) if hint == "Send a whole number" => json!(number as i64),
            _ => new,
        };
        self.put(&path, new);
        true
    }

    fn unwrapped_list(&mut self, path: &str) -> bool {
        let steps = self.steps(path);
        let around = &steps[..steps.len().saturating_sub(1)];
        if let Some(inner) = get(&self.params, &steps).cloned() {
            set(&mut self.params, around, inner);
        }
        true
    }

    fn removed(&mut self, path: &str) -> bool {
        self.remove(path);
        true
    }

    fn read_query(&mut self, text: &str, hints: &[String]) -> bool {
        let near =
            hint_of(hints, "Did you mean '").map(|near| near.trim_end_matches('\'').to_owned());
        let send = hint_of(hints, "Send ").map(str::to_owned);
        if let Some(found) = captures("Parameter ~ has unknown (\\w+) ~(?:: one of: (.*))?", text) {
            let (path, kind, name) = (found[1].to_owned(), &found[2], found[3].to_owned());
            let first = found.get(4).and_then(|list| list.as_str().split(", ").next());
            let sent = get(&self.params, &self.steps(&path)).cloned().unwrap_or_default();
            // Another sentence says where this name belongs.
            let whole = self.error["message"].as_str().unwrap_or_default();
            let moved = format!(".{name}'");
            if whole.contains(&format!("{moved} belongs"))
                || whole.contains(&format!("{moved} with its members"))
            {
                return true;
            }
            match (kind, send, near) {
                (_, Some(form), _) if form == "the value alone, without an object" => {
                    let only = sent.as_object().and_then(|it| it.values().next()).cloned();
                    self.put(&path, only.unwrap_or_default());
                }
                (_, Some(form), _) if form == "it as JSON, not as a string" => {
                    let text = sent.as_str().unwrap_or_default();
                    self.put(&path, serde_json::from_str(text).unwrap_or_default());
                }
                (_, Some(form), _) if form.ends_with("alone, not in a list") => {
                    let list = path.split('[').next().unwrap_or_default();
                    self.put(list, json!(form.split('\'').nth(1)));
                }
                ("operator", Some(form), _) if form == "'gte' and 'lte' instead" => {
                    let range = sent.get(&name).cloned().unwrap_or_default();
                    self.remove(&format!("{path}.{name}"));
                    self.put(&format!("{path}.gte"), range.get(0).cloned().unwrap_or(json!(0)));
                    self.put(&format!("{path}.lte"), range.get(1).cloned().unwrap_or(json!(9)));
                }
                (_, Some(form), _) => {
                    let form = form.trim_start_matches("a list: ");
                    self.put(&path, value_of(form, &sent));
                }
                ("key" | "operator" | "member" | "function", _, Some(near)) => {
                    self.rename_within(&path, &name, &near);
                }
                ("key" | "member" | "function", _, None) => self.remove_within(&path, &name),
                ("operator", _, None) if sent.as_object().is_some_and(|it| it.len() > 1) => {
                    self.remove_within(&path, &name);
                }
                ("operator", _, None) => {
                    self.rename_within(&path, &name, first.unwrap_or_default());
                }
                (_, _, Some(near)) => self.put(&path, json!(near)),
                (_, _, None) => self.put(&path, json!(first)),
            }
            return true;
        }
        if let Some(found) =
            captures("Parameter ~ names ~, which cannot be .*; these can: (.*)", text)
        {
            self.put(&found[1], json!(found[3].split(", ").next()));
            return true;
        }
        if let Some(found) =
            captures("Parameter ~ has a wrong name or value: it must be one of: (.*)", text)
        {
            let list: Vec<_> = found[2].split(", ").map(str::to_owned).collect();
            let near = near.unwrap_or_else(|| list[0].clone());
            let sent = get(&self.params, &self.steps(&found[1])).cloned().unwrap_or_default();
            let names: Vec<_> =
                sent.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
            for name in names.iter().filter(|name| !list.contains(name)) {
                self.rename_within(&found[1], name, &near);
            }
            return true;
        }
        if let Some(found) = captures("Parameter ~ has no 'field', one of: (.*)", text) {
            let first = found[2].split(", ").next().unwrap_or_default().to_owned();
            self.put(&format!("{}.field", &found[1]), json!(first));
            return true;
        }
        false
    }

    /// Renames a member of the object at a path, or of a group in it, such as `filter.or[0]`.
    fn rename_within(&mut self, path: &str, name: &str, new: &str) {
        let Some(mut steps) = self.find_within(path, name) else { return };
        let value = take(&mut self.params, &steps).unwrap_or_default();
        steps.pop();
        steps.push(Step::Member(new.to_owned()));
        set(&mut self.params, &steps, value);
    }

    fn remove_within(&mut self, path: &str, name: &str) {
        if let Some(steps) = self.find_within(path, name) {
            take(&mut self.params, &steps);
        }
    }

    fn find_within(&self, path: &str, name: &str) -> Option<Vec<Step>> {
        let around = self.steps(path);
        let inner = place::all(get(&self.params, &around)?);
        let is_named =
            |steps: &&Vec<Step>| matches!(steps.last(), Some(Step::Member(last)) if last == name);
        let found = inner.iter().filter(is_named).min_by_key(|steps| steps.len())?;
        Some([around, found.clone()].concat())
    }

    fn read_value(&mut self, text: &str, hints: &[String]) -> bool {
        let Some(found) = captures("Parameter ~ (.*)", text) else { return false };
        let (path, rule) = (found[1].to_owned(), &found[2]);
        let steps = self.steps(&path);
        let sent = get(&self.params, &steps).cloned().unwrap_or_default();
        if let Some(found) = captures("has the key ~, but keys must (.*)", rule) {
            let near = hint_of(hints, "Did you mean '").map(|near| near.trim_end_matches('\''));
            let rule = found[2].trim_start_matches("match ");
            let key = match (near, rule.split_once("one of: ")) {
                (Some(near), _) => near.to_owned(),
                (None, Some((_, list))) => list.split(", ").next().unwrap_or_default().to_owned(),
                (None, None) => text_matching(rule.split('\'').nth(1).unwrap_or_default()),
            };
            self.rename_within(&path, &found[1], &key);
            return true;
        }
        let is_filled = sent.as_object().is_some_and(|members| !members.is_empty());
        if rule.starts_with("has no operator") && is_filled {
            return true;
        }
        if rule.starts_with("cannot be removed") || rule.contains("leave it out") {
            return self.removed(&path);
        }
        if let Some((path, form)) = hint_of(hints, "Send '").and_then(|it| it.split_once("' as ")) {
            let sent = get(&self.params, &self.steps(path)).cloned().unwrap_or_default();
            let mut value = value_of(form, &sent);
            // Remove the wrong tag.
            if let (Some(value), Some(Step::Member(tag))) = (value.as_object_mut(), steps.last()) {
                value.remove(tag);
                let rest = Value::Object(value.clone());
                let fresh = value_of(form, &rest);
                self.put(path, fresh);
            }
        } else if let Some(near) = hint_of(hints, "Did you mean '") {
            self.put(&path, json!(near.trim_end_matches('\'')));
        } else if let Some(form) =
            hint_of(hints, "Send ").or(rule.strip_prefix("must have one of these forms: "))
        {
            self.put(&path, value_of(form, &sent));
        } else if let Some((_, list)) = rule.split_once("one of: ") {
            self.put(&path, json!(list.split(", ").next()));
        } else if let Some(found) = captures("must have (.*) characters, has .*", rule) {
            self.put(&path, json!(fitted_text(sent.as_str().unwrap_or_default(), &found[1])));
        } else if let Some(found) = captures("must have (.*) items, has .*", rule) {
            let (least, most) = bounds(&found[1]);
            let mut items = sent.as_array().cloned().unwrap_or_default();
            items.truncate(most);
            while items.len() < least {
                items.push(items.first().cloned().unwrap_or(json!("text")));
            }
            self.put(&path, json!(items));
        } else if let Some(found) = captures("must match the pattern '(.*)'", rule) {
            self.put(&path, json!(text_matching(&found[1])));
        } else if let Some((_, example)) = rule.split_once("such as '") {
            self.put(&path, json!(example.trim_end_matches('\'')));
        } else if let Some(range) = rule.strip_prefix("must be ") {
            if let Some(decimal) = first_decimal(range) {
                self.put(&path, json!(decimal));
                return true;
            }
            let (least, most) = bounds(range);
            let number = sent.as_f64().unwrap_or(0.0);
            self.put(&path, json!(if number > 1.0 { most } else { least }));
        }
        true
    }
}

/// Parses a range such as `1 to 5`, `3 or more` or `up to 4`.
fn bounds(range: &str) -> (usize, usize) {
    let numbers: Vec<usize> = range
        .split(|each: char| !each.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers.as_slice() {
        [least, most, ..] => (*least, *most),
        [only] if range.starts_with("up to") => (0, *only),
        [only] => (*only, usize::MAX),
        [] => (0, usize::MAX),
    }
}

fn fitted_text(text: &str, range: &str) -> String {
    let (least, most) = bounds(range);
    let mut text: String = text.chars().take(most).collect();
    while text.chars().count() < least {
        text.push('x');
    }
    text
}
