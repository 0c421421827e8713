//! The rules of a resource, one function per rule.

use std::collections::BTreeMap;

use darling::error::Accumulator;
use mcp_aql_protocol::is_public_name;
use syn::GenericParam;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::attr;
use super::columns;
use super::lists::FieldPath;
use super::model::{FieldModel, ResourceModel};
use super::{operations_check, references_check};
use crate::support::serde_attr::{
    flatten_fault, name_fault, own_form_fault, same_name_fault, two_names_fault,
};
use crate::support::ty::Kind;
use crate::support::{fault, names};

/// The member of a row that contains its computed fields.
pub(crate) const COMPUTED: &str = "_computed";

/// The logical operators of a filter. No field can have these names.
pub(crate) const GROUPS: [&str; 3] = ["and", "or", "not"];

/// Checks every rule of a resource.
pub(super) fn run(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    one_type(resource, errors);
    own_form(resource, errors);
    names_differ(resource, errors);
    one_identifier(resource, errors);
    for field in &resource.fields {
        if field.hidden {
            hidden(field, errors);
            continue;
        }
        name(field, errors);
        description(field, errors);
        json_form(field, errors);
        protected_once(field, errors);
        if field.column.marks.nested.is_some() {
            nested(field, resource, errors);
        } else {
            columns::check(&field.column, errors);
        }
    }
    presets(resource, errors);
    default_sort(resource, errors);
    relationships(resource, errors);
    operations_check::run(resource, errors);
    references_check::run(resource, errors);
}

/// Rejects generics, because a table belongs to one type, and lifetimes, because rows outlive the request.
fn one_type(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    for parameter in &resource.generics.params {
        let (span, message) = match parameter {
            GenericParam::Lifetime(it) => (
                it.lifetime.span(),
                "a resource cannot borrow: write owned types such as `String`".to_owned(),
            ),
            GenericParam::Type(syn::TypeParam { ident, .. }) => (
                ident.span(),
                format!("a resource cannot be generic: write a type in place of `{ident}`"),
            ),
            GenericParam::Const(syn::ConstParam { ident, .. }) => (
                ident.span(),
                format!("a resource cannot be generic: write a value in place of `{ident}`"),
            ),
        };
        errors.push(fault(span, message));
    }
}

/// Requires that serde writes the fields of the struct as members of an object, because queries name these members.
fn own_form(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let serde = &resource.serde;
    if let Some((option, span)) = serde.written_form.as_ref().or(serde.own_form.as_ref()) {
        errors.push(own_form_fault(resource.ident, option, *span));
    }
    if let Some(span) = serde.two_names {
        errors.push(fault(
            span,
            "fields are read and written under two names: write one, `#[serde(rename_all = \"…\")]`",
        ));
    }
}

/// Rejects two fields with the same name in JSON, and a field with the name of the member for computed fields.
fn names_differ(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let mut seen = BTreeMap::new();
    for field in resource.on_the_wire() {
        let name = &field.column.name;
        if let Some(first) = seen.insert(&name.text, field.ident) {
            errors.push(same_name_fault(field.ident, first, name));
        } else if name.text == COMPUTED {
            errors.push(fault(
                name.span,
                "`_computed` is reserved for computed fields: write another name",
            ));
        }
    }
}

/// Rejects a second identifier.
fn one_identifier(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let mut marked =
        resource.on_the_wire().filter_map(|field| Some((field.ident, field.column.marks.id?)));
    let Some((first, _)) = marked.next() else { return };
    for (second, span) in marked {
        errors.push(fault(
            span,
            format_args!(
                "`{second}` is a second identifier next to `{first}`: leave `id` out on one of them"
            ),
        ));
    }
}

/// Rejects marks on fields outside the JSON form.
fn hidden(field: &FieldModel<'_>, errors: &mut Accumulator) {
    if (field.column.marks.all().next().is_some() || field.references.is_some())
        && let Some(span) = field.attribute
    {
        errors.push(if field.serde.skip {
            attr::hidden_fault(field.ident, span)
        } else {
            fault(
                span,
                format_args!(
                    "`{}` is not in any result because of `#[serde(skip_serializing)]`: leave `#[resource(…)]` out",
                    field.ident
                ),
            )
        });
    }
}

