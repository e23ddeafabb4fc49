"""The results as Markdown, JSON and one page of HTML that needs nothing else."""

import html
import json

from result import show

STYLE = """
:root{color-scheme:light dark;--line:#d0d7de;--soft:#57606a;--met:#1a7f37;--missed:#cf222e}
@media(prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#9198a1;--met:#3fb950;
--missed:#f85149}}
body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;margin:.6em 0}
.wide{overflow-x:auto}
th,td{border:1px solid var(--line);padding:.25em .7em;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
.soft{color:var(--soft)}.met{color:var(--met)}.missed{color:var(--missed);font-weight:600}
"""


def set_up_words(set_up):
    return (f"{set_up['machine']}; server on core 0, client on core 1; {set_up['rounds']} "
            f"interleaved rounds of {set_up['seconds']} s; medians. `{set_up['command']}`, "
            f"{set_up['revision']}, {set_up['date']}. Left out: "
            f"{', '.join(set_up['left_out']) or 'nothing'}.")


def markdown_row(cells):
    return "| " + " | ".join(show(cell) for cell in cells) + " |"


def markdown(one):
    lines = [f"### {one.title}", "", markdown_row(one.columns), "|---" * len(one.columns) + "|",
             *map(markdown_row, one.rows), "", *(f"- {target.words()}" for target in one.targets)]
    if one.notes:
        lines += ["", "; ".join(one.notes) + "."]
    return "\n".join(lines) + "\n"


def html_table(columns, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(show(cell))}</{tag}>"
                                for cell in cells) + "</tr>"
    return ("<div class=\"wide\"><table>" + line(columns, "th") +
            "".join(line(row, "td") for row in rows) + "</table></div>")


def html_targets(results):
    rows = []
    for one in results:
        for target in one.targets:
            sign = "≥" if target.at_least else "≤"
            word = "met" if target.met else "missed"
            cells = [f"{one.name}: {target.what}", f"{show(target.value)} {target.unit}",
                     f"{sign} {target.bound:g} {target.unit}"]
            rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) +
                        f"<td class=\"{word}\">{word}</td></tr>")
    return ("<div class=\"wide\"><table><tr><th>target</th><th>median</th><th>bound</th><th></th>"
            "</tr>" + "".join(rows) + "</table></div>")


def page(set_up, results):
    parts = ["<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
             "<meta name=\"viewport\" content=\"width=device-width\">",
             f"<title>Pillion and its peers</title><style>{STYLE}</style></head><body>",
             "<h1>Pillion and its peers</h1>",
             f"<p class=\"soft\">{html.escape(set_up_words(set_up))}</p>",
             "<h2>Targets</h2>", html_targets(results)]
    for one in results:
        parts += [f"<h2>{html.escape(one.title)}</h2>", html_table(one.columns, one.rows)]
        if one.notes:
            parts.append(f"<p class=\"soft\">{html.escape('; '.join(one.notes))}.</p>")
    return "\n".join([*parts, "</body></html>\n"])


def as_json(set_up, results):
    return json.dumps({**set_up, "cases": [one.json() for one in results]}, indent=1,
                      ensure_ascii=False) + "\n"
