use mcp_aql::prelude::*;

async fn ask(context: &Context) -> Result<(), OperationError> {
    context.report_upstream_response(200, &[]).await
}

fn main() {}
