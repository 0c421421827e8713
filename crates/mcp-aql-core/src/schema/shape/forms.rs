//! The forms that a value can have: the variants of unions, without names.

use std::sync::LazyLock;

use serde_json::Value;

use super::union::{MAX_UNIONS, add_variants};
use super::{Checks, Faults, Kind, Path, Rest, Shape, Shapes, type_name};
use crate::schema::constraint::Constraint;

/// One form of a value.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    pub(crate) shape: &'a Shape,
    /// The checks of the union with this variant. If there is no union, those of the shape.
    union: &'a Checks,
}

impl Form<'_> {
    /// Returns `true` if values of this form are numbers, or strings with a number.
    pub(crate) fn is_numeric(&self) -> bool {
        /// Strings that a pattern for numbers does not match.
        const OTHERS: [&str; 4] = ["", "a", "1a", "a1"];
        let patterns = || self.shape.checks.patterns.iter().chain(&self.union.patterns);
        match self.shape.kind {
            Kind::Integer | Kind::Number => true,
            Kind::String => OTHERS.iter().all(|text| patterns().any(|it| !it.is_match(text))),
            _ => false,
        }
    }
}

impl Shape {
    /// Returns the forms of a value other than `null`.
    pub(crate) fn forms<'a>(&'a self, shapes: &'a Shapes) -> Vec<Form<'a>> {
        let mut forms = Vec::new();
        add_variants(std::slice::from_ref(self), shapes, MAX_UNIONS, &mut forms);
        let union = &self.resolve(shapes).checks;
        let forms = forms.into_iter().map(|form| Form { shape: form.resolve(shapes), union });
        forms.filter(|form| !matches!(form.shape.kind, Kind::Null)).collect()
    }

    /// Returns `true` if the shape accepts a value.
    pub(crate) fn accepts(&self, value: &Value, shapes: &Shapes) -> bool {
        Faults::accepts(self, value, Path::Root("value"), shapes)
    }

    /// Returns the forms at a path inside a value. An open object has any form there.
    pub(crate) fn forms_at<'a, 'p>(
        &'a self,
        path: impl Iterator<Item = &'p str>,
        shapes: &'a Shapes,
    ) -> Vec<Form<'a>> {
        static ANY: LazyLock<Shape> = LazyLock::new(Shape::default);
        let any = || Form { shape: &ANY, union: &ANY.checks };
        path.fold(self.forms(shapes), |forms, name| {
            let mut inside = Vec::new();
            for form in forms {
                match &form.shape.kind {
                    Kind::Any => inside.push(any()),
                    Kind::Object(object) => {
                        inside.extend(object.forms_of(name).flat_map(|form| form.forms(shapes)));
                        if inside.is_empty() && matches!(object.rest, Rest::Open) {
                            inside.push(any());
                        }
                    }
                    _ => {}
                }
            }
            inside
        })
    }
}

impl Constraint {
    /// Returns the keyword of the constraint, the values that it restricts, and the first form that is none of them.
    fn misfit<'a>(
        &self,
        shape: &'a Shape,
        shapes: &'a Shapes,
    ) -> Option<(&'static str, &'static str, &'a Shape)> {
        let number: fn(&Form<'_>) -> bool = |form| form.is_numeric();
        let text: fn(&Form<'_>) -> bool = |form| matches!(form.shape.kind, Kind::String);
        let list: fn(&Form<'_>) -> bool =
            |form| matches!(form.shape.kind, Kind::Array(_) | Kind::Tuple(_));
        let (keyword, fits, values) = match self {
            Self::Minimum(_) => ("minimum", number, "numbers"),
            Self::Maximum(_) => ("maximum", number, "numbers"),
            Self::MinLength(_) => ("min_length", text, "strings"),
            Self::MaxLength(_) => ("max_length", text, "strings"),
            Self::Pattern(_) => ("pattern", text, "strings"),
            Self::Format(_) => ("format", text, "strings"),
            Self::MinItems(_) => ("min_items", list, "lists"),
            Self::MaxItems(_) => ("max_items", list, "lists"),
            Self::Enum(_) => return None,
        };
        let mut forms = shape.forms(shapes).into_iter();
        forms.find(|form| !fits(form)).map(|form| (keyword, values, form.shape))
    }
}

/// Describes a constraint that does not apply to all values of a shape. The result completes the sentence "It has …".
pub(crate) fn misfit_problem(
    constraint: &Constraint,
    shape: &Shape,
    shapes: &Shapes,
) -> Option<String> {
    let (keyword, values, form) = constraint.misfit(shape, shapes)?;
    let kind = type_name(form, shapes);
    Some(format!(
        "the constraint `{keyword}`, which is for {values}, but a value can have the type `{kind}`: remove the \
         constraint, or use another type"
    ))
}

/// Returns the names of types whose values would contain themselves, without a list or an object between:
///
/// ```text
/// #[serde(untagged)]
/// enum Condition { Not(Box<Condition>), Text(String) }
/// ```
///
/// Checking such a value, and decoding it, would never end.
pub(crate) fn endless_types(shapes: &Shapes) -> Vec<&str> {
    fn inside<'a>(shape: &'a Shape, found: &mut Vec<&'a str>) {
        match &shape.kind {
            Kind::Named(name) => found.push(name),
            Kind::Union(variants) => variants.iter().for_each(|variant| inside(variant, found)),
            _ => {}
        }
    }
    let is_endless = |name: &&str| {
        let (mut seen, mut left) = (Vec::new(), vec![*name]);
        while let Some(next) = left.pop() {
            let mut found = Vec::new();
            shapes.get(next).into_iter().for_each(|shape| inside(shape, &mut found));
            if found.contains(name) {
                return true;
            }
            found.retain(|other| !seen.contains(other));
            seen.extend(&found);
            left.append(&mut found);
        }
        false
    };
    let mut names: Vec<&str> = shapes.keys().map(|name| &**name).filter(is_endless).collect();
    names.sort_unstable();
    names
}
