//! Tests that `assert_conforms` accepts an ordinary adapter with ten resources of five operations each.
//!
//! You can write such an adapter after the first chapters of the book.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::SelectedFields;
use mcp_aql::testing::conformance::Settings;
use mcp_aql::testing::conformance_report;
use mcp_aql_conformance_tests::found;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Stores records in memory, by their number.
struct Store<T>(Mutex<(u64, BTreeMap<u64, T>)>);

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self(Mutex::new((0, BTreeMap::new())))
    }
}

impl<T: Clone> Store<T> {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, T>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn create(&self, make: impl FnOnce(u64) -> T) -> T {
        let mut guard = self.lock();
        guard.0 += 1;
        let number = guard.0;
        let record = make(number);
        guard.1.insert(number, record.clone());
        record
    }

    fn get(&self, kind: &str, number: u64) -> Result<T, OperationError> {
        self.lock().1.get(&number).cloned().ok_or_else(|| OperationError::not_found(kind, number))
    }

    fn all(&self) -> Vec<T> {
        self.lock().1.values().cloned().collect()
    }

    fn update(
        &self,
        kind: &str,
        number: u64,
        change: impl FnOnce(&mut T),
    ) -> Result<T, OperationError> {
        let mut guard = self.lock();
        let record =
            guard.1.get_mut(&number).ok_or_else(|| OperationError::not_found(kind, number))?;
        change(record);
        Ok(record.clone())
    }

    fn delete(&self, kind: &str, number: u64) -> Result<T, OperationError> {
        self.lock().1.remove(&number).ok_or_else(|| OperationError::not_found(kind, number))
    }
}

