//! Tests of finding operations, with an example of several services and by generated input.

use proptest::prelude::*;

use super::*;

/// An example of several small services: label, name, description, parameters.
const OPERATIONS: [(&str, &str, &str, &[&str]); 24] = [
    ("tasks", "create_task", "Adds a task to a list. The list must exist.", &["title", "due_date"]),
    ("tasks", "list_tasks", "Returns the tasks of a list, page by page.", &["list_id", "status"]),
    ("tasks", "update_task", "Changes the fields of a task.", &["task_id", "title", "due_date"]),
    ("tasks", "delete_task", "Deletes a task for good.", &["task_id"]),
    ("files", "write_file", "Creates a file or replaces its content.", &["path", "content"]),
    ("files", "document_reader", "Reads the text of a document.", &["path"]),
    ("files", "moveFile", "Moves a file to another directory.", &["from", "to"]),
    ("files", "list-directory", "Lists the files in a directory.", &["path"]),
    ("office", "excel_read_sheet", "Reads the cells of a sheet.", &["path", "range"]),
    ("office", "convertToPdf", "Converts a document to PDF.", &["path"]),
    ("office", "pdf_merger", "Joins several PDF files.", &["paths"]),
    ("web", "fetch_webpage", "Downloads a page and returns its text.", &["url"]),
    ("web", "take_screenshot", "Captures the visible part of the browser.", &["width"]),
    ("trade", "get_price_history", "Returns the daily prices of a share.", &["symbol", "from"]),
    ("trade", "get-crypto-price", "Returns the current price of a coin.", &["symbol"]),
    ("trade", "exchange_rate", "Returns the rate between two currencies.", &["base", "target"]),
    ("travel", "search_flights", "Finds flights between two airports.", &["from", "to", "date"]),
    ("travel", "bookHotelRoom", "Reserves a room in a hotel.", &["hotel", "arrival"]),
    ("travel", "get_weather", "Returns the forecast for a place.", &["place"]),
    ("mail", "send_mail", "Sends a message to a person.", &["recipient", "body"]),
    ("crm", "find_customer", "Searches customers by name or phone.", &["query"]),
    ("crm", "create_invoice", "Writes an invoice to a customer.", &["customer", "amount"]),
    ("charts", "generate_bar_chart", "Draws bars that compare categories.", &["data", "title"]),
    ("charts", "generate_pie_chart", "Draws the shares of a whole.", &["data", "title"]),
];

fn documents() -> impl Iterator<Item = OperationDocument<'static>> {
    OPERATIONS.into_iter().map(|(group, name, description, parameters)| {
        let document = OperationDocument::new(name).group(group, "").description(description);
        parameters.iter().fold(document, |document, parameter| document.parameter(parameter, ""))
    })
}

fn found(question: &str, first: usize) -> Vec<&'static str> {
    let hits = OperationIndex::new(documents()).search(question, first);
    hits.iter().filter_map(|hit| OPERATIONS.get(hit.operation)).map(|(_, name, ..)| *name).collect()
}

/// Questions in other words than those of the operations, with the operations that they need.
const QUESTIONS: [(&str, &[&str]); 20] = [
    ("Put watering the plants on my list of todos", &["create_task"]),
    ("Please cancel the second task", &["delete_task"]),
    ("Rename the task to something shorter", &["update_task"]),
    ("What is inside the folder /srv/data?", &["list-directory"]),
    ("Store these lines at /tmp/notes/today.md", &["write_file"]),
    ("Read letter.txt to me", &["document_reader"]),
    ("relocate the file into the archive", &["moveFile"]),
    ("Tell me what is in /home/me/sales.xlsx", &["excel_read_sheet"]),
    ("turn the document into a pdf", &["convertToPdf"]),
    ("combine the PDFs into one", &["pdf_merger"]),
    ("Get the text of the web page https://example.org", &["fetch_webpage"]),
    ("What was the cost of the stock last year?", &["get_price_history"]),
    ("How much is a bitcoin?", &["get-crypto-price"]),
    ("How many dollars do I get in another currency?", &["exchange_rate"]),
    ("Look for planes to Rome", &["search_flights"]),
    ("I need accommodation for two nights", &["bookHotelRoom"]),
    ("Bill the client", &["create_invoice", "find_customer"]),
    ("Compare the months in a diagram with bars", &["generate_bar_chart"]),
    (
        "Check the weather in Oslo, reserve a hotel there, and send the plan to Ann by mail",
        &["get_weather", "bookHotelRoom", "send_mail"],
    ),
    (
        "Read /data/sales.xlsx, draw a pie chart of it and save the picture to /data/sales.png",
        &["excel_read_sheet", "generate_pie_chart", "write_file"],
    ),
];

