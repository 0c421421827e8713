use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::Value;

use crate::operation::{DataKey, Envelope, SchemaFn};
use crate::shape::{
    Compiler, Kind, Members, ObjectShape, Rest, Shape, Shapes, describe, further_constraints,
    type_name,
};
use crate::vocab::SemanticCategory;

/// Collects the types of all parameters and results, from their JSON schemas, so that every type is
/// described once (REQ-INT-16 to REQ-INT-18, REQ-INT-22).
pub(crate) struct TypeRegistry {
    inputs: SchemaGenerator,
    outputs: SchemaGenerator,
    /// Types that no Rust type stands for: lists of results, inputs of updates.
    made: BTreeMap<String, Members>,
    /// The forms that were asked for already.
    known: Shapes,
    /// Those among them that were made from `inputs`.
    known_inputs: HashSet<Arc<str>>,
}

impl TypeRegistry {
    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12;
        Self {
            inputs: settings().for_deserialize().into_generator(),
            outputs: settings().for_serialize().into_generator(),
            made: BTreeMap::new(),
            known: Shapes::new(),
            known_inputs: HashSet::new(),
        }
    }

    /// The schema of a parameter's type; its parts are noted.
    pub(crate) fn input(&mut self, schema: SchemaFn) -> Value {
        schema(&mut self.inputs).to_value()
    }

    fn output(&mut self, schema: SchemaFn) -> Value {
        schema(&mut self.outputs).to_value()
    }

    /// The forms of the types that this one names, and of those that they name. Each is made once,
    /// however many operations there are.
    pub(crate) fn forms_in(&mut self, shape: &Shape, compiler: &mut Compiler) -> &Shapes {
        let mut names = Vec::new();
        shape.each_name(&mut |name| names.push(Arc::clone(name)));
        while let Some(name) = names.pop() {
            if self.known.contains_key(&name) {
                continue;
            }
            let taken = self.inputs.definitions().get(&*name);
            if taken.is_some() {
                self.known_inputs.insert(Arc::clone(&name));
            }
            let form = match taken.or_else(|| self.outputs.definitions().get(&*name)) {
                Some(schema) => compiler.schema(schema),
                None => match compiler.inputs.get(&name) {
                    Some(input) => input.clone(),
                    None => continue,
                },
            };
            form.each_name(&mut |name| names.push(Arc::clone(name)));
            self.known.insert(name, form);
        }
        &self.known
    }

    /// The forms of all types. A type that is both taken and given is described as it is taken.
    pub(crate) fn shapes(&mut self, compiler: &mut Compiler) -> Shapes {
        let mut known = std::mem::take(&mut self.known);
        let mut shapes = Shapes::new();
        let definitions = [(self.outputs.definitions(), false), (self.inputs.definitions(), true)];
        for (definitions, taken) in definitions {
            for (name, schema) in definitions {
                let same = self.known_inputs.contains(name.as_str()) == taken;
                let known = known.remove(name.as_str()).filter(|_| same);
                let form = known.unwrap_or_else(|| compiler.schema(schema));
                shapes.insert(Arc::from(name.as_str()), form);
            }
        }
        shapes
            .extend(compiler.inputs.iter().map(|(name, shape)| (Arc::clone(name), shape.clone())));
        shapes
    }

    /// The names of UPDATE inputs that a type of the author's has too.
    pub(crate) fn taken_inputs(&self, compiler: &Compiler) -> Vec<String> {
        let definitions = [self.outputs.definitions(), self.inputs.definitions()];
        compiler
            .inputs
            .keys()
            .filter(|name| definitions.iter().any(|known| known.contains_key(&***name)))
            .map(|name| {
                format!(
                    "type name `{name}` is taken by the input of an UPDATE operation: give your type \
                     another with #[schemars(rename = \"…\")]"
                )
            })
            .collect()
    }

    /// What an operation returns: where it sits inside `data`, and its entry in the details
    /// (REQ-RSP-11, REQ-INT-14).
    pub(crate) fn returns(
        &mut self,
        schema: SchemaFn,
        key: DataKey,
        compiler: &mut Compiler,
    ) -> (Envelope, Members) {
        let schema = self.output(schema);
        let shape = compiler.schema(&schema);
        self.forms_in(&shape, compiler);
        let shapes = std::mem::take(&mut self.known);
        let resolved = shape.resolve(&shapes);
        let name = type_name(&shape, &shapes);
        let named = matches!(shape.kind, Kind::Named(_));
        let auto = match &resolved.kind {
            Kind::Array(_) => Some("items".to_owned()),
            Kind::Object(object) if named && !has_items(object) => Some(snake_case(&name)),
            Kind::Union(_) if named => Some(snake_case(&name)),
            _ => None,
        };
        let usual = matches!(key, DataKey::Auto) && auto.is_some();
        let key = match key {
            DataKey::Auto => auto,
            DataKey::Named(name) => Some(name.to_owned()),
            DataKey::Bare => None,
        };
        let (name, kind) = match &resolved.kind {
            Kind::Array(items) if key.as_deref() == Some("items") => {
                (self.list_of(items, &shapes), "object")
            }
            Kind::Object(_) => (name, "object"),
            Kind::Union(_) if named => (name, "union"),
            Kind::String if named && !resolved.checks.allowed.is_empty() => {
                (shape_name(&shape).unwrap_or(name), "enum")
            }
            _ => (shape_name(&shape).unwrap_or(name), "scalar"),
        };
        // By rule a result is in a member named after its type, and a list in `items`.
        let place = match &key {
            _ if usual => None,
            Some(key) => Some(format!("In data.{key}.")),
            None => Some("As data.".to_owned()),
        };
        let mut returns = Members::new();
        returns.put("name", name);
        returns.put("kind", kind);
        returns.put_some("description", place);
        self.known = shapes;
        (key.map_or(Envelope::Bare, |key| Envelope::Key(Arc::from(key))), returns)
    }

    /// Makes a type for `{"items": […]}`.
    fn list_of(&mut self, items: &Shape, shapes: &Shapes) -> String {
        let item = type_name(items, shapes);
        let mut capital = item.clone();
        if let Some(first) = capital.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let base = format!("{}List", capital.replace(" or ", "Or"));
        let mut element = Members::new();
        describe(items, shapes, &mut element);
        let mut field = Members::new();
        field.put("name", "items");
        field.put("type", "array");
        field.put("required", true);
        field.put("items", element);
        // Lists of integers of different widths, say, are different types of one name: number them.
        let mut name = base.clone();
        let mut number = 1;
        loop {
            let details = object_type(&name, None, vec![field.clone()]);
            if self.made.get(&name).is_none_or(|known| *known == details) {
                self.made.insert(name.clone(), details);
                return name;
            }
            number += 1;
            name = format!("{base}{number}");
        }
    }

    /// Every type in full, by name. Also gives the names that two different types claim.
    pub(crate) fn finish(mut self, shapes: &Shapes) -> (BTreeMap<String, Members>, Vec<String>) {
        let mut all = BTreeMap::new();
        let mut clashes = Vec::new();
        let mut add = |name: String, details: Members, clashes: &mut Vec<String>| {
            if all.get(&name).is_some_and(|known| *known != details) {
                clashes.push(format!(
                    "type name `{name}` is taken: give your type another with #[schemars(rename = \"…\")]"
                ));
            }
            all.insert(name, details);
        };
        for (name, details) in protocol_types() {
            add(name, details, &mut clashes);
        }
        for (name, details) in std::mem::take(&mut self.made) {
            add(name, details, &mut clashes);
        }
        for (name, shape) in shapes {
            for (name, details) in type_details(name, shape, shapes) {
                add(name, details, &mut clashes);
            }
        }
        (all, clashes)
    }
}

