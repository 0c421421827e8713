//! The forms of query parameters, as messages show them.

use super::{QuerySurface, noun};
use crate::field_info::FieldInfo;
use crate::value::ValueKind;

/// The maximum number of keys in the form of a filter.
const MAX_FORM_KEYS: usize = 8;

/// The form of a filter in messages.
pub(crate) fn filter_form(surface: &QuerySurface<'_>) -> String {
    let fields: Vec<_> =
        surface.table.fields.iter().filter(|field| surface.filters(field)).collect();
    let key = |field: &&FieldInfo| {
        let name = &field.path;
        let name = if name.contains('.') { format!("'{name}'") } else { name.clone() };
        match field.kind {
            ValueKind::Text => name,
            ValueKind::Choice => format!("{name}: '{}'", field.choices.join("'|'")),
            kind => format!("{name}: {}", noun(kind)),
        }
    };
    let mut keys: Vec<_> = fields.iter().take(MAX_FORM_KEYS).map(key).collect();
    if fields.len() > MAX_FORM_KEYS {
        keys.push("…".to_owned());
    }
    format!("{{ {} }}", keys.join(", "))
}

/// The maximum length of the names of fields in the form of `sort`.
const MAX_FORM_BYTES: usize = 120;

/// The form of a sort key in messages.
pub(crate) fn sort_form(surface: &QuerySurface<'_>) -> String {
    let paths = surface.paths(|field| surface.sorts(field));
    let all = paths.join("'|'");
    let shown =
        if all.len() <= MAX_FORM_BYTES { &all } else { paths.first().copied().unwrap_or_default() };
    format!("{{ field: '{shown}', order?: 'asc'|'desc' }}")
}