/// Requires snake_case names for the fields that queries use. The logical operators of the filter language are
/// rejected.
fn name(field: &FieldModel<'_>, errors: &mut Accumulator) {
    let marks = &field.column.marks;
    let name = &field.column.name;
    if !marks.is_queried() || name.text == COMPUTED {
        return;
    }
    if let Some(error) = name_fault(field.ident, name, ", or leave its marks out") {
        errors.push(error);
    } else if GROUPS.contains(&name.text.as_str()) && marks.filter.or(marks.nested).is_some() {
        errors.push(logical_operator_name(&name.text, name.span, "#[serde(rename = \"…\")]"));
    }
}

/// Returns the error for a filterable field with the name of a logical operator.
pub(crate) fn logical_operator_name(
    name: &str,
    span: proc_macro2::Span,
    remedy: &str,
) -> darling::Error {
    fault(
        span,
        format_args!(
            "`{name}` combines conditions in a filter and cannot be the name of a field there: write another name, `{remedy}`, or leave `filter` out"
        ),
    )
}

/// Requires a description, because introspection shows it.
fn description(field: &FieldModel<'_>, errors: &mut Accumulator) {
    let ident = field.ident;
    errors.extend(field.doc.fault("field", &ident.to_string(), ident.span()));
}

/// Requires that the JSON value of a field has the form that its type implies.
fn json_form(field: &FieldModel<'_>, errors: &mut Accumulator) {
    let ident = field.ident;
    if let Some(span) = field.serde.flatten {
        errors.push(flatten_fault(ident, "a query", span));
    }
    if let Some((option, span)) = &field.serde.written_form {
        errors.push(fault(
            *span,
            format_args!(
                "`#[serde({option})]` writes `{ident}` in another form than its type: write a type that implements `Serialize` that way",
            ),
        ));
    }
    if let Some(span) = field.serde.two_names {
        errors.push(two_names_fault(ident, span));
    }
}

/// Rejects `read_only` on an identifier, because identifiers are always read-only.
fn protected_once(field: &FieldModel<'_>, errors: &mut Accumulator) {
    let marks = &field.column.marks;
    if let (Some(_), Some(span)) = (marks.id, marks.read_only) {
        errors.push(attr::read_only_id_fault(field.ident, span));
    }
}

/// Rejects other marks on a nested field. The fields inside it have marks of their own.
fn nested(field: &FieldModel<'_>, resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let ident = field.ident;
    let marks = &field.column.marks;
    for (mark, span) in marks.all().filter(|(mark, _)| !["nested", "read_only"].contains(mark)) {
        errors.push(fault(
            span,
            format_args!(
                "`{ident}` is nested, so the marks belong on its own fields: leave `{mark}` out"
            ),
        ));
    }
    let Some(span) = marks.nested else { return };
    let inner = field.inner();
    let kind = Kind::of(inner);
    if let Some(noun) = kind.noun() {
        errors.push(fault(
            span,
            format_args!(
                "`nested` is for a field that holds another resource, or an `Option` of one, and `{ident}` is {noun}: leave it out"
            ),
        ));
    } else if crate::support::ty::last_segment(inner)
        .is_some_and(|it| it.ident == *resource.ident || it.ident == "Self")
    {
        errors.push(fault(
            inner.span(),
            format_args!(
                "`{ident}` contains its own resource, so its paths would never end: leave `nested` out"
            ),
        ));
    }
}

/// Requires that each preset has a unique name and lists existing fields (REQ-FLD-02).
fn presets(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let mut seen = Vec::new();
    for preset in &resource.presets.0 {
        let name = preset.name.unraw().to_string();
        if !is_public_name(&name) {
            errors.push(fault(
                preset.name.span(),
                format_args!(
                    "preset `{name}` is not snake_case: write `{}`",
                    names::to_snake_case(&name)
                ),
            ));
        } else if seen.contains(&name) {
            errors.push(fault(
                preset.name.span(),
                format_args!("two presets are called `{name}`: write another name for one of them"),
            ));
        }
        let mut paths = Vec::new();
        for path in &preset.paths {
            let text = path.to_string();
            if known(path, &format!("preset `{name}`"), resource, errors).is_some()
                && paths.contains(&text)
            {
                errors.push(fault(
                    path.span,
                    format_args!("preset `{name}` names `{text}` twice: keep one"),
                ));
            }
            paths.push(text);
        }
        seen.push(name);
    }
}

