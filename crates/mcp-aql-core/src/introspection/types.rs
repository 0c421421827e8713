//! Collects and describes the types of all operations.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use mcp_aql_protocol::snake_case;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::Value;

use super::json_schema::adopt;
use super::object_forms::resolved;
use super::protocol_types::protocol_types;
use super::type_details::{object_type, type_details};
use super::unrepresentable_types::{Direction, UncarriedTypes};
use crate::operation::{DataKey, Envelope};
use crate::paging::DATA_MARK;
use crate::schema::shape::{Compiler, Kind, Members, Shape, Shapes, describe, type_name};
use crate::schema::spec::{ParameterSpec, ReturnsSpec, SchemaFn};

/// Collects the types of all parameters and results from their JSON schemas, so that introspection describes every
/// type once (REQ-INT-16 to REQ-INT-18, REQ-INT-22).
pub struct TypeRegistry {
    inputs: SchemaGenerator,
    outputs: SchemaGenerator,
    /// Generated types without a Rust type: lists of results, and inputs of updates.
    made: BTreeMap<String, Members>,
    /// Shapes compiled until now.
    known: Shapes,
    /// Names of the compiled shapes that came from `inputs`.
    known_inputs: HashSet<Arc<str>>,
    uncarried: UncarriedTypes,
}

impl Default for TypeRegistry {
    fn default() -> Self {
        let settings = SchemaSettings::draft2020_12;
        Self {
            inputs: settings().for_deserialize().into_generator(),
            outputs: settings().for_serialize().into_generator(),
            made: BTreeMap::new(),
            known: Shapes::new(),
            known_inputs: HashSet::new(),
            uncarried: UncarriedTypes::default(),
        }
    }
}

impl TypeRegistry {
    /// Returns the schema of a parameter's type, and registers the types inside it.
    pub fn input(&mut self, schema: SchemaFn) -> Value {
        self.examined_input(schema).0
    }

    /// Returns the schema of a parameter's type, and what is wrong with the type if it has no name. Problems of named
    /// types are reported by [`finish`](Self::finish).
    fn examined_input(&mut self, schema: SchemaFn) -> (Value, Option<&'static str>) {
        let schema = schema(&mut self.inputs).to_value();
        let definitions = self.inputs.definitions();
        let problem = self.uncarried.examine(&schema, definitions, Direction::Sent);
        (resolved(&schema, definitions).into_owned(), problem)
    }

    /// Returns the schema of a parameter and what is wrong with its type. Also registers the types inside it.
    pub(crate) fn parameter(&mut self, parameter: &ParameterSpec) -> (Value, Option<&'static str>) {
        match parameter.json_schema {
            Some(schema) => {
                let schema = adopt(schema, self.inputs.definitions_mut());
                (resolved(&schema, self.inputs.definitions()).into_owned(), None)
            }
            None => self.examined_input(parameter.schema),
        }
    }

    /// Returns the schema of a result's type, and registers the types inside it.
    pub fn output(&mut self, schema: SchemaFn) -> Value {
        let schema = schema(&mut self.outputs).to_value();
        let definitions = self.outputs.definitions();
        self.uncarried.examine(&schema, definitions, Direction::Received);
        resolved(&schema, definitions).into_owned()
    }

