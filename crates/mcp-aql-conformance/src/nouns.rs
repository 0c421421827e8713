//! Finds the nouns in names of operations and parameters: resources and identifiers.

/// Singular nouns that look like a plural.
const SINGULARS: [&str; 7] = ["alias", "atlas", "bias", "canvas", "christmas", "gas", "pancreas"];
/// Nouns with the same singular and plural.
const INVARIABLE: [&str; 3] = ["news", "series", "species"];
/// Endings of plurals in `uses` with a singular in `use`.
const USES: [&str; 4] = ["ouses", "auses", "excuses", "fuses"];

/// Returns the singular of a noun by the rules of English.
///
/// Some nouns are ambiguous unless the other names of the adapter are known. Use [`is_noun_of`] for these.
///
/// ```text
/// tasks       →  task
/// categories  →  category
/// ```
pub(crate) fn singular(noun: &str) -> String {
    let word = noun.rsplit('_').next().unwrap_or(noun);
    if SINGULARS.contains(&word) || INVARIABLE.contains(&word) {
        return noun.to_owned();
    }
    let cut = |end: &str| noun.strip_suffix(end).filter(|stem| stem.len() > 1);
    if let Some(stem) = cut("ies") {
        return format!("{stem}y");
    }
    let is_of_us = word.ends_with("uses")
        && word != "uses"
        && !USES.iter().any(|ending| word.ends_with(ending));
    let is_known = word.strip_suffix("es").is_some_and(|stem| SINGULARS.contains(&stem));
    let is_long = ["sses", "xes", "ches", "shes"].iter().any(|ending| word.ends_with(ending));
    if let Some(stem) = cut("es").filter(|_| is_of_us || is_known || is_long) {
        return stem.to_owned();
    }
    match cut("s") {
        Some(stem) if !["s", "u", "i"].iter().any(|end| stem.ends_with(end)) => stem.to_owned(),
        _ => noun.to_owned(),
    }
}

/// Returns `true` if a noun equals the name of a resource or is its plural. For example, `atlas` and `atlases` are
/// nouns of `atlas`.
pub(crate) fn is_noun_of(noun: &str, name: &str) -> bool {
    let is_hissing = ["s", "x", "z", "ch", "sh", "o"].iter().any(|end| name.ends_with(end));
    noun.strip_prefix(name)
        .is_some_and(|end| end.is_empty() || end == "s" || (is_hissing && end == "es"))
        || name.strip_suffix('y').is_some_and(|stem| noun.strip_prefix(stem) == Some("ies"))
}

/// Returns the resource in the name of an operation: `bed` for `list_beds`.
pub(crate) fn thing_of(operation: &str) -> Option<String> {
    let (_, thing) = operation.split_once('_')?;
    Some(singular(thing))
}

/// Returns `true` if a parameter with this name holds an identifier. Identifiers cannot be generated.
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
            ("addresses", "address"),
            ("statuses", "status"),
            ("bonus", "bonus"),
            ("bonuses", "bonus"),
            ("atlas", "atlas"),
            ("atlases", "atlas"),
            ("map_canvas", "map_canvas"),
            ("map_canvases", "map_canvas"),
            ("analysis", "analysis"),
            ("series", "series"),
            ("houses", "house"),
            ("clauses", "clause"),
            ("databases", "database"),
            ("responses", "response"),
            ("schemas", "schema"),
        ] {
            assert_eq!(singular(many), one, "{many}");
        }
    }

    #[test]
    fn recognizes_nouns_of_a_resource() {
        for (noun, name) in [
            ("atlas", "atlas"),
            ("atlases", "atlas"),
            ("statuses", "status"),
            ("thingas", "thingas"),
            ("entries", "entry"),
            ("boxes", "box"),
            ("houses", "house"),
            ("photos", "photo"),
            ("heroes", "hero"),
        ] {
            assert!(is_noun_of(noun, name), "{noun}");
        }
        for (noun, name) in [("atlas", "atla_map"), ("beds", "bed_frame"), ("bedding", "bed")] {
            assert!(!is_noun_of(noun, name), "{noun}");
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
