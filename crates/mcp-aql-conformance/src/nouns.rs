//! The nouns in names of operations and parameters: resources and identifiers.

/// The singular of a noun.
pub(crate) fn singular(noun: &str) -> String {
    let cut = |end: &str| noun.strip_suffix(end).filter(|stem| stem.len() > 1);
    if let Some(stem) = cut("ies") {
        return format!("{stem}y");
    }
    for end in ["sses", "xes", "ches", "shes"] {
        if let Some(stem) = cut(end) {
            return format!("{stem}{}", end.strip_suffix("es").unwrap_or_default());
        }
    }
    match cut("s") {
        Some(stem) if !["s", "u", "i"].iter().any(|end| stem.ends_with(end)) => stem.to_owned(),
        _ => noun.to_owned(),
    }
}

/// The resource in the name of an operation: `bed` of `list_beds`.
pub(crate) fn thing_of(operation: &str) -> Option<String> {
    let (_, thing) = operation.split_once('_')?;
    Some(singular(thing))
}

/// Whether a name is one of an identifier, which cannot be generated.
pub(crate) fn is_identifier(name: &str) -> bool {
    name == "id" || name.ends_with("_id") || name.ends_with("_name") || name.ends_with("_key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_plurals_to_singulars() {
        for (many, one) in [
            ("tasks", "task"),
            ("task", "task"),
            ("entries", "entry"),
            ("boxes", "box"),
            ("branches", "branch"),
            ("classes", "class"),
            ("status", "status"),
            ("address", "address"),
            ("houses", "house"),
        ] {
            assert_eq!(singular(many), one, "{many}");
        }
    }

    #[test]
    fn returns_the_resource_of_an_operation_in_the_singular() {
        assert_eq!(thing_of("list_beds").as_deref(), Some("bed"));
        assert_eq!(thing_of("get_bed").as_deref(), Some("bed"));
        assert_eq!(thing_of("list_entries").as_deref(), Some("entry"));
        assert_eq!(thing_of("list_branches").as_deref(), Some("branch"));
        assert_eq!(thing_of("introspect"), None);
    }
}
