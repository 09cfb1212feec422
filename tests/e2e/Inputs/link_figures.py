#!/usr/bin/env python3
"""Compares the figures of links in a description with those that were measured directly.

usage: link_figures.py DEVICE CLASS LARGE SMALL   what `ranks-program speed` printed, of large and of small exchanges
       link_figures.py DEVICE CLASS --rate BYTES  of the link, a second

A figure may be 10 times beyond what two ranks measured, on the whole and at best, as other work comes and goes; a rate
may differ by a factor of 2.
"""

import re
import sys

UNITS = {"MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def figures_of(path):
    figures = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            found = re.match(r"(link_\S+) = (\S+) (\S+)$", line)
            if found:
                figures[found[1]] = float(found[2]) * UNITS[found[3]]
    return figures


def measured(path, name):
    """Of a collective: bytes a second, and seconds, of each run on the whole and at best."""
    with open(path, encoding="utf-8") as file:
        found = re.findall(name + r" of (\d+) bytes: \S+ GB/s, (\S+) us, (\S+) us at best", file.read())
    assert found, path
    times = [float(time) * 1e-6 for _, mean, best in found for time in (mean, best)]
    return [int(found[0][0]) / 2 / max(time, 1e-9) for time in times], times


def require_near(name, value, expected, factor):
    is_near = min(expected) / factor <= value <= max(expected) * factor
    assert is_near, f"{name}: {value}, expected about {expected}"


def main():
    figures, link = figures_of(sys.argv[1]), sys.argv[2]
    for name in ("all-to-all", "all-gather"):
        entry = f"{link}.{name.replace('-', '_')}"
        bandwidth, latency = figures[f"link_bandwidth.{entry}"], figures[f"link_latency.{entry}"]
        if sys.argv[3] == "--rate":
            require_near(f"bandwidth of {name}", bandwidth, [float(sys.argv[4])], 2)
        else:
            require_near(f"bandwidth of {name}", bandwidth, measured(sys.argv[3], name)[0], 10)
            require_near(f"latency of {name}", latency, measured(sys.argv[4], name)[1], 10)
        print(f"{name}: near")


main()
