//! Renders a parameter for `introspect`.

use crate::error::warning::Deprecation;
use crate::observe::redact::without_secrets;
use crate::operation::Parameter;
use crate::schema::shape::{Kind, Members, Shapes, describe, further_constraints};

/// Renders a parameter with all its constraints (REQ-INT-13, REQ-INT-21, REQ-INT-25).
///
/// ```json
/// {
///   "name": "title", "type": "string", "required": true, "description": "The title.",
///   "minLength": 1, "maxLength": 200
/// }
/// ```
pub(super) fn parameter_info(parameter: &Parameter, shapes: &Shapes) -> Members {
    let spec = &parameter.spec;
    let mut info = Members::new();
    info.put("name", spec.name);
    // `put` keeps the order of members. The type is inserted here so that it comes second; `describe` sets its value.
    info.put("type", "any");
    info.put("required", spec.required);
    let mut text = parameter.description().trim().to_owned();
    // The description of an UPDATE's input type lists its fields. It is more useful than that of the parameter.
    if let Kind::Object(object) = &parameter.shape.kind
        && object.merge.is_some()
        && let Some(description) = &parameter.shape.description
    {
        text.clone_from(description);
    }
    if let Some(further) = further_constraints(&parameter.shape, shapes) {
        text = format!("{text} {further}").trim_start().to_owned();
    }
    let text = with_notice(text, spec.deprecated.as_ref());
    info.put_some("description", (!text.is_empty()).then_some(text));
    let default = parameter.default.as_ref().filter(|_| !spec.sensitive);
    let default = default.and_then(|it| without_secrets(it, &parameter.shape, shapes));
    info.put_some("default", default.cloned());
    describe(&parameter.shape, shapes, &mut info);
    if let Some(name) = &parameter.type_name {
        info.put("type", name.as_str());
    }
    info.put_some("sensitive", spec.sensitive.then_some(true));
    info
}

/// Appends the deprecation notice (REQ-INT-32).
pub(super) fn with_notice(mut text: String, deprecation: Option<&Deprecation>) -> String {
    if let Some(deprecation) = deprecation {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&deprecation.notice());
    }
    text
}
