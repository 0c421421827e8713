use mcp_aql::prelude::*;

fn describe(_: &CollectionQuery<String>) {}

fn main() {}
