#!/usr/bin/env python3
"""What runs beside what in the graph of a step of GPT-2 that the fake driver recorded (FAKE_CUDA_GRAPHS).

usage: overlapped_graph.py DEPTH RANKS EMBEDDING GRAPH ...   # EMBEDDING: the bytes of the embedding's gradient for each
                                                            # rank; of the graphs the largest one is the step's

An exchange can start when what it waits for is done. All else that comes before its first reader runs beside it. Of a
layer's forward pass six nodes are contractions, of its backward pass twelve; three are between the passes.
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
        self.before = []  # by node: a set of bits, all that it waits for
        for _, direct in lines:
            all_before = 0
            for node in map(int, direct.split()):
                all_before |= self.before[node] | 1 << node
            self.before.append(all_before)
        self.products = [i for i, name in enumerate(self.names) if name == "gemm"]
        self.computing = [i for i, name in enumerate(self.names) if name != "memory" and not name.startswith("nccl")]
        self.exchanges = list(self.find_exchanges(ranks))

    def find_exchanges(self, ranks):
        """Each call of NCCL is two nodes; the sends and receives of an all-to-all are together."""
        node = 0
        while node < len(self.names):
            name = self.names[node]
            if not name.startswith("nccl"):
                node += 1
                continue
            count = 2 if name.startswith("ncclAllGather") else 4 * ranks
            assert all(other.startswith("nccl") for other in self.names[node : node + count]), node
            yield Exchange(name.split()[0], int(name.split()[2]), node, node + count - 1)
            node += count

    def waits(self, node, other):
        return self.before[node] >> other & 1

    def beside(self, exchange):
        """The contractions between what an exchange waits for and the first one that waits for it."""
        first = next(node for node in self.products if self.waits(node, exchange.end))
        return [i for i in self.products if self.waits(first, i) and not self.waits(exchange.start, i)]


def main(depth, ranks, embedding, paths):
    graph = max((Graph(path, ranks) for path in paths), key=lambda graph: len(graph.names))
    products, last = graph.products, graph.products[-1]
    assert len(products) == depth * (FORWARD + BACKWARD) + 3, len(products)
    end_of_forward = products[depth * FORWARD - 1]
    begin_of_backward = products[depth * FORWARD + 2]
    gathers = [e for e in graph.exchanges if e.kind == "ncclAllGather" and e.start < last]
    forward = [e for e in gathers if products[0] < e.start < end_of_forward]
    between = [e for e in gathers if end_of_forward < e.start < products[depth * FORWARD]]
    backward = [e for e in gathers if begin_of_backward < e.start and len(graph.beside(e)) > 0]
    at_once = [e for e in gathers if e.start < products[0]]
    kernels = sum(graph.waits(e.start, i) for e in at_once for i in graph.computing)
    print(f"{len(at_once)} gathers before the first contraction wait for {kernels} kernels")
    for what, some in (("forward", forward), ("the loss", between), ("backward", backward)):
        print(f"{what}: {len(some)} gathers, each beside {min(len(graph.beside(e)) for e in some)} contractions or more")
    gradients = [e for e in graph.exchanges if e.kind != "ncclAllGather" and e.bytes != embedding]
    early = sum(e.bytes for e in gradients if not graph.waits(e.start, last))
    print(f"gradients of layers: {100 * early / sum(e.bytes for e in gradients):.0f} % start before the backward pass ends")
    waiting = sum(graph.waits(i, e.end) for e in gradients for i in products)
    print(f"contractions that wait for a gradient of a layer: {waiting}")


main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