#[test]
fn most_operations_are_found_in_other_words() {
    let recall = |depth| {
        let count = |(question, labels): &(&str, &[&str])| {
            let found = found(question, depth);
            labels.iter().filter(|label| found.contains(label)).count()
        };
        let all: usize = QUESTIONS.iter().map(|(_, labels)| labels.len()).sum();
        QUESTIONS.iter().map(count).sum::<usize>() as f64 / all as f64
    };
    let (one, five) = (recall(1), recall(5));
    assert!(one >= 0.7, "the first hits: {one}");
    assert!(five >= 0.95, "the first five hits: {five}");
}

#[test]
fn words_match_in_all_notations_and_forms() {
    for (shows, question, expected) in [
        ("camelCase", "book hotel room", "bookHotelRoom"),
        ("the name itself", "bookHotelRoom", "bookHotelRoom"),
        ("another notation", "move-file", "moveFile"),
        ("endings", "merging", "pdf_merger"),
        ("a synonym of the verb", "erase a task", "delete_task"),
        ("a synonym of the noun", "invoices for a client", "create_invoice"),
        ("a parameter", "recipient", "send_mail"),
    ] {
        assert_eq!(found(question, 1), [expected], "{shows}: {:?}", found(question, 5));
    }
}

#[test]
fn the_word_itself_counts_more_than_a_synonym() {
    let index = OperationIndex::new(["remove_row", "delete_row"].map(OperationDocument::new));
    let first = |question| index.search(question, 2).first().map(|hit| hit.operation);
    assert_eq!((first("delete the row"), first("remove the row")), (Some(1), Some(0)));
}

/// Returns the hits among operations with nothing but names.
fn found_among(names: &[&str], question: &str, first: usize) -> Vec<usize> {
    let index = OperationIndex::new(names.iter().map(|name| OperationDocument::new(name)));
    index.search(question, first).iter().map(|hit| hit.operation).collect()
}

#[test]
fn hits_cover_the_clauses_of_a_question() {
    let names = [
        "get_customer_invoice",
        "sort_customer_invoice",
        "pay_customer_invoice",
        "print_customer_invoice",
        "fold_customer_invoice",
        "get_mail",
        "sort_mail",
        "print_mail",
        "fold_mail",
        "pay_mail",
    ];
    let found = found_among(&names, "I want the invoice of a customer, and some mail.", 4);
    assert!(found.iter().any(|hit| *hit < 5) && found.iter().any(|hit| *hit >= 5), "{found:?}");
}

#[test]
fn a_question_that_produces_a_file_finds_the_operation_that_writes_it() {
    let names =
        ["file_report", "read_file", "move_file", "read_sheet", "write_file", "write_excel_sheet"];
    for (question, expected) in [
        ("put the report in /home/me/plan.md", 4),
        ("put the report in plan.xlsx", 5),
        ("read plan.md", 1),
    ] {
        let found = found_among(&names, question, 2);
        assert!(found.contains(&expected), "{question}: {found:?}");
    }
}

#[test]
fn a_name_that_the_question_contains_completely_counts_more() {
    let detailed = OperationDocument::new("archive_report")
        .description("The report.")
        .parameter("report", "The report")
        .example("report the report");
    let index = OperationIndex::new([detailed, OperationDocument::new("report")]);
    assert_eq!(index.search("the report", 1).first().map(|hit| hit.operation), Some(1));
}

#[test]
fn many_words_of_a_question_count_more_than_a_rare_one() {
    let names = [
        "zebra",
        "print_page",
        "print_photo",
        "print_label",
        "move_page",
        "count_page",
        "fold_page",
        "print_mail",
        "sort_mail",
    ];
    assert_eq!(found_among(&names, "print the page with the zebra on it", 1), [1]);
}

