//! Places in a shell command where a quoted word is read a second time, without its quotes.

/// The interpreters with the letters of the options whose argument is code.
const INTERPRETERS: [(&str, &str); 20] = [
    ("ash", "c"),
    ("bash", "c"),
    ("csh", "c"),
    ("dash", "c"),
    ("env", "S"),
    ("fish", "c"),
    ("flock", "c"),
    ("ksh", "c"),
    ("node", "ep"),
    ("perl", "eE"),
    ("php", "r"),
    ("pwsh", "c"),
    ("python", "c"),
    ("python3", "c"),
    ("ruby", "e"),
    ("script", "c"),
    ("sh", "c"),
    ("su", "c"),
    ("tcsh", "c"),
    ("zsh", "c"),
];

/// The long options whose argument is code.
const LONG_OPTIONS: [&str; 4] = ["command", "eval", "execute", "split-string"];

/// The programs that join their arguments to a command and give it to a shell.
const JOINING: [&str; 5] = ["eval", "parallel", "ssh", "trap", "watch"];

/// Returns what reads a word behind this part of a command once more, in the words of a message: a
/// here-document, a program that runs its arguments, or an option whose argument is code.
pub(super) fn reread_by(before: &str) -> Option<String> {
    if is_in_here_document(before) {
        return Some("a here-document".to_owned());
    }
    let command = before.rsplit([';', '|', '&', '\n', '(', '`']).next().unwrap_or_default();
    let mut words: Vec<_> = command.split_whitespace().collect();
    if !command.ends_with(char::is_whitespace) {
        // The placeholder continues this word.
        words.pop();
    }
    let mut options = None;
    let mut found = None;
    for word in words {
        let word = word.trim_matches(['"', '\'', '\\']);
        let name = word.rsplit('/').next().unwrap_or(word);
        if JOINING.contains(&name) {
            return Some(format!("`{name}`"));
        }
        if let Some((_, letters)) = INTERPRETERS.iter().find(|(each, _)| *each == name) {
            (options, found) = (Some((name, *letters)), None);
            continue;
        }
        let Some((name, letters)) = options else { continue };
        let Some(option) = word.strip_prefix('-') else {
            // The code itself; what follows are arguments.
            found = None;
            continue;
        };
        // The rest of a word may come from a variable, and is not repeated.
        let code = match option.strip_prefix('-') {
            Some(long) => {
                LONG_OPTIONS.iter().find(|each| **each == long).map(|it| format!("-{it}"))
            }
            None => option.chars().find(|letter| letters.contains(*letter)).map(String::from),
        };
        found = code.map(|code| format!("`{name} -{code}`")).or(found);
    }
    found
}

/// Returns whether a line after `<<` has begun. `<<<` is a word, in which quotes count.
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
