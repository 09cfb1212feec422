#!/usr/bin/env python3
"""What runs beside what in the graph of a step of GPT-2 that the fake driver recorded (FAKE_CUDA_GRAPHS).

usage: overlapped_graph.py DEPTH RANKS EMBEDDING GRAPH ...   # EMBEDDING: the bytes of the embedding's gradient for each
                                                            # rank; of the graphs the largest one is the step's

An exchange starts when what it waits for is done. What else the first contraction waits for that waits for it runs
beside it. Of a layer's forward pass six nodes are contractions, of its backward pass twelve; the logits and the
gradients of their operands are three.
"""

import sys
from dataclasses import dataclass

FORWARD, BACKWARD = 6, 12


@dataclass
class Exchange:
    kind: str
    bytes: int  # for each rank
    start: int
    end: int


class Graph:
    def __init__(self, path, ranks):
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        self.names = [name for name, _ in lines]
        self.direct = [list(map(int, direct.split())) for _, direct in lines]  # by node: the nodes that it waits for
        self.before = []  # the same with those that they wait for, as a set of bits
        for direct in self.direct:
            all_before = 0
            for node in direct:
                all_before |= self.before[node] | 1 << node
            self.before.append(all_before)
        self.products = [i for i, name in enumerate(self.names) if name == "gemm"]
        self.exchanges = list(self.find_exchanges(ranks))

    def is_exchange(self, node):
        return self.names[node].startswith("nccl")

    def find_exchanges(self, ranks):
        """Each call of NCCL is two nodes; the sends and receives of an all-to-all are together."""
        node = 0
        while node < len(self.names):
            if not self.is_exchange(node):
                node += 1
                continue
            kind, _, size, *_ = self.names[node].split()
            count = 2 if kind == "ncclAllGather" else 4 * ranks
            assert all(map(self.is_exchange, range(node, node + count))), node
            yield Exchange(kind, int(size), node, node + count - 1)
            node += count

    def waits(self, node, other):
        return self.before[node] >> other & 1

    def waits_for_kernels(self, node):
        return any(self.waits(node, i) for i in range(node) if not self.is_exchange(i))

    def beside(self, exchange):
        """The contractions between what an exchange waits for and the first one that waits for it."""
        first = next(node for node in self.products if self.waits(node, exchange.end))
        return [i for i in self.products if self.waits(first, i) and not self.waits(exchange.start, i)]

    def held_up(self):
        """Kernels and contractions that a contraction waits for, but not by way of an exchange."""
        needed = set(self.products)
        for node in reversed(range(len(self.names))):
            if node in needed:
                needed.update(other for other in self.direct[node] if not self.is_exchange(other))
        return needed


def main(depth, ranks, embedding, paths):
    graph = max((Graph(path, ranks) for path in paths), key=lambda graph: len(graph.names))
    products, last = graph.products, graph.products[-1]
    assert len(products) == depth * (FORWARD + BACKWARD) + 3, len(products)
    end_of_forward, logits = products[depth * FORWARD - 1], products[depth * FORWARD]
    begin_of_backward = products[depth * FORWARD + 2]
    gathers = [e for e in graph.exchanges if e.kind == "ncclAllGather" and graph.waits(last, e.end)]
    at_once = [e for e in gathers if not graph.waits_for_kernels(e.start)]
    print(f"{len(at_once)} gathers wait for no kernel")
    others = [e for e in gathers if e not in at_once]
    passes = {
        "forward pass": [e for e in others if e.start < end_of_forward],
        "the loss": [e for e in others if end_of_forward < e.start < logits],
        "backward pass": [e for e in others if begin_of_backward < e.start],
    }
    for what, some in passes.items():
        least = min(len(graph.beside(e)) for e in some)
        print(f"{what}: {len(some)} gathers, each beside at least {least} contractions")

    gradients = [e for e in graph.exchanges if e.kind != "ncclAllGather" and e.bytes != embedding]
    early = sum(e.bytes for e in gradients if not graph.waits(e.start, last))
    percent = 100 * early / sum(e.bytes for e in gradients)
    print(f"gradients of layers: {percent:.0f} % start before the backward pass ends")
    ends = {e.end: e for e in gradients}
    room = [
        sum(ends[other].start < i < node for i in products)
        for node in graph.held_up()
        for other in graph.direct[node]
        if other in ends
    ]
    print(f"what a contraction waits for waits {len(room)} times for one, at least {min(room)} contractions later")


main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
