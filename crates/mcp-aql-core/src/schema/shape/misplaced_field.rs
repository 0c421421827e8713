//! Finds the objects that have a field with a certain name, for hints about misplaced fields.

use super::{Kind, ObjectShape, Shape, Shapes};

/// Maximum depth of a search. The limit is needed because a type may contain itself.
const MAX_DEPTH: usize = 6;
/// Maximum number of objects visited by a search.
const MAX_VISITS: usize = 500;

/// Returns the paths of all objects inside the value at `path` that have a field with this name, for example
/// `order.address` or `items[]`.
pub(crate) fn objects_with_field(
    shape: &Shape,
    path: &str,
    name: &str,
    shapes: &Shapes,
) -> Vec<String> {
    let mut search = Search { name, shapes, found: Vec::new(), visits: 0 };
    search.value(shape, path, 0);
    search.found
}

/// Returns the path from an object to the only object inside it that has this field. Returns `None` if there are
/// several.
pub(super) fn only_object_with_field(
    object: &ObjectShape,
    name: &str,
    shapes: &Shapes,
) -> Option<String> {
    let mut search = Search { name, shapes, found: Vec::new(), visits: 0 };
    search.inside(object, "", 0);
    match search.found.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

struct Search<'a> {
    name: &'a str,
    shapes: &'a Shapes,
    found: Vec<String>,
    visits: usize,
}

impl Search<'_> {
    fn value(&mut self, shape: &Shape, path: &str, depth: usize) {
        if depth > MAX_DEPTH || self.visits >= MAX_VISITS {
            return;
        }
        self.visits += 1;
        let shapes = self.shapes;
        match &shape.resolve(shapes).kind {
            Kind::Array(items) => self.value(items, &format!("{path}[]"), depth + 1),
            Kind::Union(variants) => {
                variants.iter().for_each(|variant| self.value(variant, path, depth + 1));
            }
            Kind::Object(object) => {
                let is_new = !self.found.iter().any(|known| known == path);
                if object.fields.contains_key(self.name) && is_new {
                    self.found.push(path.to_owned());
                }
                self.inside(object, path, depth);
            }
            _ => {}
        }
    }

    fn inside(&mut self, object: &ObjectShape, path: &str, depth: usize) {
        for name in &object.order {
            let Some(field) = object.fields.get(name) else { continue };
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            self.value(&field.shape, &path, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Compiler;
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_found_in_objects_lists_and_unions() {
        let point = json!({"type": "object", "properties": {"x": {"type": "number"}}});
        let shape = Compiler::default().schema(&json!({
            "type": "object",
            "properties": {
                "at": point,
                "all": {"type": "array", "items": point},
                "one": {"oneOf": [point, {"type": "string"}]},
            },
        }));
        let found = objects_with_field(&shape, "p", "x", &Shapes::new());
        assert_eq!(found, ["p.all[]", "p.at", "p.one"]);
        assert!(objects_with_field(&shape, "p", "y", &Shapes::new()).is_empty());
    }

    #[test]
    fn a_type_that_contains_itself_is_searched_to_a_limit() {
        let tree = Compiler::default().schema(&json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/Tree"}},
        }));
        let shapes = Shapes::from([("Tree".into(), tree.clone())]);
        let found = objects_with_field(&tree, "t", "name", &shapes);
        assert_eq!(found.first().map(String::as_str), Some("t"));
        assert!(found.len() <= MAX_DEPTH + 1);
    }
}
