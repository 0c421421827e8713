//! Defines the scripts of the conversations.

use serde_json::json;

use super::conversation::Step;

/// Returns the task whose transcripts the book shows for three sizes of adapter.
pub(super) fn cancellation() -> Vec<Step> {
    vec![Step {
        says: "Cancel the order o-5581 of ada@example.org, it is no longer needed.",
        search: "find customer by email, get customer, get order, cancel order",
        calls: vec![
            ("find_customer_by_email", json!({ "email": "ada@example.org" })),
            ("get_customer", json!({ "customer_id": "$customer_id" })),
            ("get_order", json!({ "order_id": "o-5581" })),
            ("cancel_order", json!({ "order_id": "o-5581", "reason": "no_longer_needed" })),
        ],
    }]
}

/// Returns tasks at the service desk. Each is a separate conversation.
pub(super) fn desk() -> Vec<Vec<Step>> {
    let find = ("find_customer_by_email", json!({ "email": "ada@example.org" }));
    let customer = ("get_customer", json!({ "customer_id": "c-1042" }));
    let order = ("get_order", json!({ "order_id": "o-5602" }));
    let address =
        json!({ "street": "3 Mill Lane", "city": "Delft", "country": "NL", "zip": "2611" });
    let step = |says, search, calls| vec![Step { says, search, calls }];
    vec![
        cancellation(),
        step(
            "The battery lamp of order o-5602 should be the one with a USB cable.",
            "find customer by name, get order, product variants, calculate price difference, exchange items",
            vec![
                (
                    "find_customer_by_name",
                    json!({ "first_name": "Ada", "last_name": "Jansen", "zip": "3511" }),
                ),
                order.clone(),
                ("get_product", json!({ "product_id": "p-17" })),
                ("calculate_amount", json!({ "expression": "46.0 - 41.5" })),
                (
                    "exchange_items",
                    json!({
                        "order_id": "o-5602", "item_ids": ["i-301"], "new_item_ids": ["i-303"],
                        "payment_id": "card-77",
                    }),
                ),
            ],
        ),
        step(
            "I have moved to 3 Mill Lane in Delft. Send order o-5602 there too.",
            "find customer by email, get customer, change address of customer and order",
            vec![
                find.clone(),
                customer.clone(),
                (
                    "update_customer",
                    json!({ "customer_id": "c-1042", "input": { "address": address } }),
                ),
                ("update_order", json!({ "order_id": "o-5602", "input": { "address": address } })),
            ],
        ),
        step(
            "I want to send the keyboard of order o-5602 back and get the money on my card.",
            "find customer by email, get order, return items for a refund",
            vec![
                find.clone(),
                order.clone(),
                (
                    "return_items",
                    json!({ "order_id": "o-5602", "item_ids": ["i-412"], "payment_id": "card-77" }),
                ),
            ],
        ),
        step(
            "Pay order o-5602 with my gift card instead.",
            "find customer by email, get customer, get order, change payment method of order",
            vec![
                find,
                customer,
                order,
                (
                    "update_order",
                    json!({ "order_id": "o-5602", "input": { "payment_id": "gift-12" } }),
                ),
            ],
        ),
        step(
            "How many lamps do you have?",
            "list products, get product variants",
            vec![("list_products", json!({})), ("get_product", json!({ "product_id": "p-17" }))],
        ),
    ]
}

/// Returns ten ordinary jobs on the board of `examples/tasks`. They refer to the tasks of [`preparation`].
pub(super) fn jobs() -> Vec<Step> {
    let step = |says, search, calls| Step { says, search, calls };
    vec![
        step(
            "Add a task \"Call the landlord\", due on 1 June 2031, very urgent.",
            "create task",
            vec![(
                "create_task",
                json!({ "title": "Call the landlord", "due_date": "2031-06-01", "priority": 1 }),
            )],
        ),
        step(
            "Which tasks are urgent and not done? The titles are enough.",
            "list tasks by priority and status",
            vec![(
                "list_tasks",
                json!({
                    "filter": { "priority": { "lte": 2 }, "status": { "ne": "done" } },
                    "fields": ["task_id", "title"],
                }),
            )],
        ),
        step(
            "Postpone the tax return until 15 July 2031.",
            "search tasks, change due date of task",
            vec![
                ("search_tasks", json!({ "query": "tax return", "fields": "minimal" })),
                (
                    "update_task",
                    json!({ "task_id": "$task_id", "input": { "due_date": "2031-07-15" } }),
                ),
            ],
        ),
        step(
            "The report is finished.",
            "search tasks, change status of task",
            vec![
                ("search_tasks", json!({ "query": "report", "fields": "minimal" })),
                ("update_task", json!({ "task_id": "$task_id", "input": { "status": "done" } })),
            ],
        ),
        step(
            "How many tasks are there in each status?",
            "count tasks by status",
            vec![(
                "list_tasks",
                json!({ "aggregate": { "by_status": { "group_by": "status", "count": true } } }),
            )],
        ),
        step(
            "The tax return needs the receipts: note that t-2 consists of t-3.",
            "link two tasks",
            vec![(
                "link_tasks",
                json!({ "task_id": "t-2", "relationship": "composes", "target_id": "t-3" }),
            )],
        ),
        step(
            "What belongs to task t-2?",
            "links between tasks",
            vec![(
                "query_relationships",
                json!({
                    "root": { "element_type": "task", "element_name": "t-2" },
                    "direction": "outgoing", "include": ["relationships"],
                }),
            )],
        ),
        step(
            "What is task t-3 about?",
            "get task",
            vec![("get_task", json!({ "task_id": "t-3", "fields": ["title", "description"] }))],
        ),
        step(
            "Throw task t-4 away.",
            "delete task",
            vec![("delete_task", json!({ "task_id": "t-4" }))],
        ),
        step(
            "Give me all tasks as CSV.",
            "export tasks, get result of execution",
            vec![
                ("execute_export", json!({ "format": "csv" })),
                ("get_execution", json!({ "execution_id": "$execution_id", "wait_seconds": 5 })),
            ],
        ),
    ]
}

/// Returns the script that creates the tasks on the board before the jobs.
pub(super) fn preparation() -> Vec<Step> {
    let create = |params| ("create_task", params);
    vec![Step {
        says: "Add these tasks.",
        search: "create task",
        calls: vec![
            create(json!({ "title": "Write the report", "priority": 2, "due_date": "2031-05-06" })),
            create(
                json!({ "title": "Submit the tax return", "priority": 1, "due_date": "2031-05-31" }),
            ),
            create(json!({
                "title": "Collect the receipts",
                "description": "Those of the trips and of the new desk are missing.",
            })),
            create(json!({ "title": "Old idea", "priority": 5 })),
        ],
    }]
}
