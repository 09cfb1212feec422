"""Prints the events of a folder as TensorBoard finds them, a line each; checks lengths and checksums.

usage: read_events.py FOLDER [METRICS]      with METRICS: also says whether the scalars are those of that file
"""

import json
import pathlib
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        length, length_crc = struct.unpack_from("<QI", data)
        assert masked(data[:8]) == length_crc, "checksum of a length"
        body = data[12 : 12 + length]
        assert masked(body) == struct.unpack_from("<I", data, 12 + length)[0], "checksum of a record"
        yield body
        data = data[16 + length :]


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


def fields(data):
    """(number, value) of a message: integers, bytes, floats."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        yield tag >> 3, value


def main(folder, metrics=None):
    # The files of a folder in the order of their names; what is behind a start is void.
    scalars = []
    for path in sorted(pathlib.Path(folder).iterdir(), key=lambda p: (p.name.split(".")[3], p.stat().st_mtime_ns)):
        for number, body in enumerate(records(path.read_bytes())):
            event = dict(fields(body))
            assert event[1] > 1.7e9, "seconds since 1970"
            if number == 0:
                print("version", event[3].decode())
            elif 7 in event:
                print("start", event[2])
                scalars = [s for s in scalars if s[0] < event[2]]
            for value in (dict(fields(v)) for n, v in fields(event.get(5, b"")) if n == 1):
                scalars.append((event[2], value[1].decode(), value[2]))
    for scalar in scalars:
        print("scalar", *scalar[:2], f"{scalar[2]:.6g}")
    if metrics:
        expected = []
        for record in map(json.loads, open(metrics)):
            values = {**record["losses"], **record["metrics"]}
            values |= {key: record[key] for key in ("rate", "grad_norm") if key in record}
            expected += [(record["step"], record["split"] + "/" + name, number) for name, number in values.items()]
        single = [(step, tag, struct.unpack("<f", struct.pack("<f", number))[0]) for step, tag, number in expected]
        print("as in metrics" if sorted(single) == sorted(scalars) else f"not as in metrics: {sorted(single)}")


main(*sys.argv[1:])
