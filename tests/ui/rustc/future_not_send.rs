use mcp_aql::prelude::*;

use std::rc::Rc;

async fn pause() {}

/// Find a task.
#[operation(category = "READ")]
async fn get_task() -> usize {
    let shared = Rc::new(1);
    pause().await;
    *shared
}

fn main() {}
