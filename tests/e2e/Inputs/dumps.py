"""What dumps promise as texts.

    dumps.py again FOLDER
        each dump, parsed and printed again, is the same text; so is the one with locations
    dumps.py columns FOLDER [PHASE=BYTES]...
        95 % of lines within 160 columns, none above 1,000; a phase within its bytes
"""

import pathlib
import subprocess
import sys


def plain_dumps(folder):
    dumps = sorted(path for path in pathlib.Path(folder).glob("*.mlir") if not path.name.endswith(".loc.mlir"))
    assert len(dumps) == 14, f"{folder}: expected a dump of each phase, got {len(dumps)}"
    return dumps


def again(folder):
    for dump in plain_dumps(folder):
        phase = dump.stem.split("-", 1)[1]
        for path in (dump, dump.with_suffix(".loc.mlir")):
            text = subprocess.run(
                ["tessera", "compile", path, "--compile-to", phase], check=True, capture_output=True, text=True
            ).stdout
            assert text == dump.read_text(), f"{path}: printed again, it is another text"


def columns(folder, limits):
    for dump in plain_dumps(folder):
        text = dump.read_text()
        lengths = [len(line) for line in text.splitlines()]
        within = sum(length <= 160 for length in lengths) / len(lengths)
        phase = dump.stem.split("-", 1)[1]
        print(f"{phase:14} {len(text.encode()):8} bytes, {within:7.2%} within 160 columns, longest {max(lengths)}")
        assert within >= 0.95 and max(lengths) <= 1000
        assert len(text.encode()) <= limits.get(phase, len(text.encode())), f"{phase}: expected {limits[phase]} bytes"


if sys.argv[1] == "again":
    for name in sys.argv[2:]:
        again(name)
else:
    columns(sys.argv[2], {phase: int(size) for phase, size in (limit.split("=") for limit in sys.argv[3:])})
