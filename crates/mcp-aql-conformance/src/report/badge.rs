//! The level as an SVG badge.

use super::Report;

impl Report {
    /// Renders an SVG image that says "MCP-AQL level 2", for a README. It contains no text of the adapter.
    pub fn badge(&self) -> String {
        let (said, colour) = match (!self.is_reached(), self.conformance_level) {
            (true, _) => ("untested".to_owned(), "#6e6e6e"),
            (false, 0) => ("no level".to_owned(), "#b3362b"),
            (false, level @ 1) => (format!("level {level}"), "#1f6feb"),
            (false, level) => (format!("level {level}"), "#1a7f4b"),
        };
        BADGE.replace("SAID", &said).replace("COLOUR", colour)
    }
}

const BADGE: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" width="122" height="20" role="img" aria-label="MCP-AQL SAID">
  <title>MCP-AQL SAID</title>
  <clipPath id="r"><rect width="122" height="20" rx="4"/></clipPath>
  <g clip-path="url(#r)">
    <rect width="66" height="20" fill="#3d444d"/>
    <rect x="66" width="56" height="20" fill="COLOUR"/>
  </g>
  <g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
    <text x="33" y="14" textLength="56" lengthAdjust="spacingAndGlyphs">MCP-AQL</text>
    <text x="94" y="14" textLength="46" lengthAdjust="spacingAndGlyphs">SAID</text>
  </g>
</svg>
"##;
