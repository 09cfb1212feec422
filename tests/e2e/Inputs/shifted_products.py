"""Writes the convolution of windows.tsr as a sum of nine products, each of a shifted and strided copy of the image."""

import sys

terms = []
for ky in range(3):
    for kx in range(3):
        shifted = f"image[y = pos[y] + {ky - 1} else 0][x = pos[x] + {kx - 1} else 0]"
        thinned = f"{shifted}[y = min(2 * pos[oy], 5), x = min(2 * pos[ox], 4)]".replace("+ -", "- ")
        terms.append(f"over[maps]({thinned}) * over[batch, oy, ox](w[ky = {ky}, kx = {kx}])")
print(sys.stdin.read().replace("  WINDOWS", "  let seen = " + " +\n    ".join(terms)))
