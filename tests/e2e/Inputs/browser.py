"""browser.py PAGE [HASH] [--colors PICTURE COLOR...]: prints what Chromium shows, one line for each element of text.

Rows of tables are one line each, with cells between `|`. Fails if the page reports an error. With --colors it also
makes a picture, and prints how many of its pixels have each of the colours.
"""

import html.parser
import os
import struct
import subprocess
import sys
import tempfile
import zlib

SIZE = (900, 1000)
BLOCKS = ("h1", "h2", "h3", "p", "b", "div", "tr", "caption", "section", "nav", "header")


class Text(html.parser.HTMLParser):
    """The visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.lines, self.hidden = [""], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style", "footer", "noscript")
        if tag in BLOCKS:
            self.lines.append("")
        if tag in ("td", "th"):
            self.lines[-1] += "| "

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "footer", "noscript")
        if tag in BLOCKS:
            self.lines.append("")
        if tag in ("td", "th", "button"):
            self.lines[-1] += " "

    def handle_data(self, data):
        if not self.hidden:
            self.lines[-1] += data


def run(page, *options):
    """What Chromium prints. Errors of the page, which it logs, are errors here."""
    with tempfile.TemporaryDirectory() as profile:
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                   "--enable-logging=stderr", "--force-device-scale-factor=1", *options, page]  # fmt: skip
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    problems = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    assert not problems, problems
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode()


def rows_of(path):
    """The rows of a PNG of 8 bits a channel, with the number of channels."""
    data = open(path, "rb").read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        content = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, color = struct.unpack(">IIBB", content[:10])
        packed += content if kind == b"IDAT" else b""
        at += length + 12
    assert depth == 8, depth
    channels = {2: 3, 6: 4}[color]
    raw, stride, above = zlib.decompress(packed), width * channels, bytearray(width * channels)
    for start in range(0, len(raw), stride + 1):
        filtering, row = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for i in range(stride) if filtering else ():
            left = row[i - channels] if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            near = sorted((left, above[i], corner), key=lambda v: abs(left + above[i] - corner - v))[0]
            row[i] = (row[i] + (0, left, above[i], (left + above[i]) // 2, near)[filtering]) & 255
        yield row, channels
        above = row


def count_colors(path, colors):
    counts = dict.fromkeys(colors, 0)
    for row, channels in rows_of(path):
        pixels = bytes(row)
        for i in range(0, len(pixels), channels):
            color = pixels[i : i + 3].hex()
            if color in counts:
                counts[color] += 1
    return counts


def main(page, *rest):
    address = "file://" + os.path.abspath(page)
    if rest and not rest[0].startswith("--"):
        address += "#" + rest[0]
    for line in Text(run(address, "--dump-dom")).lines:
        if line.strip():
            print(" ".join(line.split()))
    if "--colors" in rest:
        picture, *colors = rest[rest.index("--colors") + 1 :]
        run(address, f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={picture}")
        for color, count in count_colors(picture, colors).items():
            print("color", color, "seen" if count > 1000 else f"{count} pixels only")


main(*sys.argv[1:])
