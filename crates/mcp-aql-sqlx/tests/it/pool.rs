//! The book's recipe for a pool of sqlx in an operation. A test of the book compares both.

// The code of the book begins here.
use mcp_aql::prelude::*;
use serde::Serialize;
use sqlx::SqlitePool;

/// A customer.
#[derive(Serialize, JsonSchema)]
struct Customer {
    /// Number of the customer.
    customer_id: i64,
    /// Address of the mailbox.
    email: String,
}

/// Register a customer.
#[operation(category = "CREATE")]
async fn register_customer(
    State(pool): State<SqlitePool>,
    /// Address of the mailbox.
    #[param(format = "email", max_length = 200)]
    email: String,
) -> Result<Customer, OperationError> {
    let statement = "INSERT INTO customer (email) VALUES (?) RETURNING customer_id";
    match sqlx::query_scalar(statement).bind(&email).fetch_one(&pool).await {
        Ok(customer_id) => Ok(Customer { customer_id, email }),
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
            Err(OperationError::already_exists("customer", &email))
        }
        Err(error) => Err(error).or_internal(),
    }
}

/// Get a customer.
#[operation(category = "READ")]
async fn get_customer(
    State(pool): State<SqlitePool>,
    /// Number of the customer.
    customer_id: i64,
) -> Result<Customer, OperationError> {
    let statement = "SELECT email FROM customer WHERE customer_id = ?";
    let email: Option<String> = sqlx::query_scalar(statement)
        .bind(customer_id)
        .fetch_optional(&pool)
        .await
        .or_internal()?;
    let email = email.ok_or_else(|| OperationError::not_found("customer", customer_id))?;
    Ok(Customer { customer_id, email })
}

fn adapter(pool: SqlitePool) -> mcp_aql::Result<Adapter> {
    let builder = Adapter::builder("shop").state(pool);
    Ok(builder.operation(register_customer {}).operation(get_customer {}).build()?)
}
// The code of the book ends here.

#[tokio::test]
async fn operations_use_the_pool_of_their_state() {
    let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).idle_timeout(None);
    let pool = options.max_lifetime(None).connect("sqlite::memory:").await.unwrap();
    let create =
        "CREATE TABLE customer (customer_id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE)";
    sqlx::query(create).execute(&pool).await.unwrap();
    let adapter = adapter(pool.clone()).unwrap();

    let ada = serde_json::json!({ "email": "ada@example.org" });
    let registered = adapter.call("register_customer", ada.clone()).await;
    assert_eq!(registered.data()["customer"]["customer_id"], 1);
    let again = adapter.call("register_customer", ada).await;
    assert_eq!(again.code(), Some("CONFLICT_ALREADY_EXISTS"));

    let get = |id: i64| adapter.call("get_customer", serde_json::json!({ "customer_id": id }));
    assert_eq!(get(1).await.data()["customer"]["email"], "ada@example.org");
    assert_eq!(get(2).await.code(), Some("NOT_FOUND_RESOURCE"));

    sqlx::query("DROP TABLE customer").execute(&pool).await.unwrap();
    let failed = get(1).await;
    assert_eq!(failed.code(), Some("INTERNAL_ERROR"));
    assert!(!failed.error().unwrap().message.contains("customer"));
}
