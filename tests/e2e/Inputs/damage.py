#!/usr/bin/env python3
"""Damages every file of a folder.

usage: damage.py FOLDER flip|cut|empty      a bit in the middle differs; the second half is gone; all is gone
"""

import os
import sys

folder, how = sys.argv[1:]
for name in os.listdir(folder):
    path = os.path.join(folder, name)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    if how == "flip":
        data[len(data) // 2] ^= 1
    else:
        del data[len(data) // 2 if how == "cut" else 0 :]
    with open(path, "wb") as file:
        file.write(data)
