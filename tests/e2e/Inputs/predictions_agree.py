#!/usr/bin/env python3
"""Computes from predictions what `eval` printed of the same rows.

usage: predictions_agree.py digits EVAL PREDICTIONS     CSV of the echoed label, then the scores
       predictions_agree.py vae EVAL PREDICTIONS        CSV of the echoed image and label, then the outputs
       predictions_agree.py likelihood EVAL PREDICTIONS
       predictions_agree.py same TOLERANCE FILE FILE    two files of predictions, in any format
"""

import csv
import json
import math
import struct
import sys


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    return header, [[float(cell) for cell in line] for line in lines]


def named(header, row):
    """The cells of a row by tensor: {"mu": [mu.0, mu.1, …]}."""
    values = {}
    for name, value in zip(header, row, strict=True):
        values.setdefault(name.split(".")[0], []).append(value)
    return values


def as_float32(values):
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


def read_tensors(path):
    """{name: (shape, values)}, whatever the format; texts are rounded to f32, as they are meant."""
    if path.endswith(".csv"):
        header, rows = read_csv(path)
        tensors = {}
        for row in rows:
            for name, values in named(header, row).items():
                tensors.setdefault(name, []).extend(values)
        return {name: (None, as_float32(values)) for name, values in tensors.items()}
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".npy"):
        length = struct.unpack_from("<H", data, 8)[0]
        header = eval(data[10 : 10 + length].decode())  # a literal of Python
        assert data.startswith(b"\x93NUMPY\x01\x00") and (10 + length) % 64 == 0 and header["descr"] == "<f4", header
        count = math.prod(header["shape"])
        assert len(data) == 10 + length + 4 * count
        return {"": (header["shape"], list(struct.unpack_from(f"<{count}f", data, 10 + length)))}
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32" and end - begin == 4 * math.prod(entry["shape"]), entry
        assert metadata["axes." + name].count(",") + 1 == len(entry["shape"]), metadata
        tensors[name] = entry["shape"], list(struct.unpack_from(f"<{(end - begin) // 4}f", data, 8 + length + begin))
    return tensors


def same(tolerance, first, second):
    left, right = read_tensors(first), read_tensors(second)
    names = left.keys() & right.keys() or {""}
    for name in names:
        (_, a), (_, b) = (tensors.get(name) or next(iter(tensors.values())) for tensors in (left, right))
        assert len(a) == len(b) > 0, (name, len(a), len(b))
        worst = max(abs(x - y) for x, y in zip(a, b))
        assert worst <= float(tolerance), (name, worst)


def digits(rows):
    losses, right = [], []
    for row in rows:
        scores = row["perceptron"]
        label = int(row["label"][0])
        largest = max(scores)
        losses.append(largest + math.log(sum(math.exp(s - largest) for s in scores)) - scores[label])
        right.append(scores.index(largest) == label)
    return {"ce": sum(losses) / len(losses), "right": sum(right) / len(right)}


def vae(rows):
    error = [sum((r - x / 16) ** 2 for r, x in zip(row["recon"], row["image"])) for row in rows]
    kl = [sum(m**2 + s**2 - 1 - math.log(s**2) for m, s in zip(row["mu"], row["spread"])) / 2 for row in rows]
    weighs = [row["heavy"][0] for row in rows]
    guess = [0.01 * (row["label"][0] - sum(row["mu"]) - 4) ** 2 for row in rows]
    for row in rows:
        assert abs(row["heavy"][0] - sum(row["image"]) / 16) < 1e-4
    means = {"error": error, "kl": kl, "weighs": weighs, "guess": guess}
    return {name: sum(values) / len(rows) for name, values in means.items()}


def likelihood(rows):
    values = [value for row in rows for value in row["log_likelihood"]]
    return {"ce": -sum(values) / len(values)}


def evaluated(kind, evaluation, predictions):
    with open(evaluation, encoding="utf-8") as file:
        expected = dict(line.split() for line in file)
    header, lines = read_csv(predictions)
    rows = [named(header, line) for line in lines]
    assert len(rows) == int(expected["rows"]), (len(rows), expected)
    got = {"digits": digits, "vae": vae, "likelihood": likelihood}[kind](rows)
    for name, value in got.items():
        assert abs(value - float(expected[name])) <= 1e-5 * max(1, abs(value)), (name, value, expected)


if sys.argv[1] == "same":
    same(*sys.argv[2:])
else:
    evaluated(*sys.argv[1:])
print("predictions agree")
