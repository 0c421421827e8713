//! Lists what users say, and the operations that they mean.

/// A sentence, the operation that it asks for, and the parameters or fields of `input` that follow from its words.
#[derive(Debug, Clone, Copy)]
pub struct Sentence {
    /// The words of the user.
    pub says: &'static str,
    /// The operation that the user means.
    pub operation: &'static str,
    /// The parameters that a model must set.
    pub parameters: &'static [&'static str],
}

const fn sentence(
    says: &'static str,
    operation: &'static str,
    parameters: &'static [&'static str],
) -> Sentence {
    Sentence { says, operation, parameters }
}

/// Three or four sentences for each kind of record. Each of the five verbs occurs seven or eight times.
/// If you add a sentence, use words that people say, not the names of operations.
#[rustfmt::skip]
pub const SENTENCES: [Sentence; 37] = [
    sentence("What is still to do on our board?", "list_tasks", &["status"]),
    sentence("Put painting the fence on the board, it is most urgent", "create_task", &["title", "priority"]),
    sentence("Postpone task 14 until the first of June", "update_task", &["task_id", "due_date"]),
    sentence("Nobody needs task 9 any more, take it off the board", "delete_task", &["task_id"]),
    sentence("Write down in the kitchen notebook how the oven is cleaned", "create_note", &["text", "notebook"]),
    sentence("Which notes are in the travel notebook?", "list_notes", &["notebook"]),
    sentence("Show me note 31", "get_note", &["note_id"]),
    sentence("Put the words garden and spring as tags on note 7", "update_note", &["note_id", "tags"]),
    sentence("How much money may project 3 cost?", "get_project", &["project_id"]),
    sentence("Which projects does Mira answer for?", "list_projects", &["owner"]),
    sentence("Raise the budget of the bridge project to 90000 euros", "update_project", &["project_id", "budget"]),
    sentence("Start a project for the new website with Jon as its owner", "create_project", &["name", "owner"]),
    sentence("Which contacts work at Acme?", "list_contacts", &["company"]),
    sentence("Ada has a different phone number now", "update_contact", &["contact_id", "phone"]),
    sentence("Add Grace Hopper to my address book, grace@example.org", "create_contact", &["name", "email"]),
    sentence("Throw the entry of contact 50 out of the address book", "delete_contact", &["contact_id"]),
    sentence("Who are the guests of event 12?", "get_event", &["event_id"]),
    sentence("Enter the summer party into the team calendar for Friday at six", "create_event", &["title", "calendar", "starts_at"]),
    sentence("Move the board meeting to another room", "update_event", &["event_id", "place"]),
    sentence("Call off event 8", "delete_event", &["event_id"]),
    sentence("Move the invoice's due date to Friday", "update_invoice", &["invoice_id", "due_date"]),
    sentence("All invoices that went to the customer Baker & Sons, please", "list_invoices", &["customer"]),
    sentence("Bill the customer Baker 250 EUR: make an invoice", "create_invoice", &["customer", "amount", "currency"]),
    sentence("Cancel invoice 1044 but keep it in the archive", "delete_invoice", &["invoice_id", "archive"]),
    sentence("How many pieces of product 77 are left?", "get_product", &["product_id"]),
    sentence("Lower the price of the red kettle in the catalogue to 19 euros", "update_product", &["product_id", "price"]),
    sentence("We do not sell product 5 any longer, drop it", "delete_product", &["product_id"]),
    sentence("What do we have on the shelf for garden tools, as products?", "list_products", &["category"]),
    sentence("Order two of article 12, send them to Elm Street 4 today", "create_order", &["articles", "ship_to", "express"]),
    sentence("What did customer Lee order so far, show all the orders", "list_orders", &["customer"]),
    sentence("Send order 88 to another address", "update_order", &["order_id", "ship_to"]),
    sentence("Which tickets wait in the hardware queue?", "list_tickets", &["queue"]),
    sentence("Pass the printer ticket on to Mira", "update_ticket", &["ticket_id", "assignee"]),
    sentence("Report to the help desk that nothing works on floor 3", "create_ticket", &["subject", "severity"]),
    sentence("What does ticket 19 say?", "get_ticket", &["ticket_id"]),
    sentence("Answer comment 5: agreed", "create_comment", &["reply_to", "text"]),
    sentence("Get rid of the rude comment 66", "delete_comment", &["comment_id"]),
];
