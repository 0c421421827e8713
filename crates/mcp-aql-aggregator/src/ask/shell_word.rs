//! Finds positions in a shell command where a quoted word is read again, without its quotes.
//!
//! The filter `shellWord` protects a query only once. It is rejected where another interpreter
//! reads the word as code, for example in `sh -c {query|shellWord}`.

/// Interpreters without the version in their names, and the letters of options with code as
/// argument.
const INTERPRETERS: [(&str, &str); 31] = [
    ("ash", "c"),
    ("awk", "e"),
    ("bash", "c"),
    ("bun", "ep"),
    ("csh", "c"),
    ("dash", "c"),
    ("env", "S"),
    ("expect", "c"),
    ("fish", "c"),
    ("flock", "c"),
    ("gawk", "e"),
    ("ksh", "c"),
    ("lua", "e"),
    ("mariadb", "e"),
    ("mawk", ""),
    ("mysql", "e"),
    ("node", "ep"),
    ("nodejs", "ep"),
    ("osascript", "e"),
    ("perl", "eE"),
    ("php", "rBER"),
    ("psql", "c"),
    ("python", "c"),
    ("ruby", "e"),
    ("runuser", "c"),
    ("script", "c"),
    ("sed", "e"),
    ("sh", "c"),
    ("su", "c"),
    ("tcsh", "c"),
    ("zsh", "c"),
];

/// Long options with code as argument.
const LONG_OPTIONS: [&str; 8] = [
    "command",
    "eval",
    "execute",
    "expression",
    "print",
    "session-command",
    "source",
    "split-string",
];

/// Interpreters whose first argument is code unless an option gives it, and their options with an
/// argument of their own.
const CODE_FIRST: [(&str, &[&str]); 4] =
    [("awk", &["-F", "-v"]), ("gawk", &["-F", "-v"]), ("mawk", &["-F", "-v"]), ("sed", &["-l"])];

/// Programs that pass their joined arguments to a shell, or run the commands in them.
const JOINING: [&str; 7] = ["cmd", "eval", "parallel", "sqlite", "ssh", "trap", "watch"];

/// Programs that join everything after an option like `-Command`.
const POWERSHELL: [&str; 2] = ["powershell", "pwsh"];

/// The interpreter whose arguments are examined.
struct Interpreter<'a> {
    name: &'a str,
    letters: &'a str,
    /// Options with an argument. `None` unless the first of the other arguments is code and is
    /// still to come.
    code_first: Option<&'a [&'a str]>,
}

impl<'a> Interpreter<'a> {
    /// Returns the interpreter with this name. `plain` is the name without folder, version and
    /// extension.
    fn of(name: &'a str, plain: &str) -> Option<Self> {
        let (_, letters) = INTERPRETERS.iter().find(|(each, _)| *each == plain)?;
        let code_first = CODE_FIRST.iter().find(|(each, _)| *each == plain);
        Some(Self { name, letters, code_first: code_first.map(|(_, options)| *options) })
    }

    /// Returns the option in this word whose argument is code. Only the name is returned, because
    /// the rest of the word may come from a variable.
    fn code_option(&self, word: &str) -> Option<String> {
        let option = word.strip_prefix('-')?;
        let code = match option.strip_prefix('-') {
            Some(long) => {
                let name = long.split('=').next().unwrap_or(long);
                LONG_OPTIONS.iter().find(|each| **each == name).map(|each| format!("-{each}"))
            }
            None => option.chars().find(|letter| self.letters.contains(*letter)).map(String::from),
        };
        code.map(|code| format!("`{} -{code}`", self.name))
    }
}

