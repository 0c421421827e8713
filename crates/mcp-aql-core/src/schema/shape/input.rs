//! Compiles the inputs of UPDATE operations, and applies the constraints of resources to their types.

use std::sync::Arc;

use serde_json::Value;

use super::compile::Compiler;
use super::forms::misfit_problem;
use super::{FieldShape, Kind, MergeRules, ObjectShape, Rest, Shape, Shapes};
use crate::schema::spec::{InputFieldSpec, InputSpec, Merge, SchemaFn};

impl Compiler {
    /// Returns the shape of an UPDATE operation's `input`.
    pub(crate) fn input(
        &mut self,
        spec: &InputSpec,
        schema_of: &mut dyn FnMut(SchemaFn) -> Value,
    ) -> Shape {
        let name = self.input_name(spec, schema_of);
        self.inputs.get(&name).cloned().unwrap_or_default()
    }

    /// Compiles the input of a resource and returns its name. The name is registered before the fields are compiled,
    /// so that a resource may contain itself.
    fn input_name(
        &mut self,
        spec: &InputSpec,
        schema_of: &mut dyn FnMut(SchemaFn) -> Value,
    ) -> Arc<str> {
        let name: Arc<str> = input_name(&schema_of(spec.schema)).into();
        if self.inputs.contains_key(&name) {
            return name;
        }
        self.inputs.insert(Arc::clone(&name), Shape::default());
        self.resources.push((resource_name(&schema_of(spec.schema)).into(), *spec));
        let mut object = ObjectShape {
            merge: Some(MergeRules { identifiers: spec.identifiers, read_only: spec.read_only }),
            ..ObjectShape::default()
        };
        for field in spec.fields {
            let shape = self.field(field, schema_of);
            let name = field.parameter.name.to_owned();
            object.order.push(name.clone());
            object.fields.insert(name, FieldShape { shape, required: false, default: None });
        }
        let mut shape = Shape::of(Kind::Object(Box::new(object)));
        shape.description =
            Some("Fields to update. Omitted fields stay unchanged; objects merge.".to_owned());
        self.inputs.insert(Arc::clone(&name), shape);
        name
    }

    /// Registers a resource that no operation updates. [`overlay_resources`](Self::overlay_resources) then applies
    /// its constraints, and those of the resources inside it.
    pub(crate) fn add_resource(
        &mut self,
        spec: &InputSpec,
        schema_of: &mut dyn FnMut(SchemaFn) -> Value,
    ) {
        let name: Arc<str> = resource_name(&schema_of(spec.schema)).into();
        if self.resources.iter().any(|(known, _)| *known == name) {
            return;
        }
        self.resources.push((name, *spec));
        for field in spec.fields {
            let mut merge = field.merge;
            while let Merge::Keys(element) = merge {
                merge = element.merge;
            }
            if let Merge::Fields(nested) = merge {
                self.add_resource(&nested(), schema_of);
            }
        }
    }

    /// Applies the constraints of resources to the shapes of their types. A field is then checked and described in
    /// the same way wherever its type occurs.
    ///
    /// A type flattened into another one is only recognizable by its fields. If all of them are present, its
    /// sensitive fields are treated as sensitive there, too.
    pub(crate) fn overlay_resources<'a>(
        &mut self,
        shapes: &'a mut Shapes,
        others: impl IntoIterator<Item = &'a mut Shape>,
    ) {
        let mut secrets = Vec::new();
        for (name, spec) in std::mem::take(&mut self.resources) {
            self.check_fields(&name, &spec, shapes);
            let Some(Shape { kind: Kind::Object(object), .. }) = shapes.get_mut(&name) else {
                continue;
            };
            for field in spec.fields {
                if let Some(known) = object.fields.get_mut(field.parameter.name) {
                    self.constrain(&mut known.shape, field.parameter.constraints);
                    known.shape.sensitive |= field.parameter.sensitive;
                }
            }
            let secret: Vec<_> = spec.fields.iter().filter(|it| it.parameter.sensitive).collect();
            if !secret.is_empty() {
                secrets.push((object.order.clone(), secret));
            }
        }
        if secrets.is_empty() {
            return;
        }
        for shape in shapes.values_mut().chain(others) {
            shape.each_object(&mut |object| {
                for (names, secret) in &secrets {
                    if !names.iter().all(|name| object.fields.contains_key(name)) {
                        continue;
                    }
                    for field in secret {
                        if let Some(field) = object.fields.get_mut(field.parameter.name) {
                            field.shape.sensitive = true;
                        }
                    }
                }
            });
        }
    }

    /// Reports constraints of a resource's fields that do not apply to all values of the field.
    fn check_fields(&mut self, name: &str, spec: &InputSpec, shapes: &Shapes) {
        let Some(Shape { kind: Kind::Object(object), .. }) = shapes.get(name) else { return };
        for InputFieldSpec { parameter, .. } in spec.fields {
            let Some(field) = object.fields.get(parameter.name) else { continue };
            let misfits = parameter.constraints.iter();
            let misfits = misfits.filter_map(|it| misfit_problem(it, &field.shape, shapes));
            self.problems.extend(
                misfits.map(|problem| {
                    format!("type `{name}`: field `{}` has {problem}", parameter.name)
                }),
            );
        }
    }

    fn field(
        &mut self,
        field: &InputFieldSpec,
        schema_of: &mut dyn FnMut(SchemaFn) -> Value,
    ) -> Shape {
        let mut shape = self.merging(field.merge, field.parameter.schema, schema_of);
        self.constrain(&mut shape, field.parameter.constraints);
        shape.nullable = field.removable;
        shape.sensitive = field.parameter.sensitive;
        let mut description = field.parameter.description.to_owned();
        if let Some(deprecation) = &field.parameter.deprecated {
            description = format!("{description} {}", deprecation.notice());
        }
        if field.removable {
            description.push_str(" Null removes it.");
        }
        shape.description = Some(description);
        shape
    }

    /// Returns the shape of a value with this merge rule.
    fn merging(
        &mut self,
        merge: Merge,
        schema: SchemaFn,
        schema_of: &mut dyn FnMut(SchemaFn) -> Value,
    ) -> Shape {
        match merge {
            Merge::Fields(nested) => Shape::of(Kind::Named(self.input_name(&nested(), schema_of))),
            Merge::Keys(element) => {
                let mut each = self.merging(element.merge, element.schema, schema_of);
                // `null` removes a key.
                each.nullable = true;
                let map = schema_of(schema);
                let keys = match self.schema(&map).kind {
                    Kind::Object(map) => map.keys,
                    _ => Vec::new(),
                };
                Shape::of(Kind::Object(Box::new(ObjectShape {
                    rest: Rest::Each(Box::new(each)),
                    keys,
                    merge: Some(MergeRules::default()),
                    ..ObjectShape::default()
                })))
            }
            Merge::Replace | Merge::Json => {
                let schema = schema_of(schema);
                self.schema(&schema)
            }
        }
    }
}

/// Returns the name of a resource's input: `TaskUpdate` for a `Task`.
pub fn input_name(schema: &Value) -> String {
    format!("{}Update", resource_name(schema))
}

fn resource_name(schema: &Value) -> String {
    let path = schema.get("$ref").and_then(Value::as_str).unwrap_or("Resource");
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