#[test]
fn values_examples_and_groups_are_searched() {
    let index = OperationIndex::new([
        OperationDocument::new("a").value("urgent"),
        OperationDocument::new("b").example("remind me of the plants"),
        OperationDocument::new("c").group("Hacker News", "Stories of developers"),
        OperationDocument::new("d").parameter("altitude", "The height above the sea"),
    ]);
    for (question, expected) in
        [("urgent", 0), ("plant", 1), ("hacker", 2), ("developer", 2), ("altitudes", 3), ("sea", 3)]
    {
        let found: Vec<_> = index.search(question, 5).iter().map(|hit| hit.operation).collect();
        assert_eq!(found, [expected], "{question}");
    }
}

#[test]
fn ties_are_in_the_order_of_the_operations() {
    let index = OperationIndex::new(["get_task"; 5].map(OperationDocument::new));
    let hits = index.search("get the task", 9);
    let order: Vec<_> = hits.iter().map(|hit| hit.operation).collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

#[test]
fn nothing_is_found_without_words() {
    let index = OperationIndex::new(documents());
    for question in ["", " \n", "…?!", "to be or not to be", "qqqqq"] {
        assert_eq!(index.search(question, 5), [], "{question:?}");
    }
    assert_eq!(index.search("task", 0), []);
    assert!(OperationIndex::new([]).search("task", 5).is_empty());
    assert!(OperationIndex::new([]).is_empty() && index.len() == OPERATIONS.len());
    assert_eq!(index.search("task", usize::MAX).len(), 4);
}

#[test]
fn only_the_beginning_of_a_very_long_question_is_read() {
    let index = OperationIndex::new(documents());
    let long = "x".repeat(10_000) + " task";
    assert_eq!(index.search(&long, 5), []);
    let many: String = (0..300).map(|number| format!("w{number} ")).collect();
    assert!(many.len() < 3_000);
    assert_eq!(index.search(&(many + "task"), 5), []);
}

fn texts() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "create",
        "tasks",
        "getUserName",
        "/a/b.md",
        "https://x.org",
        "web",
        "page",
        "and",
        "saved",
        "查询",
        "é",
        "İ",
        "ﬃ",
        "\u{301}",
        "_",
        "-",
        ".",
        ",",
        "9",
        "ß",
    ]);
    prop_oneof![
        prop::collection::vec(words, 0..12).prop_map(|words| words.join(" ")),
        any::<String>(),
        prop::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter),
    ]
}

proptest! {
    #[test]
    fn any_text_is_indexed_and_searched(texts in prop::collection::vec(texts(), 1..12), question in texts(), first in 0_usize..9) {
        let of = |at: usize| texts.get(at % texts.len()).map_or("", String::as_str);
        let documents = || (0..texts.len()).map(|at| {
            let document = OperationDocument::new(of(at)).group(of(at / 3), of(at + 1)).description(of(at + 2));
            document.parameter(of(at + 3), of(at + 4)).value(of(at + 5)).example(of(at + 6))
        });
        let index = OperationIndex::new(documents());
        let hits = index.search(&question, first);
        prop_assert!(hits.len() <= first && hits.iter().all(|hit| hit.operation < texts.len()));
        prop_assert!(hits.is_sorted_by(|one, other| one.score >= other.score));
        prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0));
        prop_assert!(hits.iter().all(|hit| (hit.score * 1e4).round() / 1e4 == hit.score));
        prop_assert_eq!(OperationIndex::new(documents()).search(&question, first), hits);
    }

    #[test]
    fn scores_do_not_depend_on_the_order_of_the_operations(order in Just((0..OPERATIONS.len()).collect::<Vec<_>>()).prop_shuffle(), at in 0..QUESTIONS.len()) {
        let all: Vec<_> = documents().collect();
        let (question, _) = QUESTIONS[at];
        let shuffled = OperationIndex::new(order.iter().filter_map(|at| all.get(*at).cloned()));
        let scores = |hits: Vec<SearchHit>| hits.into_iter().map(|hit| hit.score).collect::<Vec<_>>();
        let expected = scores(OperationIndex::new(documents()).search(question, 5));
        let other = shuffled.search(question, 5);
        prop_assert_eq!(scores(other), expected);
    }
}

