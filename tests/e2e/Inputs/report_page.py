"""report_page.py PAGE [--manifest FILE] [--text FILE]: checks a report, and prints what it says.

The page must load nothing and run no scripts but its own. Its manifest and its text of the model must be those of FILE.
"""

import argparse
import base64
import hashlib
import html.parser
import json
import re

EMPTY = ("meta", "input", "br", "link", "img")


class Page(html.parser.HTMLParser):
    """The contents of the page's script and style elements, and all its tags with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.contents = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in EMPTY:
            self.open.append(tag)
        if tag in ("script", "style"):
            self.contents.append((tag, dict(attributes), ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            tag, attributes, text = self.contents[-1]
            self.contents[-1] = (tag, attributes, text + data)


def check_is_alone(page):
    """No element loads anything, and the browser may not either."""
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form"), tag
        wrong = {name for name in attributes if name in ("src", "href", "style") or name.startswith("on")}
        assert not wrong, (tag, wrong)
    policy = next(a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'; "), policy
    hashes = set(re.findall(r"'sha256-([^']*)'", policy))
    found = {
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for _, attributes, text in page.contents
        if "type" not in attributes
    }
    assert hashes == found, "a script or a style is not the one that the policy allows"
    assert len(hashes) == 3 and "unsafe" not in policy, policy
    style = next(text for tag, _, text in page.contents if tag == "style")
    assert "url(" not in style and "@import" not in style


def live_at_peak(report):
    """Bytes by kind at the peak of `step`, from the manifest."""
    plan = report["manifest"]["plan"]
    timeline = plan["timelines"]["step"]
    peak, live = timeline["peak"], {}
    states = [(b["kind"], -(-b["bytes"] // report["alignment"]) * report["alignment"])
              for b in plan["buffers"] if b["entry"] == "*"]  # fmt: skip
    values = [(v["kind"], v["bytes"]) for v in timeline["values"] if v["first"] <= peak <= v["last"]]
    for kind, size in states + values:
        live[kind] = live.get(kind, 0) + size
    assert set(live) <= set(report["kinds"]), live
    return live


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--manifest")
    parser.add_argument("--text")
    asked = parser.parse_args()
    page = Page(open(asked.page, encoding="utf-8").read())
    check_is_alone(page)
    scripts = [(attributes, text) for tag, attributes, text in page.contents if tag == "script"]
    data = next(text for attributes, text in scripts if attributes.get("id") == "program")
    assert "<" not in data
    assert "innerHTML" not in scripts[-1][1] and "insertAdjacentHTML" not in scripts[-1][1]
    report = json.loads(data)
    notice = open(asked.page, encoding="utf-8").read()
    assert "Chart.js v3" in notice and "Permission is hereby granted, free of charge" in notice

    print("model", report["model"])
    if asked.manifest:
        assert report["manifest"] == json.load(open(asked.manifest, encoding="utf-8"))
    if asked.text:
        lines = open(asked.text, encoding="utf-8").read().splitlines()
        assert any(text["lines"] == lines for text in report["texts"]), "the page has another text"
    for text in report["texts"]:
        print("text", text["name"], len(text["lines"]), "lines")
    if "manifest" in report:
        live = live_at_peak(report)
        assert live == report["plan"]["peak"]["kinds"], (live, report["plan"]["peak"])
        print("peak", *(f"{kind}={live[kind]}" for kind in sorted(live, key=live.get, reverse=True)))
    for paragraph in report["precision"]["text"]:
        print("precision", paragraph)
    for row in report["precision"]["rows"]:
        print("rounding", " | ".join(str(row[key]) for key in ("value", "line", "op", "type", "times", "why", "saved")))


main()