fn shape_name(shape: &Shape) -> Option<String> {
    match &shape.kind {
        Kind::Named(name) => Some(name.to_string()),
        _ => None,
    }
}

/// Whether an object is a collection already: it has a list called `items`.
fn has_items(object: &ObjectShape) -> bool {
    object.fields.get("items").is_some_and(|field| matches!(field.shape.kind, Kind::Array(_)))
}

/// An object type in full.
fn object_type(name: &str, description: Option<&str>, fields: Vec<Members>) -> Members {
    let mut details = Members::new();
    details.put("name", name);
    details.put("kind", "object");
    details.put_some("description", description);
    details.put_list("fields", fields);
    details
}

/// A type in full, and the types made for the variants of a union.
fn type_details(name: &str, shape: &Shape, shapes: &Shapes) -> Vec<(String, Members)> {
    let mut details = Members::new();
    let mut more = Vec::new();
    details.put("name", name);
    details.put("kind", "scalar");
    details.put_some("description", shape.description.as_deref().map(prose));
    let resolved = shape.resolve(shapes);
    match &resolved.kind {
        Kind::Object(object) => {
            details.put("kind", "object");
            details.put_list("fields", fields_of(object, shapes));
        }
        Kind::Union(variants) => {
            let members: Vec<_> =
                variants.iter().map(|variant| member(name, variant, shapes, &mut more)).collect();
            details.put("kind", "union");
            details.put("members", members);
        }
        Kind::String if !resolved.checks.allowed.is_empty() => {
            details.put("kind", "enum");
            details.put("values", resolved.checks.allowed.clone());
        }
        _ => {}
    }
    more.insert(0, (name.to_owned(), details));
    more
}