#[test]
fn a_question_for_information_prefers_operations_that_return_it() {
    let index = OperationIndex::new(
        ["create_task", "delete_task", "get_task", "list_tasks"].map(OperationDocument::new),
    );
    let found = |question: &str| -> Vec<usize> {
        index.search(question, 2).iter().map(|hit| hit.operation).collect()
    };
    let mut informing = found("Which tasks are there?");
    informing.sort_unstable();
    assert_eq!(informing, [2, 3]);
    assert_eq!(found("throw the task away")[0], 1);
    assert_eq!(found("enter a task")[0], 0);
}

#[test]
fn a_question_for_information_does_not_lead_to_a_change_that_has_more_of_its_words() {
    let index = OperationIndex::new([
        OperationDocument::new("create_product").parameter("pieces", "The pieces in the stock"),
        OperationDocument::new("get_product"),
    ]);
    let first = |question| index.search(question, 1).first().map(|hit| hit.operation);
    assert_eq!(first("How many pieces of the product are in stock?"), Some(1));
    assert_eq!(first("Put pieces of the product in stock"), Some(0));
}

#[test]
fn paths_without_format_may_be_directories() {
    let names = ["create_directory", "write_file", "list_directory", "read_file"];
    assert_eq!(found_among(&names, "make /srv/data", 1), [0]);
    assert_eq!(found_among(&names, "make /srv/data.txt", 1), [1]);
}

#[test]
fn hosts_are_domains_and_pages_are_not() {
    let names = ["fetch_url", "whois_domain"];
    let found = |question| found_among(&names, question, 2);
    assert!(found("example.org").contains(&1), "{:?}", found("example.org"));
    assert_eq!(found("https://example.org/x.html"), [0]);
}

#[test]
fn misspelled_words_and_numbers_in_words_are_read() {
    let names = ["open_browser", "calculate", "get_tree"];
    assert_eq!(found_among(&names, "caculate", 1), [1]);
    assert_eq!(found_among(&names, "the broswer", 1), [0]);
    assert_eq!(found_among(&names, "three", 1), []);
}

#[test]
fn operations_that_resemble_each_other_lift_each_other() {
    let describe = |name, text| OperationDocument::new(name).description(text);
    let mut all = vec![
        describe("alpha", "The crossing."),
        describe("beta", "The crossing. Harbor timetable islands."),
        describe("gamma", "The ferry. Harbor timetable islands."),
        describe("delta", "The bridge. Valley mountain tunnel."),
    ];
    let is_before = |one, other, all: &[OperationDocument<'static>]| {
        let hits = OperationIndex::new(all.iter().cloned()).search("ferry crossing", 4);
        let place = |wanted| hits.iter().position(|hit| hit.operation == wanted);
        place(one) < place(other)
    };
    assert!(is_before(1, 0, &all));
    all[2] = describe("gamma", "The ferry. Valley mountain tunnel.");
    assert!(is_before(0, 1, &all));
}

#[test]
fn another_operation_of_the_same_name_is_a_later_hit() {
    let of = |group, name| OperationDocument::new(name).group(group, "");
    let index = OperationIndex::new([
        of("disk", "write_file"),
        of("desk", "writeFile"),
        of("disk", "append_to_file"),
        of("disk", "format"),
    ]);
    let found: Vec<_> = index.search("write a file", 3).iter().map(|hit| hit.operation).collect();
    assert_eq!(found, [0, 2, 1]);
}

#[test]
fn everyday_verbs_lead_to_the_change_that_is_meant() {
    for question in ["finish a task", "close the task", "reopen task 7", "complete this task"] {
        assert_eq!(found(question, 1), ["update_task"], "{question}");
    }
    let desk = ["create_order", "update_order", "cancel_order", "ship_order", "list_orders"];
    for (question, expected) in
        [("stop an order", 2), ("void order 7", 2), ("dispatch a parcel", 3)]
    {
        assert_eq!(found_among(&desk, question, 1), [expected], "{question}");
    }
    let shelf = ["create_book", "lend_book", "return_book", "delete_book", "find_books"];
    for (question, expected) in [("borrow a book", 1), ("bring a book back", 2)] {
        assert_eq!(found_among(&shelf, question, 1), [expected], "{question}");
    }
}

#[test]
fn done_is_a_word_of_a_name() {
    // "done" is a common status, although it has little content in a sentence.
    assert_eq!(found_among(&["delete_task", "list_done_tasks"], "done", 2), [1]);
}
