#!/usr/bin/env python3
"""Writes 1,797 handwritten digits as CSV: p0 … p63 are the grey values (0 to 16) of 8 x 8 pixels, then comes `digit`.

usage: make-digits.py OUT.csv      for examples/02-digits.tsr

The table is in Debian's package python3-sklearn. If that is not installed, the package alone is downloaded with
apt-get and the file is extracted from it; nothing is installed.
"""

import csv
import glob
import gzip
import io
import os
import subprocess
import sys
import random
import tarfile
import tempfile

TABLE = "usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"


def table_bytes():
    if os.path.exists("/" + TABLE):
        with open("/" + TABLE, "rb") as file:
            return file.read()
    with tempfile.TemporaryDirectory() as folder:
        command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", "python3-sklearn"]
        subprocess.run(command, cwd=folder, check=True)
        (package,) = glob.glob(os.path.join(folder, "*.deb"))
        files = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as tar:
            return tar.extractfile("./" + TABLE).read()


def main(args):
    if len(args) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        text = gzip.decompress(table_bytes()).decode()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"make-digits: cannot get the package python3-sklearn ({error}); try apt-get update", file=sys.stderr)
        return 1
    rows = [[int(float(value)) for value in row] for row in csv.reader(io.StringIO(text))]
    if len(rows) != 1797 or any(len(row) != 65 for row in rows):
        print(f"make-digits: expected 1797 rows of 65 numbers in {TABLE}", file=sys.stderr)
        return 1
    with open(args[0], "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([f"p{i}" for i in range(64)] + ["digit"])
        # The table lists one writer after another. Shuffling gives a validation set at the end the same writers.
        random.Random(1).shuffle(rows)
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
