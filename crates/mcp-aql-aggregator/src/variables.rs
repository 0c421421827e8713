//! Expands `${NAME}` and `${NAME:-default}` as MCP clients do, and `${env:NAME}` as VS Code does.

/// Looks up an environment variable.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A part of a string of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Text(&'t str),
    /// `raw` is the source as written in the configuration. You may display it, but not the value.
    Variable {
        raw: &'t str,
        name: &'t str,
        default: Option<&'t str>,
    },
    /// `${input:…}` or `${command:…}`. Only an editor can resolve these.
    Foreign {
        raw: &'t str,
    },
}

impl Piece<'_> {
    /// Returns the value of the piece, or an error message for the user.
    pub(crate) fn value(self, variables: Variables<'_>) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.to_owned()),
            Self::Variable { name, default, .. } => match (variables(name), default) {
                // As in a shell, an empty variable counts as unset if there is a default.
                (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
                (Some(value), _) => Ok(value),
                (None, Some(default)) => Ok(default.to_owned()),
                (None, None) => Err(format!(
                    "the environment variable `{name}` is not set: set it, or write `${{{name}:-default}}`"
                )),
            },
            Self::Foreign { raw } => Err(format!(
                "`{raw}` is only supported in editors: write `${{NAME}}` and set this \
                    environment variable"
            )),
        }
    }
}

/// Splits a string into pieces. Similar syntax such as `${X:=1}` or `$X` is kept literally,
/// because it may be meant for a shell.
///
/// ```text
/// Bearer ${TOKEN} → Text("Bearer "), Variable { raw: "${TOKEN}", name: "TOKEN", default: None }
/// ```
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut plain = 0;
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("${")).map(|at| from + at) {
        from = at + 2;
        let Some(length) = text.get(from..).and_then(|rest| rest.find('}')) else { break };
        let (Some(inner), Some(raw), Some(before)) =
            (text.get(from..from + length), text.get(at..=from + length), text.get(plain..at))
        else {
            break;
        };
        let Some(piece) = variable(raw, inner) else { continue };
        if !before.is_empty() {
            found.push(Piece::Text(before));
        }
        found.push(piece);
        from += length + 1;
        plain = from;
    }
    match text.get(plain..) {
        Some(rest) if !rest.is_empty() => found.push(Piece::Text(rest)),
        _ => {}
    }
    found
}

fn variable<'t>(raw: &'t str, inner: &'t str) -> Option<Piece<'t>> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    if is_name(name) {
        return Some(Piece::Variable { raw, name, default });
    }
    let (source, asked) = inner.split_once(':')?;
    (matches!(source, "input" | "command" | "config") && !asked.is_empty())
        .then_some(Piece::Foreign { raw })
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|each| each.is_ascii_alphanumeric() || each == '_')
}

/// Expands the variables of a string, or returns an error message for each one that cannot be
/// expanded. Adds the names and values of the variables to `held`, so that they can be masked.
pub(crate) fn expanded(
    text: &str,
    variables: Variables<'_>,
    held: &mut Vec<(String, String)>,
) -> Result<String, Vec<String>> {
    let mut whole = String::new();
    let mut faults = Vec::new();
    for piece in pieces(text) {
        match piece.value(variables) {
            Ok(value) => {
                whole.push_str(&value);
                if let Piece::Variable { name, .. } = piece {
                    held.push((name.to_owned(), value));
                }
            }
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(whole) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variables(name: &str) -> Option<String> {
        match name {
            "HOME" => Some("/home/me".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICKY" => Some("${HOME} {query}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn variables_are_put_in() {
        for (shows, text, expected) in [
            ("a variable", "${HOME}/x", "/home/me/x"),
            ("several", "${HOME}${HOME}", "/home/me/home/me"),
            ("a default is not needed", "${HOME:-/tmp}", "/home/me"),
            ("a default is needed", "${NONE:-/tmp}/x", "/tmp/x"),
            ("for an empty one, too", "${EMPTY:-/tmp}", "/tmp"),
            ("an empty one without default", "[${EMPTY}]", "[]"),
            ("an empty default", "[${NONE:-}]", "[]"),
            ("as VS Code writes it", "${env:HOME}", "/home/me"),
            ("what a variable holds is not read again", "${TRICKY}", "${HOME} {query}"),
            (
                "what is meant for shells stays",
                "$HOME ${X:=1} ${#X} ${} $${",
                "$HOME ${X:=1} ${#X} ${} $${",
            ),
            ("an open one stays", "${HOME", "${HOME"),
            ("two dollars", "$${HOME}", "$/home/me"),
            ("other scripts", "größe ${HOME} 大", "größe /home/me 大"),
        ] {
            let found = expanded(text, &variables, &mut Vec::new());
            assert_eq!(found.as_deref(), Ok(expected), "{shows}");
        }
        let mut held = Vec::new();
        let found = expanded("a ${HOME} b ${NONE:-c}", &variables, &mut held);
        assert_eq!(found.as_deref(), Ok("a /home/me b c"));
        let held: Vec<_> = held.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(held, [("HOME", "/home/me"), ("NONE", "c")]);
    }

    #[test]
    fn every_missing_variable_is_reported() {
        let faults =
            expanded("${A} ${HOME} ${B} ${input:key}", &variables, &mut Vec::new()).unwrap_err();
        assert_eq!(
            faults,
            [
                "the environment variable `A` is not set: set it, or write `${A:-default}`",
                "the environment variable `B` is not set: set it, or write `${B:-default}`",
                "`${input:key}` is only supported in editors: write `${NAME}` and set this environment variable",
            ]
        );
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole_text(text in "(\\$|\\{|\\}|[A-Z]|:-|env:|input:|é|\\PC){0,40}") {
            let whole: String = pieces(&text)
                .into_iter()
                .map(|piece| match piece {
                    Piece::Text(raw) | Piece::Variable { raw, .. } | Piece::Foreign { raw } => raw,
                })
                .collect();
            prop_assert_eq!(whole, text);
        }
    }
}
