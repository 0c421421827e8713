//! Merges reasons that differ only in the name of an operation.

/// Maximum number of further names in a merged reason.
const MAX_NAMES: usize = 6;

/// A reason with the names that replace its first one.
struct Merged<T> {
    reason: String,
    /// The reason with a placeholder for its first name.
    template: Option<String>,
    others: Vec<String>,
    value: T,
}

/// Returns the first name in a reason: the first word in backticks with the form of an operation name.
fn first_name(reason: &str) -> Option<&str> {
    let mut quoted = reason.split('`').skip(1).step_by(2);
    quoted.find(|word| {
        word.contains('_')
            && word.bytes().all(|it| it == b'_' || it.is_ascii_lowercase() || it.is_ascii_digit())
    })
}

/// Merges reasons that differ only in their first name.
///
/// `merge` decides if the values of two reasons may be merged: it adds the second value to the first one, or returns it
/// unmerged.
///
/// ```text
/// `list_beds` needs `id`, `list_pets` needs `id`  →  `list_beds` (also `list_pets`) needs `id`
/// ```
pub(super) fn merge_alike<T>(
    reasons: impl IntoIterator<Item = (String, T)>,
    merge: impl Fn(&mut T, T) -> Option<T>,
) -> Vec<(String, T)> {
    let mut merged: Vec<Merged<T>> = Vec::new();
    for (reason, value) in reasons {
        let name = first_name(&reason).map(str::to_owned);
        let template = name.as_ref().map(|name| reason.replace(name.as_str(), "\0"));
        let mut value = Some(value);
        for first in merged.iter_mut().filter(|it| template.is_some() && it.template == template) {
            let Some(own) = value.take() else { break };
            value = merge(&mut first.value, own);
            if value.is_none() {
                first.others.extend(name.clone());
            }
        }
        if let Some(value) = value {
            merged.push(Merged { reason, template, others: Vec::new(), value });
        }
    }
    merged.into_iter().map(|it| (with_names(&it.reason, &it.others), it.value)).collect()
}

/// Adds further names after the first name of a reason.
fn with_names(reason: &str, others: &[String]) -> String {
    let Some(name) = first_name(reason).filter(|_| !others.is_empty()) else {
        return reason.to_owned();
    };
    let mut names: Vec<_> = others.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
    let more = others.len().saturating_sub(MAX_NAMES);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let name = format!("`{name}`");
    reason.replacen(&name, &format!("{name} (also {})", names.join(", ")), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(reasons: &[(&str, u8)]) -> Vec<String> {
        let reasons = reasons.iter().map(|(reason, value)| ((*reason).to_owned(), *value));
        let merge = |first: &mut u8, other: u8| (*first != other).then_some(other);
        merge_alike(reasons, merge).into_iter().map(|(reason, _)| reason).collect()
    }

    #[test]
    fn merges_reasons_that_differ_in_a_name() {
        let reasons = [
            ("a value for `x`: add one under [params.get_a]", 1),
            ("`list_a` returns no items", 1),
            ("`list_b` returns no items", 1),
            ("`list_c` returns no items", 2),
            ("`list_d` returns no fields", 1),
            ("`list_e` returns no items", 2),
        ];
        let expected = [
            "a value for `x`: add one under [params.get_a]",
            "`list_a` (also `list_b`) returns no items",
            "`list_c` (also `list_e`) returns no items",
            "`list_d` returns no fields",
        ];
        assert_eq!(merged(&reasons), expected);
    }

    #[test]
    fn counts_the_names_beyond_the_first() {
        let reasons: Vec<_> = (0..20).map(|number| format!("no `get_a{number}`")).collect();
        let reasons: Vec<_> = reasons.iter().map(|reason| (reason.as_str(), 1)).collect();
        let merged = merged(&reasons);
        assert_eq!(merged.len(), 1);
        assert!(merged[0].ends_with("`get_a6`, 13 more)"), "{merged:?}");
    }
}