/// A doc comment without what only a Rust reader has use for: code samples and headed sections.
fn prose(description: &str) -> String {
    description
        .lines()
        .take_while(|line| !line.trim_start().starts_with("```") && !line.starts_with("# "))
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// The name of a union's variant; one that has no name of its own gets a type made for it.
fn member(
    union: &str,
    variant: &Shape,
    shapes: &Shapes,
    more: &mut Vec<(String, Members)>,
) -> String {
    let Kind::Object(object) = &variant.kind else {
        return match &variant.kind {
            Kind::String if !variant.checks.allowed.is_empty() => {
                let text: Vec<_> = variant.checks.allowed.iter().map(ToString::to_string).collect();
                text.join(" or ").replace('"', "'")
            }
            _ => type_name(variant, shapes),
        };
    };
    let tag = object
        .fields
        .values()
        .find_map(|field| match field.shape.checks.allowed.as_slice() {
            [Value::String(tag)] => Some(tag.clone()),
            _ => None,
        })
        .or_else(|| object.order.first().cloned())
        .unwrap_or_else(|| "Empty".to_owned());
    let name = format!("{union}{}", pascal_case(&tag));
    more.extend(type_details(&name, variant, shapes));
    name
}

fn fields_of(object: &ObjectShape, shapes: &Shapes) -> Vec<Members> {
    object
        .order
        .iter()
        .filter_map(|name| {
            let field = object.fields.get(name)?;
            Some(field_info(name, &field.shape, field.required, shapes))
        })
        .collect()
}

/// A field in the form of a parameter.
fn field_info(name: &str, shape: &Shape, required: bool, shapes: &Shapes) -> Members {
    let mut info = Members::new();
    info.put("name", name);
    // Their places; `describe` fills the first.
    info.put("type", "any");
    info.put("required", required);
    let mut text = shape.description.as_deref().map(prose).unwrap_or_default();
    if let Some(further) = further_constraints(shape, shapes) {
        text = format!("{text} {further}").trim_start().to_owned();
    }
    if let Kind::Object(object) = &shape.kind
        && let Rest::Each(each) = &object.rest
        && object.fields.is_empty()
    {
        let each = type_name(each, shapes);
        text = format!("{text} Values: {each}.").trim_start().to_owned();
    }
    info.put_some("description", (!text.is_empty()).then_some(text));
    describe(shape, shapes, &mut info);
    info.put_some("sensitive", shape.sensitive.then_some(true));
    info
}

/// The names of the protocol's own types.
#[cfg(feature = "cli")]
pub(crate) fn protocol_type_names() -> std::collections::BTreeSet<String> {
    protocol_types().into_iter().map(|(name, _)| name).collect()
}

/// The protocol's own types (REQ-INT-23).
fn protocol_types() -> Vec<(String, Members)> {
    let object = |name: &str, description: &str, fields: &[(&str, &str, bool)]| {
        let fields = fields
            .iter()
            .map(|(name, kind, required)| {
                let mut field = Members::new();
                field.put("name", *name);
                field.put("type", *kind);
                field.put("required", *required);
                field
            })
            .collect();
        (name.to_owned(), object_type(name, Some(description), fields))
    };
    let mut category = Members::new();
    category.put("name", "SemanticCategory");
    category.put("kind", "enum");
    category.put("description", "What an operation does to stored state.");
    category.put("values", SemanticCategory::ALL.map(SemanticCategory::as_str).to_vec());
    let mut result = Members::new();
    result.put("name", "OperationResult");
    result.put("kind", "union");
    result.put("description", "Every reply.");
    result.put("members", vec!["OperationSuccess", "OperationFailure"]);
    vec![
        ("SemanticCategory".to_owned(), category),
        ("OperationResult".to_owned(), result),
        object(
            "OperationInput",
            "A request: one operation, or a batch in operations.",
            &[("operation", "string", true), ("params", "object", false)],
        ),
        object(
            "OperationSuccess",
            "The reply of an operation that succeeded.",
            &[
                ("success", "boolean", true),
                ("data", "any", true),
                ("warnings", "array", false),
                ("results", "array", false),
                ("summary", "object", false),
            ],
        ),
        object(
            "OperationFailure",
            "The reply of an operation that failed.",
            &[("success", "boolean", true), ("error", "ErrorDetail", true)],
        ),
        object(
            "ErrorDetail",
            "Why an operation failed.",
            &[("code", "string", true), ("message", "string", true), ("details", "object", false)],
        ),
        object(
            "EndpointPermissions",
            "Whether an operation only reads, and whether it removes or overwrites.",
            &[("readOnly", "boolean", true), ("destructive", "boolean", true)],
        ),
    ]
}

/// `TaskBoard` → `task_board`
pub(crate) fn snake_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    let mut before: Option<char> = None;
    let mut letters = name.chars().peekable();
    while let Some(each) = letters.next() {
        if each.is_ascii_uppercase() {
            let new_word = before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase()
                        && letters.peek().is_some_and(char::is_ascii_lowercase))
            });
            if new_word {
                text.push('_');
            }
            text.push(each.to_ascii_lowercase());
        } else if each.is_ascii_alphanumeric() {
            text.push(each);
        } else if !text.ends_with('_') && !text.is_empty() {
            text.push('_');
        }
        before = Some(each);
    }
    text
}

/// `due_date` → `DueDate`
fn pascal_case(name: &str) -> String {
    name.split(|each: char| !each.is_ascii_alphanumeric())
        .filter_map(|word| {
            let mut letters = word.chars();
            let first = letters.next()?;
            Some(first.to_ascii_uppercase().to_string() + letters.as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change_their_case() {
        for (pascal, snake) in [
            ("Task", "task"),
            ("TaskBoard", "task_board"),
            ("HTTPServer", "http_server"),
            ("Page_for_Task", "page_for_task"),
            ("V2Task", "v2_task"),
        ] {
            assert_eq!(snake_case(pascal), snake);
        }
        assert_eq!(pascal_case("due_date"), "DueDate");
    }
}
