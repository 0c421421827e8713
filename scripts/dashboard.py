"""Draws the panels of a Grafana dashboard with data of Prometheus, as an HTML page, and takes screenshots of it.

The page resembles Grafana only in the arrangement of the panels. It shows whether the queries give sensible data."""

import html
import subprocess
import sys
from pathlib import Path

import third_party
from console import PLAYWRIGHT, chromium

COLORS = ("#73bf69", "#f2cc0c", "#5794f2", "#ff780a", "#b877d9", "#e02f44", "#37872d", "#8ab8ff", "#ffb357", "#fade2a")
WIDTH, HEIGHT = 600, 180
STYLE = """
body { background: #111217; color: #ccccdc; font: 14px/1.4 sans-serif; margin: 12px }
main { display: grid; grid-template-columns: repeat(24, 1fr); gap: 8px }
section { background: #181b1f; border: 1px solid #2c3235; border-radius: 2px; padding: 8px; min-width: 0 }
h1 { font-size: 20px } h2 { grid-column: 1 / -1; font-size: 16px; margin: 8px 0 0 } h3 { font-size: 14px; margin: 0 0 4px }
svg { width: 100%; height: auto; display: block } .value { font-size: 26px; color: #73bf69 }
ul { list-style: none; display: flex; flex-wrap: wrap; gap: 0 12px; margin: 4px 0 0; padding: 0; font-size: 12px }
li { overflow-wrap: anywhere } i { display: inline-block; width: 12px; height: 3px; margin-right: 4px; vertical-align: middle }
table { border-collapse: collapse; display: block; overflow-x: auto } td, th { padding: 2px 12px 2px 0; text-align: left }
@media (max-width: 768px) { main { display: block } section { margin-bottom: 8px } }
"""


def written(value, unit):
    """Formats a value with its unit as Grafana does."""
    if unit == "percentunit":
        return f"{value:.1%}"
    if unit == "s":
        for size, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}"
        return "0 s"
    return f"{value:.3g}" + {"reqps": " req/s", "ops": " ops/s"}.get(unit, "")


def points(series):
    return [(float(at), float(value)) for at, value in series["values"] if value != "NaN"]


def name_of(legend, series):
    for label, value in series["metric"].items():
        legend = legend.replace("{{" + label + "}}", value)
    return legend


def chart(data, unit, stacked):
    """Draws time series, one upon the other if they are stacked."""
    lines = [(name_of(legend, one), points(one)) for legend, series in data for one in series]
    lines = [(name, line) for name, line in lines if line]
    base = {}
    if stacked:
        for index, (name, line) in enumerate(lines):
            line = [(at, value + base.get(at, 0)) for at, value in line]
            base.update(line)
            lines[index] = (name, line)
    times = [at for _, line in lines for at, _ in line]
    first, last = min(times, default=0), max(times, default=1)
    top = max((value for _, line in lines for _, value in line), default=0) or 1
    left, bottom = 70, 18
    horizontal = lambda at: left + (WIDTH - left) * (at - first) / ((last - first) or 1)
    vertical = lambda value: (HEIGHT - bottom) * (1 - value / top / 1.05)
    parts = []
    for share in (0, 0.5, 1):
        y = vertical(top * share)
        parts.append(f'<path d="M{left} {y:.1f}H{WIDTH}" stroke="#2c3235"/><text x="{left - 6}" y="{y + 4:.1f}" fill="#9a9ba2" '
                     f'font-size="12" text-anchor="end">{html.escape(written(top * share, unit))}</text>')
    parts.append(f'<text x="{left}" y="{HEIGHT - 2}" fill="#9a9ba2" font-size="12">0 s</text><text x="{WIDTH}" y="{HEIGHT - 2}" '
                 f'fill="#9a9ba2" font-size="12" text-anchor="end">{last - first:.0f} s</text>')
    keys = []
    for index, (name, line) in enumerate(lines):
        color = COLORS[index % len(COLORS)]
        path = "L".join(f"{horizontal(at):.1f} {vertical(value):.1f}" for at, value in line)
        parts.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        keys.append(f'<li><i style="background: {color}"></i>{html.escape(name)}</li>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(parts)}</svg><ul>{"".join(keys)}</ul>'


def content(panel, data):
    unit = panel["fieldConfig"]["defaults"].get("unit", "none")
    if panel["type"] == "stat":
        last = points(data[0][1][0])[-1:]
        return f'<div class="value">{html.escape(written(last[0][1], unit) if last else "no data")}</div>'
    if panel["type"] == "table":
        rows = [one["metric"] for _, series in data for one in series]
        names = [name for name in rows[0] if name not in ("__name__", "job")]
        cells = lambda tag, values: "<tr>" + "".join(f"<{tag}>{html.escape(value)}</{tag}>" for value in values) + "</tr>"
        return "<table>" + cells("th", names) + "".join(cells("td", [row.get(name, "") for name in names]) for row in rows) + "</table>"
    return chart(data, unit, panel["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"] == "normal")


def draw(shown, pictures):
    """Writes the page and its screenshots into a folder."""
    parts = []
    for panel, data in shown:
        if panel["type"] == "row":
            parts.append(f"<h2>{html.escape(panel['title'])}</h2>")
            continue
        parts.append(f'<section style="grid-column: span {panel["gridPos"]["w"]}" title="{html.escape(panel["description"])}">'
                     f"<h3>{html.escape(panel['title'])}</h3>{content(panel, data)}</section>")
    pictures.mkdir(parents=True, exist_ok=True)
    page = pictures / "dashboard.html"
    page.write_text('<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                    f"<title>mcp-aql</title><style>{STYLE}</style><h1>mcp-aql</h1><main>{''.join(parts)}</main></html>")
    script = Path(__file__).with_name("dashboard.mjs")
    subprocess.run([third_party.node(), script, chromium(), third_party.npm(*PLAYWRIGHT), page.resolve(), pictures.resolve()],
                   check=True, timeout=300, stdout=sys.stderr)
