#!/usr/bin/env python3
"""Reads slope and offset from a safetensors file and says whether they are within 0.01 of 2 and -3."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    header = json.loads(file.read(size))
    body = file.read()
tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
values = {name: struct.unpack_from("<f", body, entry["data_offsets"][0])[0] for name, entry in tensors.items()}
print(values)
if abs(values["slope"] - 2) <= 0.01 and abs(values["offset"] + 3) <= 0.01:
    print("slope and offset within 0.01")
