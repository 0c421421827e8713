//! Finds deviations with one cause in several forms.
//!
//! An adapter that names a member wrongly does so in many replies. The findings share the cause, so a report contains
//! it once.

use super::{FaultKind, FormViolation};

/// Members required both in entries of the list of operations and in the details of an operation.
const OF_OPERATIONS: [&str; 2] = ["/semantic_category", "/endpoint"];

/// A cause independent of the form in which it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SharedCause {
    /// A required member has another name, such as `element_name` instead of `name`.
    OtherName { required: String, actual: String },
    /// An unexpected metadata member, with a name that begins with an underscore.
    Metadata(String),
    /// A member missing from every description of an operation.
    OfOperations(String),
}

impl SharedCause {
    /// Returns a string that identifies the cause.
    pub(super) fn key(&self) -> String {
        match self {
            Self::OtherName { required, actual } => format!("{actual} instead of {required}"),
            Self::Metadata(name) => format!("unexpected {name}"),
            Self::OfOperations(name) => format!("operations without {name}"),
        }
    }

    /// Returns a suggestion, or `None` if the suggestion of the form fits.
    pub(super) fn fix(&self) -> Option<String> {
        match self {
            Self::OtherName { required, actual } => {
                Some(format!("call the member `{required}` instead of `{actual}` everywhere"))
            }
            Self::Metadata(_) | Self::OfOperations(_) => None,
        }
    }
}

/// Groups deviations by their causes, in the order of the first deviation of each group.
///
/// Deviations without a shared cause are grouped by the top-level member that contains them.
pub(super) fn by_cause(
    faults: Vec<FormViolation>,
) -> Vec<(Option<SharedCause>, Vec<FormViolation>)> {
    let causes: Vec<_> = faults.iter().map(|fault| cause(fault, &faults)).collect();
    let mut groups: Vec<(Option<SharedCause>, Vec<FormViolation>)> = Vec::new();
    for (fault, cause) in faults.into_iter().zip(causes) {
        let is_own = |(known, group): &&mut (Option<SharedCause>, Vec<FormViolation>)| {
            let is_same_member = || group.first().is_some_and(|it| member(it) == member(&fault));
            *known == cause && (cause.is_some() || is_same_member())
        };
        match groups.iter_mut().find(is_own) {
            Some((_, group)) => group.push(fault),
            None => groups.push((cause, vec![fault])),
        }
    }
    groups
}

/// Returns the first step of a deviation's path.
fn member(fault: &FormViolation) -> &str {
    fault.path.split('/').nth(1).unwrap_or_default()
}

fn cause(fault: &FormViolation, faults: &[FormViolation]) -> Option<SharedCause> {
    let (parent, name) = fault.path.rsplit_once('/')?;
    let sibling = |kind: FaultKind, is_match: &dyn Fn(&str) -> bool| {
        let siblings = faults.iter().filter(|other| other.kind == kind);
        let mut names = siblings.filter_map(|other| {
            let (of, name) = other.path.rsplit_once('/')?;
            (of == parent).then_some(name)
        });
        names.find(|name| is_match(name)).map(str::to_owned)
    };
    match fault.kind {
        FaultKind::Missing => sibling(FaultKind::Unexpected, &|other| stands_for(other, name))
            .map(|actual| SharedCause::OtherName { required: name.to_owned(), actual })
            .or_else(|| {
                let is_known = OF_OPERATIONS.contains(&fault.path.as_str());
                is_known.then(|| SharedCause::OfOperations(name.to_owned()))
            }),
        FaultKind::Unexpected => sibling(FaultKind::Missing, &|other| stands_for(name, other))
            .map(|required| SharedCause::OtherName { required, actual: name.to_owned() })
            .or_else(|| name.starts_with('_').then(|| SharedCause::Metadata(name.to_owned()))),
        FaultKind::Other => None,
    }
}

/// Returns `true` if a name is another spelling of the required name or ends with it.
///
/// ```text
/// element_name  →  name
/// mcp_tool      →  mcpTool
/// ```
fn stands_for(actual: &str, required: &str) -> bool {
    let letters = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    letters(actual).ends_with(&letters(required))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Form, must};
    use super::*;

    const BED: Form = Form::Object(&[
        must("name", Form::Word),
        must("semantic_category", Form::Word),
        must("zone", Form::Object(&[must("name", Form::Word)])),
    ]);

    fn causes(value: serde_json::Value) -> Vec<(Option<String>, Vec<String>)> {
        let groups = by_cause(BED.faults(&value)).into_iter();
        let paths =
            |faults: Vec<FormViolation>| faults.into_iter().map(|fault| fault.path).collect();
        groups.map(|(cause, faults)| (cause.map(|it| it.key()), paths(faults))).collect()
    }

    #[test]
    fn members_with_another_name_are_one_cause() {
        let found = causes(json!({
            "bed_name": "b", "semantic_category": "x", "zone": { "bed_name": "z", "width": 1 },
        }));
        let names = ["/name", "/zone/name", "/zone/bed_name", "/bed_name"].map(str::to_owned);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], (Some("bed_name instead of name".to_owned()), names.to_vec()));
        assert_eq!(found[1], (None, vec!["/zone/width".to_owned()]));
    }

    #[test]
    fn metadata_and_missing_categories_are_causes_of_their_own() {
        let found =
            causes(json!({ "name": "b", "zone": { "name": "z", "_meta": {} }, "_meta": 1 }));
        let keys: Vec<_> = found.iter().map(|(cause, _)| cause.as_deref()).collect();
        assert_eq!(keys, [Some("operations without semantic_category"), Some("unexpected _meta")]);
    }

    #[test]
    fn other_faults_are_grouped_by_member() {
        let found = causes(json!({
            "name": "b", "semantic_category": 1, "zone": { "width": 1, "depth": 2 }, "width": 1,
        }));
        assert!(found.iter().all(|(cause, _)| cause.is_none()), "{found:?}");
        let paths: Vec<_> = found.into_iter().map(|(_, paths)| paths).collect();
        let zone = ["/zone/name", "/zone/depth", "/zone/width"].map(str::to_owned).to_vec();
        let [category, width] = ["/semantic_category", "/width"].map(|path| vec![path.to_owned()]);
        assert_eq!(paths, [category, zone, width]);
    }
}
