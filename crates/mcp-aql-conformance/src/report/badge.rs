//! Renders the conformance level as an SVG badge.

use super::Report;

impl Report {
    /// Renders an SVG image for a README, for example "MCP-AQL level 2".
    ///
    /// The title of the image also states the share of exercised checks. The image contains no strings of the adapter,
    /// so you can embed it safely.
    pub fn badge(&self) -> String {
        let (said, colour) = match (!self.is_reached(), self.conformance_level) {
            (true, _) => ("untested".to_owned(), "#6e6e6e"),
            (false, _) if self.is_subset() || self.interrupted => {
                ("untested".to_owned(), "#6e6e6e")
            }
            (false, 0) => ("no level".to_owned(), "#b3362b"),
            (false, level @ 1) => (format!("level {level}"), "#1f6feb"),
            (false, level) => (format!("level {level}"), "#1a7f4b"),
        };
        let title = match !self.is_reached() {
            true => said.clone(),
            false => format!("{said}, {} % exercised", self.coverage.percent),
        };
        BADGE.replace("TITLE", &title).replace("SAID", &said).replace("COLOUR", colour)
    }
}

const BADGE: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" width="122" height="20" role="img" aria-label="MCP-AQL TITLE">
  <title>MCP-AQL TITLE</title>
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
