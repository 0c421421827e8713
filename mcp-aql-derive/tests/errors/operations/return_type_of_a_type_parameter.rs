use mcp_aql::prelude::*;
use mcp_aql_tests::register_all;

trait Work: Send + Sync {
    type Output: serde::Serialize + JsonSchema;

    fn done(&self) -> Self::Output;
}

struct Add;

impl Work for Add {
    type Output = Result<u8, String>;

    fn done(&self) -> Self::Output {
        Err("disk full".to_owned())
    }
}

struct Worker<W>(W);

#[operations]
impl<W: Work> Worker<W> {
    /// Get the work that is done.
    #[operation(category = "READ")]
    fn get_work(&self) -> W::Output {
        self.0.done()
    }
}

fn main() {
    register_all(Worker(Add));
}
