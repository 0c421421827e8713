#!/usr/bin/env python3
"""Draws the crates of this workspace from `cargo metadata`, and the stages of a call from their source.

    scripts/pictures.py            writes book/src/images/crates.svg and book/src/images/stages.svg
    scripts/pictures.py --check    exits with 1 if one of these files is not up to date

Packages that are not published, such as tests and benchmarks, are left out. A dependency that other arrows imply is not
drawn. The arrow of an optional dependency is dashed.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "book/src/images"
STAGES = ROOT / "crates/mcp-aql-core/src/call"

# Sizes in pixels.
BOX_WIDTH, BOX_HEIGHT = 196, 44
COLUMN_GAP, ROW_GAP, MARGIN = 36, 64, 16
# The width of the gap through which an arrow passes a row.
LANE_WIDTH = 12

STYLE = """
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2937; text-anchor: middle; }
    .box { fill: #ffffff; stroke: #6b7280; stroke-width: 1.5; }
    .key { fill: #e0ecff; stroke: #2563eb; stroke-width: 2; }
    .line { fill: none; stroke: #6b7280; stroke-width: 1.6; }
    .optional { stroke-dasharray: 4 4; }
    .tip { fill: #6b7280; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e5e7eb; }
      .box { fill: #1f2937; stroke: #9ca3af; }
      .key { fill: #16294d; stroke: #60a5fa; }
      .line { stroke: #9ca3af; }
      .tip { fill: #9ca3af; }
    }
"""


def dependencies():
    """Returns the published crates, each with its dependencies among them and whether each of these is optional."""
    metadata = json.loads(subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE,
    ).stdout)
    published = [package for package in metadata["packages"] if package["publish"] is None]
    names = {package["name"] for package in published}
    crates = {}
    for package in sorted(published, key=lambda package: package["name"]):
        direct = crates.setdefault(package["name"], {})
        for dependency in package["dependencies"]:
            if dependency["kind"] is None and dependency["name"] in names:
                optional = direct.get(dependency["name"], True) and dependency["optional"]
                direct[dependency["name"]] = optional
    return crates


def reachable(crates, start):
    """Returns the crates that a crate always depends on, directly or not."""
    found, pending = set(), [start]
    while pending:
        for name, optional in crates[pending.pop()].items():
            if not optional and name not in found:
                found.add(name)
                pending.append(name)
    return found


def reduced(crates):
    """Leaves out each dependency that another path implies."""
    return {
        name: {
            target: optional for target, optional in direct.items()
            if not any(
                target in reachable(crates, other)
                for other, other_optional in direct.items() if other != target and not other_optional
            )
        }
        for name, direct in crates.items()
    }


def layers(crates):
    """Returns rows in which every arrow points downwards, and each arrow as the points that it passes.

    A point is a crate's name, or a tuple of the arrow and a row where the arrow passes other crates.
    """
    depth = {}

    def depth_of(name):
        if name not in depth:
            depth[name] = 1 + max((depth_of(target) for target in crates[name]), default=-1)
        return depth[name]

    height = max(map(depth_of, crates))
    rows = [[] for _ in range(height + 1)]
    for name in crates:
        rows[height - depth[name]].append(name)
    arrows = []
    for name, direct in crates.items():
        for target, optional in direct.items():
            passed = range(height - depth[name] + 1, height - depth[target])
            lanes = [(name, target, row) for row in passed]
            for lane in lanes:
                rows[lane[2]].append(lane)
            arrows.append(([name, *lanes, target], optional))
    return rows, arrows


def width(point):
    return BOX_WIDTH if isinstance(point, str) else LANE_WIDTH


def place(rows, arrows):
    """Orders each row to avoid crossings, and returns the centre of every point and the picture's width."""
    links = {}
    for path, _ in arrows:
        for above, below in zip(path, path[1:]):
            links.setdefault(above, []).append(below)
            links.setdefault(below, []).append(above)
    centre = {}

    def spread(row):
        total = sum(map(width, row)) + COLUMN_GAP * (len(row) - 1)
        left = (full - total) / 2
        for point in row:
            centre[point] = left + width(point) / 2
            left += width(point) + COLUMN_GAP

    full = max(sum(map(width, row)) + COLUMN_GAP * (len(row) - 1) for row in rows)
    for row in rows:
        spread(row)
    for sweep in range(8):
        for index, row in list(enumerate(rows))[:: 1 if sweep % 2 else -1]:
            beside = {point for other in (index - 1, index + 1) if 0 <= other < len(rows) for point in rows[other]}

            def middle(point):
                around = [centre[other] for other in links.get(point, []) if other in beside]
                return sum(around) / len(around) if around else centre[point]

            row.sort(key=lambda point: (middle(point), str(point)))
            spread(row)
    return centre, full


def draw(crates):
    rows, arrows = layers(crates)
    centre, full = place(rows, arrows)
    top = {point: MARGIN + index * (BOX_HEIGHT + ROW_GAP) for index, row in enumerate(rows) for point in row}
    right = full + 2 * MARGIN
    bottom = 2 * MARGIN + len(rows) * (BOX_HEIGHT + ROW_GAP) - ROW_GAP
    parts = []
    for path, optional in arrows:
        line = []
        for above, below in zip(path, path[1:]):
            start_x, end_x = MARGIN + centre[above], MARGIN + centre[below]
            start_y, end_y = top[above] + BOX_HEIGHT, top[below]
            bend = (start_y + end_y) / 2
            line.append(f"{'L' if line else 'M'}{start_x:g} {start_y:g}")
            line.append(f"C{start_x:g} {bend:g} {end_x:g} {bend:g} {end_x:g} {end_y:g}")
        style = "line optional" if optional else "line"
        parts.append(f'  <path class="{style}" d="{" ".join(line)}" marker-end="url(#tip)"/>')
    for name in crates:
        left, above = MARGIN + centre[name] - BOX_WIDTH / 2, top[name]
        style = "box key" if name == "mcp-aql" else "box"
        parts.append(
            f'  <rect class="{style}" x="{left:g}" y="{above:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8"/>'
        )
        parts.append(f'  <text x="{left + BOX_WIDTH / 2:g}" y="{above + BOX_HEIGHT / 2 + 5:g}">{escape(name)}</text>')
    described = "; ".join(
        f"{name} depends on {', '.join(direct)}" for name, direct in crates.items() if direct
    )
    return picture(right, bottom, "The crates of mcp-aql", described, parts)


def picture(right, bottom, title, described, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right:g} {bottom:g}" role="img" '
        'aria-labelledby="title desc">',
        f'  <title id="title">{escape(title)}</title>',
        f'  <desc id="desc">{escape(described)}.</desc>',
        f"  <style>{STYLE}  </style>",
        '  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>',
        *parts,
        "</svg>",
        "",
    ])


def stages():
    """Returns the stages of a call in the order in which `Pipeline` calls them: name, purpose, and the type that the
    stage returns."""
    source = (STAGES / "mod.rs").read_text(encoding="utf-8")
    # A stage is a file, or the `mod.rs` of a folder.
    files = {(file.parent.name if file.stem == "mod" else file.stem): file
             for file in [*STAGES.glob("*.rs"), *STAGES.glob("*/mod.rs")]}
    # Functions of `Pipeline` that call a part of the stages.
    parts = {"read", "permit_and_validate", "admit_and_run"}

    def called(function):
        body = source[re.search(rf" fn {function}\b", source).start():]
        body = body[:body.index("\n    }\n")]
        found = dict.fromkeys(re.findall(r"self\.(\w+)\(", body))
        return [stage for name in found if name in files.keys() | parts
                for stage in (called(name) if name in parts else [name])]

    order = dict.fromkeys(called("receive") + called("answer"))
    result = []
    for name in order:
        text = files[name].read_text(encoding="utf-8")
        purpose = re.match(r"//! \w+: (.*(?:\n//! .*)*)", text).group(1).replace("\n//! ", " ").split(". ")[0]
        signature = re.search(rf"fn {name}\b[^{{;]*?-> (?:impl Future<Output = )?(?:Result<)?(\w+)", text).group(1)
        result.append((name, purpose.rstrip("."), {"usize": "the index of the operation"}.get(signature, signature)))
    return result


def draw_stages(found):
    """Draws the stages from top to bottom: each name with its purpose, and on the arrow the type that it returns."""
    left, wide, high, gap = MARGIN, 740, 48, 40
    parts = []
    for index, (name, purpose, returned) in enumerate(found):
        above = MARGIN + index * (high + gap)
        style = "box key" if name == "admit" else "box"
        parts.append(f'  <rect class="{style}" x="{left}" y="{above}" width="{wide}" height="{high}" rx="8"/>')
        parts.append(f'  <text x="{left + 60}" y="{above + high / 2 + 5:g}" font-weight="bold">{name}</text>')
        parts.append(
            f'  <text x="{left + 120}" y="{above + high / 2 + 5:g}" style="text-anchor: start">{escape(purpose)}</text>'
        )
        middle, below = left + wide / 2, above + high
        if index + 1 < len(found):
            line = f"M{middle:g} {below} V{below + gap}"
            parts.append(f'  <path class="line" d="{line}" marker-end="url(#tip)"/>')
        parts.append(
            f'  <text x="{middle + 14:g}" y="{below + gap / 2 + 4:g}" style="text-anchor: start">{returned}</text>'
        )
    described = "; ".join(f"{name} {purpose} and returns {returned}" for name, purpose, returned in found)
    bottom = MARGIN + len(found) * (high + gap)
    return picture(left + wide + MARGIN, bottom, "The stages of a call", described, parts)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    pictures = {"crates.svg": draw(reduced(dependencies())), "stages.svg": draw_stages(stages())}
    for name, drawn in pictures.items():
        file = IMAGES / name
        if not sys.argv[1:]:
            file.write_text(drawn, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != drawn:
            sys.exit(f"{file.relative_to(ROOT)} is not up to date: run scripts/pictures.py")


if __name__ == "__main__":
    main()
