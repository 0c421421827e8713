//! The way from a request to a source file.

use crate::database::{Database, Error, MAX_TABLES, Request};
use crate::resource::Resource;
use crate::table::Table;
use crate::{postgres, render, sqlite};

/// The generated source, and remarks about tables and columns that it leaves out.
#[derive(Debug, Clone)]
pub struct Generated {
    /// A complete `main.rs`.
    pub source: String,
    /// The parts that are missing, one sentence each.
    pub remarks: Vec<String>,
}

/// Reads the tables and writes the source of an adapter.
///
/// # Errors
/// If the database cannot be read, a requested table does not exist, or no table can be a resource.
pub async fn generate(request: &Request) -> Result<Generated, Error> {
    let tables = match &request.database {
        Database::Postgres(url) => {
            let schema = request.schema.as_deref().unwrap_or("public");
            postgres::tables(url, schema, &request.tables).await?
        }
        Database::Sqlite(path) => sqlite::tables(path, &request.tables)?,
    };
    write(request, &tables)
}

fn write(request: &Request, tables: &[Table]) -> Result<Generated, Error> {
    let mut resources: Vec<Resource> = Vec::new();
    let mut remarks = Vec::new();
    for table in tables {
        match Resource::of(table, tables) {
            Ok(resource) => {
                let same = |other: &&Resource| other.type_name == resource.type_name;
                if let Some(other) = resources.iter().find(same) {
                    return Err(Error::SameName(other.table.clone(), resource.table));
                }
                remarks.extend(resource.remarks.iter().cloned());
                resources.push(resource);
            }
            Err(remark) => remarks.push(remark),
        }
    }
    if resources.is_empty() {
        return Err(Error::NoResource(remarks));
    }
    if resources.len() > MAX_TABLES {
        return Err(Error::TooMany(resources.len()));
    }
    let source = render::source(request, &resources);
    Ok(Generated { source, remarks })
}
