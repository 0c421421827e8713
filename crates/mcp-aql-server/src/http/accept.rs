//! The `Accept` header of MCP requests.

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderValue};

/// The media types of MCP over HTTP.
const MEDIA_TYPES: [&str; 2] = ["application/json", "text/event-stream"];

/// Replaces the client's media ranges with the media types of MCP that they cover (RFC 9110,
/// section 12.5.1): rmcp compares literally and would reject `*/*`.
pub(super) fn resolve_wildcards(headers: &mut HeaderMap) {
    if headers.get_all(ACCEPT).iter().all(|header| !header.as_bytes().contains(&b'*')) {
        return;
    }
    let mut ranges = Vec::new();
    for header in headers.get_all(ACCEPT) {
        let Ok(text) = header.to_str() else { return };
        ranges.extend(text.split(',').map(Range::parse));
    }
    if !ranges.iter().any(|range| range.essence.ends_with("/*")) {
        return;
    }
    let covered = MEDIA_TYPES.into_iter().filter(|media_type| is_acceptable(&ranges, media_type));
    let covered = covered.collect::<Vec<_>>().join(", ");
    if let Ok(covered) = HeaderValue::try_from(covered) {
        headers.insert(ACCEPT, covered);
    }
}

/// One media range of the header.
struct Range {
    essence: String,
    is_excluded: bool,
}

impl Range {
    fn parse(text: &str) -> Self {
        let mut parts = text.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_excluded = parts.filter_map(|part| part.split_once('=')).any(|(name, value)| {
            name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0_f32)
        });
        Self { essence, is_excluded }
    }
}

/// Whether the most specific range that covers the media type accepts it.
fn is_acceptable(ranges: &[Range], media_type: &str) -> bool {
    let (main, _) = media_type.split_once('/').unwrap_or_default();
    [media_type, &format!("{main}/*"), "*/*"]
        .into_iter()
        .find_map(|essence| ranges.iter().find(|range| range.essence == essence))
        .is_some_and(|range| !range.is_excluded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_cover_the_types_of_mcp() {
        let both = "application/json, text/event-stream";
        for (accept, resolved) in [
            (&["*/*"][..], both),
            (&["application/json, */*;q=0.1"], both),
            (&["application/*", "text/*"], both),
            (&["TEXT/*, Application/JSON"], both),
            (&["application/*"], "application/json"),
            (&["*/*, text/event-stream;q=0"], "application/json"),
            (&["*/*;q=0.000"], ""),
            // Without a wildcard the header stays as it is.
            (&["application/json;q=0.5, text/html"], "application/json;q=0.5, text/html"),
            (&[], ""),
        ] {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            }
            resolve_wildcards(&mut headers);
            let all = headers.get_all(ACCEPT).iter().map(|one| one.to_str().unwrap());
            assert_eq!(all.collect::<Vec<_>>().join(" and "), resolved, "{accept:?}");
        }
    }
}
