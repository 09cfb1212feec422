"""Reads safetensors files, for tests that compare them; any Python 3, no package."""

import json
import struct


def read_tensors(path):
    """name -> (type, shape, bytes) of all tensors."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        numbers = file.read()
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], numbers[slice(*t["data_offsets"])]) for name, t in header.items()}
