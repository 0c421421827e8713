//! Runs queries with other search engines. Each is used as its documentation says, in the fastest
//! configuration for a single query.

use bm25::{Language, SearchEngineBuilder};
use mcp_aql_bench::Result;
use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::query::QueryParser;
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, TantivyDocument};

/// Number of requested hits, the same as for the aggregator's ranking.
pub(crate) const HITS: usize = 30;
/// The smallest buffer that tantivy's writer accepts, in bytes.
const WRITER_BYTES: usize = 15_000_000;

/// Returns the indices of the best results according to the crate `bm25`, with its English
/// tokenizer.
pub(crate) fn bm25(query: &str, results: &[String]) -> Vec<usize> {
    let corpus = results.iter().map(String::as_str);
    let engine = SearchEngineBuilder::<u32>::with_corpus(Language::English, corpus).build();
    engine.search(query, HITS).into_iter().map(|hit| hit.document.id as usize).collect()
}

/// Returns the indices of the best results according to tantivy, with an index in memory. The index
/// has one segment and English stems, but no positions or stored fields.
pub(crate) fn tantivy(query: &str, results: &[String]) -> Result<Vec<usize>> {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("en_stem")
        .set_index_option(IndexRecordOption::WithFreqs);
    let field =
        schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let mut writer = Index::builder()
        .schema(schema.build())
        .single_segment_index_writer::<TantivyDocument>(RamDirectory::create(), WRITER_BYTES)?;
    for result in results {
        let mut document = TantivyDocument::default();
        document.add_text(field, result);
        writer.add_document(document)?;
    }
    let index = writer.finalize()?;
    let searcher = index.reader()?.searcher();
    let query = QueryParser::for_index(&index, vec![field]).parse_query(query)?;
    let hits = searcher.search(&query, &TopDocs::with_limit(HITS).order_by_score())?;
    // With a single segment, the document id is the index in `results`.
    Ok(hits.into_iter().map(|(_, at)| at.doc_id as usize).collect())
}
