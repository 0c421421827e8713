use mcp_aql::prelude::*;

async fn ask(context: &Context) -> Result<(), OperationError> {
    context.upstream_answered(200, &[]).await
}

fn main() {}
