#!/usr/bin/env python3
"""Checks the links of the built book: every local file and every anchor must exist.

    scripts/links.py FOLDER

FOLDER has the HTML files that `mdbook build` has written. Links to other sites are not followed. Exits with 1 if a
target is missing.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(filter(None, (attrs.get("id"), attrs.get("name"))))
        self.links.extend(filter(None, (attrs.get("href"), attrs.get("src"))))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1]).resolve()
    # Links of the page for missing addresses are relative to the root of the site.
    pages = {path: Page(path) for path in root.rglob("*.html") if path.name != "404.html"}
    if not pages:
        sys.exit(f"{sys.argv[1]} has no HTML files")
    missing, count = [], 0
    for path, page in sorted(pages.items()):
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
                missing.append(f"{path.relative_to(root)}: {link}")
    print("\n".join(missing))
    print(f"{count} links of {len(pages)} pages, {len(missing)} without a target")
    sys.exit(bool(missing))


main()