/// The field that a path leads to.
enum PathTarget<'f, 'a> {
    Field(&'f FieldModel<'a>),
    /// A computed field, or a target inside another type. The build of the adapter checks it.
    Beyond,
}

/// Resolves a path to a field. An unknown path is reported as an error.
fn known<'f, 'a>(
    path: &FieldPath,
    who: &str,
    resource: &'f ResourceModel<'a>,
    errors: &mut Accumulator,
) -> Option<PathTarget<'f, 'a>> {
    let first = path.segments.first().map(String::as_str).unwrap_or_default();
    if path.segments.iter().any(String::is_empty) {
        errors.push(fault(
            path.span,
            format_args!(
                "`{path}` is not the path of a field: write one, such as `title` or `metadata.owner`"
            ),
        ));
        return None;
    }
    if first == COMPUTED {
        return Some(PathTarget::Beyond);
    }
    let Some(field) = resource.field(first) else {
        errors.push(fault(
            path.span,
            format_args!(
                "{who} names `{first}`, which is not a field: {}",
                suggest_field(first, resource)
            ),
        ));
        return None;
    };
    if path.segments.len() == 1 {
        return Some(PathTarget::Field(field));
    }
    if let Some(noun) = field.column.kind().noun().filter(|_| !has_members(&field.column.kind())) {
        errors.push(fault(
            path.span,
            format_args!("{who} names `{path}`, and `{first}` is {noun}: write `{first}`"),
        ));
        return None;
    }
    Some(PathTarget::Beyond)
}

/// Returns `true` if values of this kind may contain fields.
fn has_members(kind: &Kind) -> bool {
    match kind {
        Kind::Object | Kind::Unknown => true,
        Kind::List(inner) => has_members(inner),
        _ => false,
    }
}

/// Suggests a field for an unknown name.
fn suggest_field(name: &str, resource: &ResourceModel<'_>) -> String {
    // The Rust name of a field may differ from its JSON name.
    if let Some(field) = resource.on_the_wire().find(|field| field.ident.unraw() == name) {
        return format!("write `{}`, its name in JSON", field.column.name.text);
    }
    let known: Vec<_> =
        resource.on_the_wire().map(|field| field.column.name.text.as_str()).collect();
    if known.is_empty() {
        return "leave it out, because the resource has no fields".to_owned();
    }
    names::suggestion(name, known.iter().copied())
}

/// Requires that the default order uses sortable fields (REQ-COL-05).
fn default_sort(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let mut seen = Vec::new();
    for key in &resource.default_sort.0 {
        let text = key.path.to_string();
        if let Some(PathTarget::Field(field)) = known(&key.path, "`default_sort`", resource, errors)
            && field.column.marks.sort.is_none()
            && !field.column.marks.unclear
        {
            errors.push(fault(
                key.path.span,
                format_args!(
                    "`default_sort` names `{text}`, which is not marked: write `#[resource(sort)]` above it"
                ),
            ));
        } else if seen.contains(&text) {
            errors.push(fault(
                key.path.span,
                format_args!("`default_sort` names `{text}` twice: keep one"),
            ));
        }
        seen.push(text);
    }
}

/// Requires that relationship types have unique snake_case names (REQ-REL-05).
fn relationships(resource: &ResourceModel<'_>, errors: &mut Accumulator) {
    let mut seen = Vec::new();
    for relationship in &resource.relationships.0 {
        let name = relationship.name.unraw().to_string();
        if !is_public_name(&name) {
            errors.push(fault(
                relationship.name.span(),
                format_args!(
                    "relationship `{name}` is not snake_case: write `{}`",
                    names::to_snake_case(&name)
                ),
            ));
        } else if seen.contains(&name) {
            errors.push(fault(
                relationship.name.span(),
                format_args!(
                    "two relationships are called `{name}`: write another name for one of them"
                ),
            ));
        }
        seen.push(name);
    }
}