    /// Compiles the shapes of all types that this shape references, directly or indirectly. Each type is compiled
    /// only once, however many operations use it.
    pub fn forms_in(&mut self, shape: &Shape, compiler: &mut Compiler) -> &Shapes {
        let mut names = Vec::new();
        shape.each_name(&mut |name| names.push(Arc::clone(name)));
        while let Some(name) = names.pop() {
            if self.known.contains_key(&name) {
                continue;
            }
            let is_input = self.inputs.definitions().contains_key(&*name);
            if is_input {
                self.known_inputs.insert(Arc::clone(&name));
            }
            let generator = if is_input { &self.inputs } else { &self.outputs };
            let definitions = generator.definitions();
            let form = match definitions.get(&*name) {
                Some(schema) => compiler.schema(&resolved(schema, definitions)),
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

    /// Compiles the shapes of all types. If a type is used for a parameter and for a result, the shape is that of the
    /// parameter.
    pub(crate) fn shapes(&mut self, compiler: &mut Compiler) -> Shapes {
        let mut known = std::mem::take(&mut self.known);
        let mut shapes = Shapes::new();
        let definitions = [(self.outputs.definitions(), false), (self.inputs.definitions(), true)];
        for (definitions, taken) in definitions {
            for (name, schema) in definitions {
                let same = self.known_inputs.contains(name.as_str()) == taken;
                let known = known.remove(name.as_str()).filter(|_| same);
                let form = known.unwrap_or_else(|| compiler.schema(&resolved(schema, definitions)));
                shapes.insert(Arc::from(name.as_str()), form);
            }
        }
        shapes
            .extend(compiler.inputs.iter().map(|(name, shape)| (Arc::clone(name), shape.clone())));
        shapes
    }

    /// Reports UPDATE inputs whose names are also names of the author's types.
    pub(crate) fn taken_inputs(&self, compiler: &Compiler) -> Vec<String> {
        let definitions = [self.outputs.definitions(), self.inputs.definitions()];
        compiler
            .inputs
            .keys()
            .filter(|name| definitions.iter().any(|known| known.contains_key(&***name)))
            .map(|name| {
                format!(
                    "type name `{name}` is used for the input of an UPDATE operation: give your type another \
                     name with #[schemars(rename = \"…\")]"
                )
            })
            .collect()
    }

    /// Returns the location of an operation's result inside `data`, and the entry that describes it (REQ-RSP-11,
    /// REQ-INT-14).
    pub(crate) fn returns(
        &mut self,
        returns: ReturnsSpec,
        key: DataKey,
        compiler: &mut Compiler,
    ) -> (Envelope, Members) {
        let schema = match returns.json_schema() {
            Some(schema) => {
                let schema = adopt(schema, self.outputs.definitions_mut());
                resolved(&schema, self.outputs.definitions()).into_owned()
            }
            None => self.output(returns.schema()),
        };
        let shape = compiler.schema(&schema);
        self.forms_in(&shape, compiler);
        let serialized = self.serialized(&shape, compiler);
        let shapes = std::mem::take(&mut self.known);
        let resolved = serialized.resolve(&shapes);
        let name = type_name(&shape, &shapes);
        let named = matches!(shape.kind, Kind::Named(_));
        let auto = self.usual_key(returns, &shape, resolved);
        let has_usual_kind = match &resolved.kind {
            Kind::Array(_) => true,
            Kind::Object(_) | Kind::Union(_) => named,
            _ => false,
        };
        let usual = matches!(key, DataKey::Auto) && auto.is_some() && has_usual_kind;
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
        // By default a result is a member named after its type, and a list is the member `items`. Only exceptions are
        // described.
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

    /// Returns the shape in which a result is serialized. The registered shape can differ: a type also used for a
    /// parameter is registered as the parameter.
    fn serialized(&self, shape: &Shape, compiler: &mut Compiler) -> Shape {
        let Kind::Named(name) = &shape.kind else { return shape.clone() };
        let definitions = self.outputs.definitions();
        match definitions.get(&**name) {
            Some(schema) if self.known_inputs.contains(name) => {
                compiler.schema(&resolved(schema, definitions))
            }
            _ => shape.clone(),
        }
    }

    /// Returns the default key of a result inside `data`: `items` for a list, and otherwise the name of a type with
    /// fields.
    fn usual_key(&self, returns: ReturnsSpec, shape: &Shape, resolved: &Shape) -> Option<String> {
        let name = match &shape.kind {
            Kind::Named(name) => Some(&**name),
            _ => None,
        };
        match &resolved.kind {
            Kind::Array(_) => Some("items".to_owned()),
            Kind::Object(object) => match name {
                Some(name) => (!self.is_whole_data(name)).then(|| snake_case(name)),
                // The schema of a struct can also be inline. The schema of a map can be inline too, but lists no
                // fields.
                None if object.fields.is_empty() || returns.json_schema().is_some() => None,
                None => Some(snake_case(&returns.name())),
            },
            Kind::Union(_) | Kind::Tuple(_) => name.map(snake_case),
            _ => None,
        }
    }

    /// Returns `true` if a value of this type is the whole `data` of a reply, as a [`Page`](crate::Page) is.
    ///
    /// The mark contains the name of the type, because a struct that flattens a page inherits the mark. A name shared
    /// by several types ends in a number. This number is ignored here.
    fn is_whole_data(&self, name: &str) -> bool {
        let schema = self.outputs.definitions().get(name);
        let mark = schema.and_then(|schema| schema.get(DATA_MARK)).and_then(Value::as_str);
        let rest = mark.and_then(|mark| name.strip_prefix(mark));
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Adds a generated type. Reports a problem if another type was generated under the same name.
    pub(crate) fn make(&mut self, name: String, details: Members, problems: &mut Vec<String>) {
        if self.made.get(&name).is_some_and(|known| *known != details) {
            problems.push(format!(
                "the queries of `{name}` accept different parameters in different operations: give them the \
                 same `backend` and `without`, or give one of the resources another name with \
                 #[schemars(rename = \"…\")]"
            ));
        }
        self.made.insert(name, details);
    }

    /// Generates the type `{"items": […]}` of a list, and returns its name.
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
        // Different lists can have the same name, for example lists of integers with different widths. They get
        // numbers.
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

    /// Returns the full entries of all types by name, and the problems. A problem is a name claimed by two different
    /// types, or a type whose values JSON cannot represent.
    pub(crate) fn finish(mut self, shapes: &Shapes) -> (BTreeMap<String, Members>, Vec<String>) {
        let mut all = BTreeMap::new();
        let mut clashes = std::mem::take(&mut self.uncarried.problems);
        let mut add = |name: String, details: Members, clashes: &mut Vec<String>| {
            if all.get(&name).is_some_and(|known| *known != details) {
                clashes.push(format!(
                    "type name `{name}` is used by another type: give your type another name with \
                     #[schemars(rename = \"…\")]"
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
