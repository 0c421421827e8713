//! Builds HTML from parts that cannot break the markup: tags are `'static`, and strings are escaped.

/// The elements followed by a newline, so that two pages can be compared line by line.
const BLOCKS: [&str; 24] = [
    "head", "title", "header", "footer", "nav", "main", "section", "article", "div", "h1", "h2",
    "h3", "h4", "p", "ul", "li", "dl", "dd", "table", "thead", "tbody", "tr", "pre", "figure",
];

/// An HTML page under construction.
#[derive(Default)]
pub(super) struct Html {
    text: String,
}

impl Html {
    /// Appends markup, or the contents of `style` or `script`, without escaping.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.text.push_str(markup);
    }

    /// Appends a string from any source. It is escaped.
    pub(super) fn text(&mut self, text: &str) {
        for each in text.chars() {
            match each {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                '\n' | '\t' => self.text.push(each),
                _ if each.is_control() => self.text.push(char::REPLACEMENT_CHARACTER),
                _ => self.text.push(each),
            }
        }
    }

    /// Appends an element. `inside` appends its content.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        inside: impl FnOnce(&mut Self),
    ) {
        self.open(tag, attributes);
        inside(self);
        self.text.push_str("</");
        self.text.push_str(tag);
        self.text.push('>');
        if BLOCKS.contains(&tag) {
            self.text.push('\n');
        }
    }

    /// Appends an element whose content is a string.
    pub(super) fn leaf(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        text: &str,
    ) {
        self.element(tag, attributes, |html| html.text(text));
    }

    fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.text.push('<');
        self.text.push_str(tag);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.text(value);
            self.text.push('"');
        }
        self.text.push('>');
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_wherever_it_stands() {
        let mut html = Html::default();
        html.leaf("p", &[("title", "\" onclick='x'")], "<img onerror=\"a()\"> & </script>\u{7}");
        assert_eq!(
            html.finish(),
            "<p title=\"&quot; onclick=&#39;x&#39;\">&lt;img onerror=&quot;a()&quot;&gt; &amp; \
             &lt;/script&gt;\u{fffd}</p>\n"
        );
    }
}
