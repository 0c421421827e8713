//! Defines the ten kinds of record, for both implementations.

/// Passes all kinds to the macro `$define`. It generates the operations from them.
///
/// A kind has this form. The field after `status` filters the list:
///
/// ```text
/// Type in field_of_the_store, id "Description.", filter_field "Description." {
///     create_… "Description.", get_… "Description.", …
///     required { field: Type, … }
///     optional { field: Type, … }
/// }
/// ```
macro_rules! kinds {
    ($define:ident) => {
        $define! {
            /// A piece of work on the board.
            Task in tasks, task_id "Number of the task.", status "Only tasks with this status." {
                create_task "Add a task to the board.",
                get_task "Read one task of the board.",
                list_tasks "List the tasks of the board, oldest first.",
                update_task "Change fields of a task. What is left out stays as it is.",
                delete_task "Take a task off the board, and return it once more.",
                required {
                    /// Short title, as it stands on the board.
                    title: String,
                    /// Where the work stands: todo, doing or done.
                    status: String,
                    /// 1 is most urgent, 5 can wait.
                    priority: u8,
                }
                optional {
                    /// Who does it.
                    assignee: String,
                    /// Day by which it has to be done, as in 2031-05-06.
                    due_date: String,
                }
            }

            /// A note in a notebook.
            Note in notes, note_id "Number of the note.", notebook "Only notes of this notebook." {
                create_note "Write a note into a notebook.",
                get_note "Read one note.",
                list_notes "List notes, oldest first.",
                update_note "Change a note. What is left out stays as it is.",
                delete_note "Tear out a note, and return it once more.",
                required {
                    /// First line of the note.
                    title: String,
                    /// The note itself, in Markdown.
                    text: String,
                    /// Notebook that the note belongs to.
                    notebook: String,
                }
                optional {
                    /// Words to find the note by.
                    tags: Vec<String>,
                }
            }

            /// A project with a budget.
            Project in projects, project_id "Number of the project.", owner "Only projects of this person." {
                create_project "Open a project.",
                get_project "Read one project with its budget.",
                list_projects "List projects, oldest first.",
                update_project "Change the plan of a project. What is left out stays as it is.",
                delete_project "Close a project for good, and return it once more.",
                required {
                    /// Name of the project.
                    name: String,
                    /// Who answers for it.
                    owner: String,
                    /// Money that it may cost, in euros.
                    budget: f64,
                }
                optional {
                    /// What is to be reached, in a sentence or two.
                    goal: String,
                    /// Last day of the project, as in 2031-05-06.
                    ends_on: String,
                }
            }

            /// A person in the address book.
            Contact in contacts, contact_id "Number of the contact.", company "Only people of this company." {
                create_contact "Add a person to the address book.",
                get_contact "Read a person's entry in the address book.",
                list_contacts "List people in the address book, first added first.",
                update_contact "Correct a person's entry. What is left out stays as it is.",
                delete_contact "Strike a person off the address book, and return the entry once more.",
                required {
                    /// Full name.
                    name: String,
                    /// Address for mail, as in ada@example.org.
                    email: String,
                    /// Company that the person works for.
                    company: String,
                }
                optional {
                    /// Telephone number with the country's code.
                    phone: String,
                }
            }

            /// An event in a calendar.
            Event in events, event_id "Number of the event.", calendar "Only events of this calendar." {
                create_event "Put an event into a calendar.",
                get_event "Read one event with its guests.",
                list_events "List events, first entered first.",
                update_event "Move or change an event. What is left out stays as it is.",
                delete_event "Call off an event, and return it once more.",
                required {
                    /// What the event is called in the calendar.
                    title: String,
                    /// Calendar that shows the event.
                    calendar: String,
                    /// When it begins, as in 2031-05-06T09:00:00Z.
                    starts_at: String,
                }
                optional {
                    /// When it ends, in the same form.
                    ends_at: String,
                    /// Room or address.
                    place: String,
                    /// Mail addresses of those who are invited.
                    guests: Vec<String>,
                }
            }

            /// A bill to a customer.
            Invoice in invoices, invoice_id "Number in the ledger.", customer "Only invoices to this customer." {
                create_invoice "Enter an invoice into the ledger.",
                get_invoice "Read one invoice of the ledger.",
                list_invoices "List invoices of the ledger, oldest first.",
                update_invoice "Correct an invoice. What is left out stays as it is.",
                delete_invoice "Cancel an invoice, and return it once more.",
                required {
                    /// Number as printed on the invoice.
                    number: String,
                    /// Who has to pay.
                    customer: String,
                    /// Sum to be paid, with taxes.
                    amount: f64,
                    /// Currency of the sum, as in EUR.
                    currency: String,
                }
                optional {
                    /// Day of payment, as in 2031-05-06.
                    due_date: String,
                    /// Line at the foot of the invoice.
                    remark: String,
                }
            }

            /// Something for sale.
            Product in products, product_id "Number in the catalogue.", category "Only products of this category." {
                create_product "Take a product into the catalogue.",
                get_product "Read a product's entry in the catalogue.",
                list_products "List products of the catalogue.",
                update_product "Change a product's entry. What is left out stays as it is.",
                delete_product "Drop a product from the catalogue, and return it once more.",
                required {
                    /// Name that customers see.
                    name: String,
                    /// Shelf of the shop that it stands on.
                    category: String,
                    /// Price of one piece in euros.
                    price: f64,
                }
                optional {
                    /// Pieces in the warehouse.
                    stock: u32,
                    /// What customers read below the picture.
                    description: String,
                }
            }

            /// What a customer has ordered.
            Order in orders, order_id "Number of the order.", customer "Only orders of this customer." {
                create_order "Place an order.",
                get_order "Read one order with its articles.",
                list_orders "List orders, oldest first.",
                update_order "Change an order that was not sent yet. What is left out stays as it is.",
                delete_order "Withdraw an order, and return it once more.",
                required {
                    /// Who ordered.
                    customer: String,
                    /// Articles by their number in the catalogue.
                    articles: Vec<u64>,
                    /// Address that the parcel goes to.
                    ship_to: String,
                }
                optional {
                    /// Send it today, at a surcharge.
                    express: bool,
                }
            }

            /// A customer's question or complaint.
            Ticket in tickets, ticket_id "Number of the ticket.", queue "Only tickets in this queue." {
                create_ticket "Open a ticket at the help desk.",
                get_ticket "Read one ticket of the help desk.",
                list_tickets "List tickets, longest waiting first.",
                update_ticket "Change a ticket, or pass it on. What is left out stays as it is.",
                delete_ticket "Remove a ticket from the help desk, and return it once more.",
                required {
                    /// What it is about, in one line.
                    subject: String,
                    /// Mail address of the person who asks.
                    reporter: String,
                    /// Queue of the help desk where it waits.
                    queue: String,
                }
                optional {
                    /// 1 when nothing works, 4 for a wish.
                    severity: u8,
                    /// Who looks after it.
                    assignee: String,
                }
            }

            /// A remark below another record.
            Comment in comments, comment_id "Number of the comment.", author "Only comments of this person." {
                create_comment "Comment on a record.",
                get_comment "Read one comment.",
                list_comments "List comments, oldest first.",
                update_comment "Edit a comment. What is left out stays as it is.",
                delete_comment "Remove a comment, and return it once more.",
                required {
                    /// Who says it.
                    author: String,
                    /// What is said, in Markdown.
                    text: String,
                    /// Record that is commented on, as in task/17.
                    subject: String,
                }
                optional {
                    /// Number of the comment that this one answers.
                    reply_to: u64,
                }
            }
        }
    };
}

pub(super) use kinds;
