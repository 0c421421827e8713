use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::paging::PageInfo;

/// The keyword of a schema whose values are the whole `data` of a reply: [`Page`] and the graph of
/// relationships have it. It stays inside of the crate.
pub(crate) const DATA_MARK: &str = "x-mcp-aql-data";

/// One page of a collection: `data.items` with `data.pageInfo` beside it.
///
/// ```
/// use mcp_aql::{Page, PageInfo};
///
/// let page = Page::new(vec!["a", "b"], PageInfo::new(true, false).cursors("a", "b"));
/// let json = serde_json::to_value(&page)?;
/// assert_eq!(json["pageInfo"]["hasNextPage"], true);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// What a `CollectionQuery` gives also tells what was applied, shows of each entry what was asked for,
/// and carries the summaries: `data.aggregations`.
///
/// Source: features/pagination §3 (REQ-RSP-11, REQ-PAG-04, REQ-PAG-07), features/aggregations §3
/// (REQ-AGG-04, REQ-AGG-05).
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The entries of this page.
    pub items: Vec<T>,
    /// Where this page lies in the collection.
    pub page_info: PageInfo,
    #[cfg(feature = "query")]
    pub(crate) answer: Option<Box<super::answer::Answer<T>>>,
}

impl<T> Page<T> {
    /// A page of these entries.
    pub fn new(items: Vec<T>, page_info: PageInfo) -> Self {
        Self {
            items,
            page_info,
            #[cfg(feature = "query")]
            answer: None,
        }
    }
}

impl<T: Serialize> Serialize for Page<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[cfg(feature = "query")]
        if let Some(answer) = &self.answer {
            return answer.serialize(self, serializer);
        }
        let mut page = serializer.serialize_struct("Page", 2)?;
        page.serialize_field("items", &self.items)?;
        page.serialize_field("pageInfo", &self.page_info)?;
        page.end()
    }
}

impl<T: JsonSchema> JsonSchema for Page<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Page", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        let info = generator.subschema_for::<PageInfo>();
        #[cfg(feature = "query")]
        let page = json_schema!({
            "type": "object",
            DATA_MARK: true,
            "description": "One page of a collection, and what a query asked for beside it.",
            "properties": {
                "items": {
                    "type": "array",
                    "description": "The entries of this page; none where only summaries were asked for.",
                    "items": items,
                },
                "pageInfo": info,
                "pagination": {
                    "type": "object",
                    "description": "Takes the place of pageInfo where pages have numbers.",
                },
                "aggregations": { "type": "object", "description": "The summaries, by their labels." },
                "applied": { "type": "object", "description": "What was understood of the query." },
            },
        });
        #[cfg(not(feature = "query"))]
        let page = json_schema!({
            "type": "object",
            DATA_MARK: true,
            "description": "One page of a collection.",
            "properties": {
                "items": {
                    "type": "array",
                    "description": "The entries of this page.",
                    "items": items,
                },
                "pageInfo": info,
            },
            "required": ["items", "pageInfo"],
        });
        page
    }
}
