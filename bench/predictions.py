#!/usr/bin/env python3
"""How right predicted step times are: `tessera calibrate`, then predicted beside measured.

usage: predictions.py --tessera TESSERA --tokens FILE --text FILE [--digits FILE] [--rounds 3] [--only NAME …]

The workloads of training.py and further models, in f32 and bf16, in groups. Before and after each group the machine is
calibrated; the prediction is the geometric mean of both, since the clock and other users of the machine change. A group
between whose calibrations a rate of multiply-adds changed by more than 3 % is measured, printed and dropped. The
measured time is the median step, as the last line of a run says it. Models whose steps take less than 20 ms are left
out of the summary. Results go to bench/results/predictions-TIME.json.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import tempfile

from workloads import ALONE, WORKLOADS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MOST_DRIFT = 0.03
LEAST_SECONDS = 0.02
GROUP = 4
VALIDATION_BYTES = 64 << 10  # some models want such data, whose evaluation does not count
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

# Beside the workloads: name, model, settings, data.
LLAMA, GPT2, BYTES = "examples/07-llama.tsr", "examples/04-gpt2.tsr", "examples/03-byte-gpt.tsr"
FURTHER = (
    ("llama-37m", LLAMA, ALONE, "tokens"),
    ("llama-8x256", LLAMA, {"kv_heads": 3, "group": 2, "head_size": 64, "depth": 4, "wide": 1024, "d.batch": 8,
                               "d.seq": 256, **ALONE}, "tokens"),
    ("gpt2-4-layers-dropout", GPT2, {"depth": 4, "heads": 8, "head_size": 48, "drop": 0.1, "d.batch": 3, "d.seq": 320,
                                     **ALONE}, "tokens"),
    ("byte-gpt-odd", BYTES, {"heads": 5, "head_size": 72, "depth": 3, "d.val": 0, **ALONE}, "text"),
    ("byte-gpt-deep", BYTES, {"heads": 4, "head_size": 24, "depth": 16, "d.val": 0, **ALONE}, "text"),
    ("byte-gpt-long", BYTES, {"context": 512, "d.batch": 4, "d.seq": 512, "d.val": 0, **ALONE}, "text"),
)  # fmt: skip


def cases(options):
    """(name, model, settings, data) of what is measured."""
    for workload in WORKLOADS.values():
        if getattr(options, workload.data):
            yield workload.name, workload.model, workload.settings, workload.data
    yield from FURTHER


def run(command, **settings):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **settings).stdout


class Measurement:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch

    def calibrate(self, name):
        path = os.path.join(self.scratch, name + ".device")
        run([self.options.tessera, "calibrate", "-o", path, "--threads", str(self.options.threads)])
        return path

    def rates(self, device):
        """Rates of multiply-adds by type, in GFLOP/s."""
        with open(device) as file:
            lines = re.findall(r"^(f32|bf16)_rate = ([\d.]+) (G|T)FLOP/s$", file.read(), re.MULTILINE)
        return {name: float(number) * (1000 if unit == "T" else 1) for name, number, unit in lines}

    def flags(self, settings, precision):
        yield from ("--threads", str(self.options.threads), "--precision", precision)
        for name, value in settings.items():
            yield from ("--set", f"{name}={value}")

    def predict(self, case, precision, device):
        _, model, settings, _ = case
        command = [self.options.tessera, "plan", os.path.join(ROOT, model), "--json", "--on", device]
        return json.loads(run([*command, *self.flags(settings, precision)]))["time"]["seconds"]

    def steps(self, program, data, count):
        """Seconds of the median of `count` steps."""
        with tempfile.TemporaryDirectory() as empty:
            with open(data, "rb") as file, open(os.path.join(empty, "val"), "wb") as little:
                little.write(file.read(VALIDATION_BYTES))
            command = [program, "train", "--data", data, "--data", "val=val", "--steps", str(count)]
            said = run([*command, "--set", "evaluate.batches=1", "--checkpoint-dir", "saved"], cwd=empty)
        number, unit = re.search(r"([\d.]+) (s|ms|us|ns) a step", said).groups()
        return float(number) * UNITS[unit]

    def measure(self, case, precision):
        name, model, settings, data = case
        program = os.path.join(self.scratch, "program")
        command = [self.options.tessera, "compile", os.path.join(ROOT, model), "-o", program]
        run([*command, *self.flags(settings, precision)])
        data = os.path.abspath(getattr(self.options, data))
        first = self.steps(program, data, 3)
        return self.steps(program, data, max(5, min(400, round(self.options.seconds / first))))


def measure_group(measurement, group):
    """The record of a group: its rates before and after, and each case in each type."""
    before = measurement.calibrate("before")
    measured = {(case[0], precision): measurement.measure(case, precision) for case in group for precision in TYPES}
    after = measurement.calibrate("after")
    rates = measurement.rates(before), measurement.rates(after)
    drift = max(abs(rates[1][name] / rates[0][name] - 1) for name in rates[0])
    record = {"rates": rates, "drift": drift, "dropped": drift > MOST_DRIFT, "cases": []}
    for case in group:
        for precision in TYPES:
            predictions = [measurement.predict(case, precision, device) for device in (before, after)]
            seconds, predicted = measured[case[0], precision], statistics.geometric_mean(predictions)
            error = predicted / seconds - 1
            record["cases"].append(
                {"name": case[0], "type": precision, "measured": seconds, "predicted": predictions, "error": error}
            )
            print(
                f"{case[0]:<24} {precision:<5} measured {seconds * 1e3:8.2f} ms, predicted {predicted * 1e3:8.2f} ms, "
                f"{100 * error:+5.1f} %" + (" (dropped)" if record["dropped"] else ""),
                flush=True,
            )
    print(f"rates {rates[0]} => {rates[1]}: {100 * drift:.1f} %", flush=True)
    return record


TYPES = ("f32", "bf16")


def summarize(groups):
    """Median and largest error over cases, of each the median over its rounds."""
    errors = {}
    for group in groups:
        for case in group["cases"]:
            if not group["dropped"] and case["measured"] >= LEAST_SECONDS:
                errors.setdefault((case["name"], case["type"]), []).append(case["error"])
    sizes = [abs(statistics.median(of_case)) for of_case in errors.values()]
    if not sizes:
        return {"cases": 0}
    return {"cases": len(sizes), "median": statistics.median(sizes), "largest": max(sizes)}


def main():
    parser = argparse.ArgumentParser(description="Predicted step times beside measured ones.")
    parser.add_argument("--tessera", required=True)
    parser.add_argument("--tokens", required=True, help="a token file of 16-bit numbers below 32000")
    parser.add_argument("--text", required=True, help="any text")
    parser.add_argument("--digits", help="what examples/data/make-digits.py writes")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="that a model is measured for")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    options = parser.parse_args()
    chosen = [case for case in cases(options) if not options.only or case[0] in options.only]
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    path = os.path.join(HERE, "results", f"predictions-{now}.json")
    groups = []
    with tempfile.TemporaryDirectory() as scratch:
        measurement = Measurement(options, scratch)
        for _ in range(options.rounds):
            for start in range(0, len(chosen), GROUP):
                groups.append(measure_group(measurement, chosen[start : start + GROUP]))
                record = {"threads": options.threads, "summary": summarize(groups), "groups": groups}
                with open(path, "w") as file:
                    json.dump(record, file, indent=1)
                    file.write("\n")
    print(f"summary: {summarize(groups)}; written to {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