/// Returns the program or syntax that reads a word after `before` a second time, in the words of a
/// message. This is a here-document, a program that runs its arguments, or an option with code as
/// argument.
///
/// ```text
/// bash -c           → `bash -c`
/// ssh host grep     → `ssh`
/// grep -e           → none
/// ```
pub(super) fn reread_by(before: &str) -> Option<String> {
    if is_in_here_document(before) {
        return Some("a here-document".to_owned());
    }
    let command = before.rsplit([';', '|', '&', '\n', '(', '`']).next().unwrap_or_default();
    let mut words: Vec<_> = command.split_whitespace().map(unquoted).collect();
    // The placeholder continues the last word, or begins a new one.
    let continued = words.pop_if(|_| !command.ends_with(char::is_whitespace));
    let mut interpreter: Option<Interpreter<'_>> = None;
    let mut found = None;
    let mut powershell = None;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        let plain = name.strip_suffix(".exe").unwrap_or(name);
        let plain =
            plain.trim_end_matches(|each: char| each.is_ascii_digit() || ".-".contains(each));
        if JOINING.contains(&plain) {
            return Some(format!("`{name}`"));
        }
        if POWERSHELL.contains(&plain) {
            powershell = Some(name);
        } else if let Some(name) = powershell.filter(|_| is_command_option(word)) {
            return Some(format!("`{name} -Command`"));
        } else if let Some(next) = Interpreter::of(name, plain) {
            (interpreter, found) = (Some(next), None);
        } else if let Some(interpreter) = &mut interpreter {
            if interpreter.code_first.is_some_and(|options| options.contains(&word)) {
                words.next();
            } else if word.starts_with('-') {
                found = interpreter.code_option(word).or(found);
            } else {
                // This word is the code itself. Arguments follow.
                (interpreter.code_first, found) = (None, None);
            }
        }
    }
    let attached = continued.unwrap_or_default();
    if let Some(name) = powershell.filter(|_| is_command_option(attached)) {
        return Some(format!("`{name} -Command`"));
    }
    let interpreter = interpreter?;
    let first = interpreter.code_first.filter(|_| !attached.starts_with('-'));
    found
        .or_else(|| interpreter.code_option(attached))
        .or_else(|| first.map(|_| format!("`{}`", interpreter.name)))
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\'', '\\'])
}

/// Returns `true` if the word is a short form of PowerShell's option `-Command`.
fn is_command_option(word: &str) -> bool {
    let option = word.strip_prefix('-').unwrap_or_default().to_ascii_lowercase();
    !option.is_empty() && "command".starts_with(&option)
}

/// Returns `true` if a line after `<<` has begun. `<<<` does not count: quotes apply to its word.
fn is_in_here_document(before: &str) -> bool {
    let text = before.replace("<<<", " ");
    text.split_once("<<").is_some_and(|(_, behind)| behind.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::reread_by;

    #[test]
    fn code_is_told_from_arguments() {
        for (before, reader) in [
            ("sh -c ", Some("`sh -c`")),
            ("/bin/bash -lc ", Some("`bash -c`")),
            ("bash -c -e ", Some("`bash -c`")),
            ("sudo -u x 'bash' --norc -c grep", Some("`bash -c`")),
            ("cd /docs && docker exec box sh -c ", Some("`sh -c`")),
            ("echo $(python3 -c ", Some("`python3 -c`")),
            ("perl -ne ", Some("`perl -e`")),
            ("node --eval ", Some("`node --eval`")),
            ("env -S ", Some("`env -S`")),
            ("su - user -c ", Some("`su -c`")),
            ("perl -e", Some("`perl -e`")),
            ("perl -MPOSIX -ne'", Some("`perl -e`")),
            ("perl -e 'print 1' ", None),
            ("node --eval=", Some("`node --eval`")),
            ("/usr/bin/python3.12 -c ", Some("`python3.12 -c`")),
            ("perl5.36.0 -e ", Some("`perl5.36.0 -e`")),
            ("php8.2 -r", Some("`php8.2 -r`")),
            ("pwsh -NoProfile -Command ", Some("`pwsh -Command`")),
            ("powershell.exe -com Get-Item ", Some("`powershell.exe -Command`")),
            ("pwsh -c", Some("`pwsh -Command`")),
            ("pwsh -File x.ps1 ", None),
            ("cmd.exe /c ", Some("`cmd.exe`")),
            ("awk ", Some("`awk`")),
            ("awk -F : ", Some("`awk`")),
            ("awk '{print}' ", None),
            ("awk -f x.awk ", None),
            ("awk -f ", Some("`awk`")),
            ("sed -n ", Some("`sed`")),
            ("sed -e ", Some("`sed -e`")),
            ("sed --expression=", Some("`sed --expression`")),
            ("sed s/a/b/ ", None),
            ("psql -c ", Some("`psql -c`")),
            ("psql -d ", None),
            ("sqlite3 x.db ", Some("`sqlite3`")),
            ("eval grep ", Some("`eval`")),
            ("ssh host grep ", Some("`ssh`")),
            ("watch -n 5 ", Some("`watch`")),
            ("cat <<EOF\n", Some("a here-document")),
            ("cat <<-'EOF' | sort\nx ", Some("a here-document")),
            ("sh -c 'grep \"$1\"' sh ", None),
            ("sh script.sh ", None),
            ("grep -c ", None),
            ("sh -c ls; grep ", None),
            ("cat <<< ", None),
            ("cat <<EOF ", None),
            ("git -c a=b log ", None),
            ("grep -e ", None),
            ("sh", None),
            ("", None),
        ] {
            assert_eq!(reread_by(before).as_deref(), reader, "{before:?}");
        }
    }
}
