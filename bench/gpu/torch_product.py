#!/usr/bin/env python3
"""Prints as JSON how many operations a second a large bf16 product of random numbers does in PyTorch on the GPU."""

import json
import time

import torch

SIZE, PRODUCTS = 8192, 20


def main():
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    fastest = float("inf")
    for _ in range(4):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(PRODUCTS):
            a @ b
        torch.cuda.synchronize()
        fastest = min(fastest, (time.perf_counter() - started) / PRODUCTS)
    print(json.dumps({"flops": 2 * SIZE**3 / fastest}))


if __name__ == "__main__":
    main()
