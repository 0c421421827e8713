//! Hostile servers on standard input and output.

use super::{Case, NO_START, Ran};
use crate::support::fixture;

const NO_ADAPTER: &str = "Nothing could be tested: ";

servers! {
    dies_at_start => [NO_ADAPTER, "the process exited, exit status: 7", "cannot open the database"],
    dies_after_initialize => [NO_ADAPTER, "the process exited"],
    dies_while_it_is_learned => [NO_ADAPTER, "the process exited"],
    dies_in_the_midst => ["cut short: the adapter closed the connection: the process exited, exit status: 1"],
    dies_in_its_other_mode => ["single mode: the adapter closed the connection", "cannot open the database"],
    hangs_at_initialize => [NO_ADAPTER, NO_START],
    hangs_at_the_list_of_tools => [NO_ADAPTER, "no answer within 400 ms"],
    hangs_at_introspect => [NO_ADAPTER, "no answer within 400 ms"],
    hangs_at_calls => ["no answer within 400 ms"],
    hangs_and_does_not_read => [NO_ADAPTER, NO_START],
    does_not_leave => ["FAIL"],
    // The server sends requests before its response to `initialize`.
    asks_first => ["FAIL"],
    floods_with_notifications => [NO_ADAPTER, "unrequested messages"],
    floods_with_long_notifications => [NO_ADAPTER, "unrequested messages"],
    floods_with_one_line => [NO_ADAPTER, "a message of more than"],
    floods_with_values => [NO_ADAPTER, "a message with too many values"],
    floods_with_empty_lines => [NO_ADAPTER, "unrequested messages"],
    floods_standard_error => [NO_ADAPTER, NO_START],
    floods_in_the_midst => ["unrequested messages"],
    floods_with_tools => [NO_ADAPTER, "a message with too many values"],
    lists_too_much => [NO_ADAPTER, "too large to test"],
    gives_pages_without_an_end => ["FAIL", "tools.endpoint"],
    tells_much_of_its_operations => [NO_ADAPTER, "too large to test: "],
    tells_much_of_its_tools => [NO_ADAPTER, "take more than 12 MiB"],
    shows_ever_new_names => ["FAIL"],
    lists_long_items => ["FAIL"],
    has_heavy_patterns => ["FAIL"],
    talks_no_json => [NO_ADAPTER, NO_START],
    talks_no_utf8 => [NO_ADAPTER, NO_START],
    nests_without_an_end => [NO_ADAPTER],
    answers_others => [NO_ADAPTER, NO_START],
    refuses_everything => [NO_ADAPTER, "JSON-RPC error -32603"],
    gives_numbers_for_everything => [NO_ADAPTER],
    gives_nonsense_for_operations => ["FAIL"],
    obeys_no_terminal => ["Nothing could be tested: "],
    is_a_plain_server => ["FAIL", "tools.endpoint", "`echo`", "`add`"],
    has_no_tools => ["FAIL", "tools.endpoint", "the server has no tools"],
    #[cfg(unix)]
    closes_standard_output_and_lives => [NO_ADAPTER, "closed its standard output"],
}

fn run(case: &Case) -> Ran {
    if case.name == "closes_standard_output_and_lives" {
        let script = r#"read line
            echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hostile","version":"6.6.6"}}}'
            exec >&-
            exec sleep 60"#;
        return super::run(case, "", &["--", "sh", "-c", script]);
    }
    let fixture = fixture();
    let fixture = fixture.to_str().unwrap();
    let config = match case.name {
        "dies_in_its_other_mode" => {
            format!("[modes.single]\ncommand = ['{fixture}', 'hostile', 'dies_at_start']")
        }
        _ => String::new(),
    };
    super::run(case, &config, &["--", fixture, "hostile", case.name])
}
