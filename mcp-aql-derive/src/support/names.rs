//! Converts invalid names into valid ones, and suggests a name for an unknown one.

use mcp_aql_protocol::nearest_name;

/// Returns the public name nearest to `name`: `createTask` becomes `create_task`.
pub(crate) fn to_snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut after_lower = false;
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            if character.is_ascii_uppercase() && after_lower {
                snake.push('_');
            }
            after_lower = !character.is_ascii_uppercase();
            snake.push(character.to_ascii_lowercase());
        } else {
            after_lower = false;
            if !snake.is_empty() && !snake.ends_with('_') {
                snake.push('_');
            }
        }
    }
    let snake = snake.trim_start_matches(|edge: char| edge == '_' || edge.is_ascii_digit());
    let snake = snake.trim_end_matches('_');
    if snake.is_empty() { "a_name".to_owned() } else { snake.to_owned() }
}

/// Returns the plural of an English noun: `order`, `box`, `category` become `orders`, `boxes`, `categories`.
pub(crate) fn plural_of(singular: &str) -> String {
    let before_y = singular.strip_suffix('y').filter(|it| !it.ends_with(['a', 'e', 'i', 'o', 'u']));
    if let Some(stem) = before_y {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| singular.ends_with(end));
    format!("{singular}{}", if hisses { "es" } else { "s" })
}

/// Returns the advice for an unknown name: the nearest candidate, or the list of all candidates.
pub(crate) fn suggestion<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    match nearest_name(name, candidates.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write {}", one_of(candidates)),
    }
}

/// Formats names as `` `a`, `b` or `c` ``.
pub(crate) fn one_of<'a>(candidates: impl IntoIterator<Item = &'a str>) -> String {
    joined(candidates, "or")
}

/// Formats names as `` `a`, `b` and `c` ``.
pub(crate) fn all_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    joined(names, "and")
}

fn joined<'a>(names: impl IntoIterator<Item = &'a str>, conjunction: &str) -> String {
    let mut quoted: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let last = quoted.pop().unwrap_or_default();
    if quoted.is_empty() { last } else { format!("{} {conjunction} {last}", quoted.join(", ")) }
}

#[cfg(test)]
mod tests {
    use mcp_aql_protocol::is_public_name;

    use super::*;

    #[test]
    fn snake_case_is_recognised_and_proposed() {
        for (name, valid, proposal) in [
            ("create_task", true, "create_task"),
            ("createTask", false, "create_task"),
            ("CreateTask", false, "create_task"),
            ("HTTPGet", false, "httpget"),
            ("create-task", false, "create_task"),
            ("_meta", false, "meta"),
            ("2nd", false, "nd"),
            ("__", false, "a_name"),
        ] {
            assert_eq!(is_public_name(name), valid, "{name}");
            assert_eq!(to_snake_case(name), proposal, "{name}");
        }
    }

    #[test]
    fn plurals_follow_the_rules_of_english() {
        for (singular, plural) in [
            ("order", "orders"),
            ("order_item", "order_items"),
            ("category", "categories"),
            ("key", "keys"),
            ("box", "boxes"),
            ("branch", "branches"),
            ("address", "addresses"),
        ] {
            assert_eq!(plural_of(singular), plural);
        }
    }

    #[test]
    fn proposals_are_public_names() {
        for name in ["A", "été", "x__y", "9lives", "-"] {
            assert!(is_public_name(&to_snake_case(name)), "{name}");
        }
    }

    #[test]
    fn suggestions_name_the_nearest_or_all() {
        assert_eq!(suggestion("REED", ["CREATE", "READ"]), "did you mean `READ`?");
        assert_eq!(suggestion("xyz", ["one", "two", "three"]), "write `one`, `two` or `three`");
    }
}
