//! Checks that the book is up to date: its configuration file is valid and shows every key, and its lists of checks and
//! requirements are those of the command.

use mcp_aql_conformance::File;

fn chapter() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/conformance.md");
    std::fs::read_to_string(file).expect("the chapter exists")
}

fn parse(text: &str) -> Result<File, String> {
    File::parse(text, |name| Some(format!("the variable {name}")))
        .map_err(|error| error.to_string())
}

/// Returns the keys of a table, as listed by the error about an unknown key.
fn keys(table: &str) -> Vec<String> {
    let Err(complaint) = parse(&format!("{table}\nno_such_key = 1")) else {
        panic!("{table}: an unknown key is accepted");
    };
    let keys = complaint.split_once("expected").map(|(_, keys)| keys).expect("it lists the keys");
    let keys: Vec<_> = keys.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(!keys.is_empty(), "{complaint}");
    keys
}

#[test]
fn the_configuration_in_the_book_has_every_key() {
    let chapter = chapter();
    let toml = chapter.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let toml = toml.expect("the chapter shows a configuration file");
    let file = parse(toml).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(file.values.get("api_key"), Some(&"the variable BILLING_TEST_KEY".into()));
    assert_eq!(file.skip.len(), 2);
    for table in ["", "[limits]", "[resources.x]", "[[skip]]\nreason = 'x'", "[modes.single]"] {
        for key in keys(table) {
            let is_shown = toml.lines().any(|line| {
                let line = line.trim_start_matches('[');
                line.strip_prefix(key.as_str())
                    .is_some_and(|rest| rest.starts_with([' ', '=', '.', ']']))
            });
            assert!(is_shown, "`{key}` of `{table}` is not in the book");
        }
    }
}

#[test]
fn the_lists_in_the_book_are_those_of_the_command() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/conformance-checks.md");
    let page = std::fs::read_to_string(file).expect("the page exists");
    let mut orders = Vec::new();
    for block in page.split("<!-- made: mcp-aql-conformance ").skip(1) {
        let (arguments, rest) = block.split_once(" -->\n").expect("the comment ends");
        let (shown, _) = rest.split_once("<!-- /made -->").expect("the block ends");
        let list = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-aql-conformance"))
            .args(arguments.split(' '))
            .output()
            .expect("the command runs");
        let list = String::from_utf8(list.stdout).expect("the list is a text");
        assert!(
            shown.trim() == list.trim(),
            "run scripts/outputs.py: the book does not show the output of `{arguments}`"
        );
        orders.push(arguments);
    }
    assert_eq!(orders, ["list --format markdown", "list --by requirement --format markdown"]);
}