/// Defines a resource: its struct, the parameters of its creation, and five operations.
macro_rules! record {
    (
        $(#[$about:meta])*
        $record:ident, $new:ident in $store:ident, $id:ident, $name:literal {
            $create:ident $create_text:literal,
            $get:ident $get_text:literal,
            $list:ident $list_text:literal as $list_kind:ident,
            $update:ident $update_text:literal,
            $delete:ident $delete_text:literal,
        }
        { $($(#[$field_meta:meta])* $field:ident: $type:ty $(=> [$($mark:ident),*])?,)* }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
        struct $record {
            /// Number, assigned on creation.
            #[resource(id)]
            $id: u64,
            $($(#[$field_meta])* $(#[resource($($mark),*)])? $field: $type,)*
        }

        #[derive(ParamGroup)]
        struct $new {
            $($(#[$field_meta])* $field: $type,)*
        }

        #[derive(Default)]
        struct $store(Store<$record>);

        record!(@list $list_kind $record $new $store $id $name
            { $create $create_text $get $get_text $list $list_text $update $update_text $delete $delete_text }
            { $($field)* });
    };
    (@list query $record:ident $new:ident $store:ident $id:ident $name:literal {
        $create:ident $create_text:literal $get:ident $get_text:literal $list:ident $list_text:literal
        $update:ident $update_text:literal $delete:ident $delete_text:literal
    } { $($field:ident)* }) => {
        #[operations]
        impl $store {
            #[doc = $create_text]
            #[operation(category = "CREATE")]
            fn $create(&self, #[param(group)] new: $new) -> $record {
                let $new { $($field),* } = new;
                self.0.create(|$id| $record { $id, $($field),* })
            }

            #[doc = $get_text]
            #[operation(category = "READ")]
            fn $get(
                &self,
                /// Number of the record.
                $id: u64,
                fields: Fields<$record>,
            ) -> Result<SelectedFields<$record>, OperationError> {
                Ok(fields.of(self.0.get($name, $id)?))
            }

            #[doc = $list_text]
            #[operation(category = "READ")]
            fn $list(
                &self,
                query: CollectionQuery<$record>,
            ) -> Result<Page<$record>, OperationError> {
                query.run(&self.0.all())
            }

            #[doc = $update_text]
            #[operation(category = "UPDATE")]
            fn $update(
                &self,
                /// Number of the record.
                $id: u64,
                input: Update<$record>,
            ) -> Result<$record, OperationError> {
                self.0.update($name, $id, |record| input.merge_into(record))
            }

            #[doc = $delete_text]
            #[operation(category = "DELETE")]
            fn $delete(
                &self,
                /// Number of the record.
                $id: u64,
            ) -> Result<$record, OperationError> {
                self.0.delete($name, $id)
            }
        }
    };
    (@list all $record:ident $new:ident $store:ident $id:ident $name:literal {
        $create:ident $create_text:literal $get:ident $get_text:literal $list:ident $list_text:literal
        $update:ident $update_text:literal $delete:ident $delete_text:literal
    } { $($field:ident)* }) => {
        #[operations]
        impl $store {
            #[doc = $create_text]
            #[operation(category = "CREATE")]
            fn $create(&self, #[param(group)] new: $new) -> $record {
                let $new { $($field),* } = new;
                self.0.create(|$id| $record { $id, $($field),* })
            }

            #[doc = $get_text]
            #[operation(category = "READ")]
            fn $get(
                &self,
                /// Number of the record.
                $id: u64,
            ) -> Result<$record, OperationError> {
                self.0.get($name, $id)
            }

            #[doc = $list_text]
            #[operation(category = "READ")]
            fn $list(&self) -> Vec<$record> {
                self.0.all()
            }

            #[doc = $update_text]
            #[operation(category = "UPDATE")]
            fn $update(
                &self,
                /// Number of the record.
                $id: u64,
                input: Update<$record>,
            ) -> Result<$record, OperationError> {
                self.0.update($name, $id, |record| input.merge_into(record))
            }

            #[doc = $delete_text]
            #[operation(category = "DELETE")]
            fn $delete(
                &self,
                /// Number of the record.
                $id: u64,
            ) -> Result<$record, OperationError> {
                self.0.delete($name, $id)
            }
        }
    };
}

/// The progress of a task or a ticket.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// Not started.
    Open,
    /// In progress.
    Active,
    /// Finished.
    Done,
}

/// A step of a project.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Step {
    /// The text of the step.
    text: String,
    /// Whether it is finished.
    done: bool,
}

/// A postal address.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
struct Address {
    /// Street and number.
    street: String,
    /// Town.
    #[resource(filter)]
    town: String,
}

record! {
    /// A task on the board.
    Task, NewTask in Tasks, task_id, "task" {
        create_task "Add a task to the board.",
        get_task "Read one task of the board.",
        list_tasks "List the tasks of the board." as query,
        update_task "Change fields of a task.",
        delete_task "Remove a task from the board.",
    } {
        /// Short title.
        #[param(min_length = 1, max_length = 200)]
        title: String => [search, filter, sort],
        /// The progress of the task.
        status: Status => [filter, sort, group],
        /// 1 is most urgent.
        #[param(minimum = 1, maximum = 5)]
        priority: u8 => [filter, sort, numeric],
        /// Day by which it is due.
        due_date: Option<NaiveDate> => [filter, sort],
    }
}

record! {
    /// A note in a notebook.
    Note, NewNote in Notes, note_id, "note" {
        create_note "Write a note.",
        get_note "Read one note.",
        list_notes "List notes." as query,
        update_note "Change a note.",
        delete_note "Delete a note.",
    } {
        /// First line of the note.
        title: String => [search, sort],
        /// The note itself, in Markdown.
        text: String => [search],
        /// Words to find the note by.
        tags: Vec<String> => [filter],
    }
}

record! {
    /// A project with a budget.
    Project, NewProject in Projects, project_id, "project" {
        create_project "Open a project.",
        get_project "Read one project.",
        list_projects "List projects." as query,
        update_project "Change a project.",
        delete_project "Close a project for good.",
    } {
        /// Name of the project.
        name: String => [search, filter, sort],
        /// Money that it may cost, in euros.
        #[param(minimum = 0)]
        budget: f64 => [filter, sort, numeric],
        /// Steps by their name.
        steps: BTreeMap<String, Step>,
    }
}

record! {
    /// A person in the address book.
    Contact, NewContact in Contacts, contact_id, "contact" {
        create_contact "Add a person to the address book.",
        get_contact "Read a person's entry.",
        list_contacts "List people in the address book." as query,
        update_contact "Correct a person's entry.",
        delete_contact "Remove a person's entry.",
    } {
        /// Full name.
        name: String => [search, filter, sort],
        /// Address for mail.
        #[param(format = "email")]
        email: String => [filter],
        /// Postal address.
        address: Address => [nested],
        /// Telephone number.
        phone: Option<String>,
    }
}

record! {
    /// An event in a calendar.
    Event, NewEvent in Events, event_id, "event" {
        create_event "Put an event into the calendar.",
        get_event "Read one event.",
        list_events "List events." as query,
        update_event "Move or change an event.",
        delete_event "Remove an event.",
    } {
        /// Title of the event.
        title: String => [search, sort],
        /// When it begins.
        starts_at: DateTime<Utc> => [filter, sort],
        /// Mail addresses of the guests.
        guests: Vec<String>,
        /// Room or address.
        place: Option<String> => [filter, group],
    }
}

record! {
    /// A bill to a customer.
    Invoice, NewInvoice in Invoices, invoice_id, "invoice" {
        create_invoice "Enter an invoice into the ledger.",
        get_invoice "Read one invoice.",
        list_invoices "List invoices." as all,
        update_invoice "Correct an invoice.",
        delete_invoice "Cancel an invoice.",
    } {
        /// The customer to bill.
        customer: String,
        /// Amount to be paid, with taxes.
        #[param(minimum = 0)]
        amount: f64,
        /// Currency of the amount.
        #[param(enum = ["EUR", "USD"])]
        currency: String,
        /// Line at the foot of the invoice.
        remark: Option<String>,
    }
}

record! {
    /// A product for sale.
    Product, NewProduct in Products, product_id, "product" {
        create_product "Add a product to the catalogue.",
        get_product "Read a product's entry.",
        list_products "List products of the catalogue." as all,
        update_product "Change a product's entry.",
        delete_product "Remove a product from the catalogue.",
    } {
        /// Name that customers see.
        #[param(min_length = 1)]
        name: String,
        /// Price of one piece in euros.
        price: f64,
        /// Pieces in the warehouse.
        stock: u32,
        /// Free-form properties.
        properties: Map<String, Value>,
    }
}

record! {
    /// A customer's order.
    Order, NewOrder in Orders, order_id, "order" {
        create_order "Place an order.",
        get_order "Read one order.",
        list_orders "List orders." as all,
        update_order "Change an order.",
        delete_order "Withdraw an order.",
    } {
        /// The customer.
        customer: String,
        /// Articles by their number in the catalogue, and how many of each.
        articles: BTreeMap<String, u32>,
        /// Address that the parcel goes to.
        ship_to: Address,
        /// Whether it is sent today, at a surcharge.
        express: bool,
    }
}

record! {
    /// A customer's question.
    Ticket, NewTicket in Tickets, ticket_id, "ticket" {
        create_ticket "Open a ticket.",
        get_ticket "Read one ticket.",
        list_tickets "List tickets." as all,
        update_ticket "Change a ticket.",
        delete_ticket "Remove a ticket.",
    } {
        /// Subject, in one line.
        #[param(min_length = 1, max_length = 120)]
        subject: String,
        /// The text of the ticket.
        text: String,
        /// The progress of the ticket.
        status: Status,
    }
}

record! {
    /// A bookmark.
    Bookmark, NewBookmark in Bookmarks, bookmark_id, "bookmark" {
        create_bookmark "Add a bookmark.",
        get_bookmark "Read one bookmark.",
        list_bookmarks "List bookmarks." as all,
        update_bookmark "Change a bookmark.",
        delete_bookmark "Remove a bookmark.",
    } {
        /// Address of the page.
        #[param(format = "uri")]
        url: String,
        /// Title of the page.
        title: Option<String>,
        /// Words to find it by.
        tags: Vec<String>,
    }
}

fn adapter() -> Result<Adapter, mcp_aql::BuildError> {
    Adapter::builder("office")
        .without_config()
        .operations(Tasks::default())
        .operations(Notes::default())
        .operations(Projects::default())
        .operations(Contacts::default())
        .operations(Events::default())
        .operations(Invoices::default())
        .operations(Products::default())
        .operations(Orders::default())
        .operations(Tickets::default())
        .operations(Bookmarks::default())
        .build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordinary_adapter_with_fifty_operations_reaches_level_2() {
    // REQ-CNF-01, REQ-CNF-02
    let adapter = adapter().expect("the adapter is sound");
    let report = conformance_report(&adapter, Settings::default().allow_all()).await.unwrap();
    let found = found(&report);
    assert_eq!(report.conformance_level, 2, "{:#?}\n{found:#?}", report.obstacles);
    assert!(found.is_empty(), "{found:#?}");
    assert!(report.left_behind.is_empty(), "{:?}", report.left_behind);
}
