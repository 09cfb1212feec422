#!/usr/bin/env python3
"""Compiles recorded kernels for the GPU that is here, runs them, and compares what they leave with what was stored.

usage: kernel_check.py CASES [--headers DIR] [--json FILE] [--match TEXT] [--most N] [--limit SECONDS] [--alone]
                       [--patience SECONDS]
       kernel_check.py CASES --compile-for sm_90a       only compiles: needs no GPU

CASES is a folder that tests have recorded into, with TESSERA_RECORD_KERNELS=CASES. The kernels run in a process of
their own; one that costs it the device, or does not end, has failed, and the others go on in another process. With
--alone all is done in this process, for a tool that watches one: then nothing runs behind a device that is lost.

Exit status 1 if a case failed, 2 where nothing can be checked, 3 for that reason that there is no NVRTC here.
"""

import argparse
import concurrent.futures
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import kernel_cases  # noqa: E402
import kernel_run  # noqa: E402
import nvrtc  # noqa: E402

SOURCES = 8  # of a module: what the header costs is paid once
PATIENCE = 30.0  # seconds that a kernel may take; emulated ones need some
STARTS = 3  # processes that come to nothing, one behind the other, before it is given up
LOG = 1500  # characters of it that are kept


class NothingChecked(Exception):
    """Says why."""

    status = 2


class NoCompiler(NothingChecked):
    status = 3


# compiling ------------------------------------------------------------------------------------------------------------


class Module:
    """Kernels that are compiled as one text."""

    def __init__(self):
        self.sources, self.names, self.numbers = {}, set(), []

    def takes(self, case):
        return case.source in self.sources or len(self.sources) < SOURCES and not (case.kernels() & self.names)

    def add(self, case):
        self.sources.setdefault(case.source, []).append(case.number)
        self.names |= case.kernels()
        self.numbers.append(case.number)


def modules_of(cases):
    """Neighbours together; a name is once in a module."""
    modules = []
    for case in cases:
        if not modules or not modules[-1].takes(case):
            modules.append(Module())
        modules[-1].add(case)
    return modules


def log_of_errors(log):
    """Without what ptxas says of kernels that are right."""
    lines = [line for line in log.splitlines() if not line.startswith("ptxas info") and "bytes stack frame" not in line]
    return "\n".join(lines).strip()[:LOG]


def compile_module(compiler, module, target):
    """[(code, numbers of cases)], [(number, message)]: what runs, and what does not compile, together or one by one."""
    code, log = compiler.compile("\n".join(module.sources), target)
    if code is not None:
        return [(code, module.numbers)], []
    compiled, failed = [], []
    for source, numbers in module.sources.items():
        if len(module.sources) > 1:
            code, log = compiler.compile(source, target)
        if code is not None:
            compiled.append((code, numbers))
        else:
            failed += [(number, f"does not compile: {log_of_errors(log)}") for number in numbers]
    return compiled, failed


# running --------------------------------------------------------------------------------------------------------------


class Here:
    """Runs kernels in this process."""

    def __init__(self, options, cases):
        self.cases, self.is_lost = cases, False
        try:
            driver, self.facts = kernel_run.open_device()
            self.launcher = kernel_run.Launcher(driver, tight=True)
        except RuntimeError as error:
            raise NothingChecked(error) from error

    def run(self, code, numbers, end):
        """(number, message) of each case, as they come; none after `end`, or after one that costs the device."""
        if self.is_lost:
            return
        for number, message, self.is_lost in kernel_run.answers(self.launcher, self.cases, code, numbers):
            yield number, message
            if time.monotonic() > end:
                return

    def close(self):
        pass


class Apart:
    """Runs kernels in a process that another one follows when it is lost."""

    def __init__(self, options, cases):
        self.folder, self.patience, self.process, self.pending = options.folder, options.patience, None, b""
        self.start()

    def start(self):
        command = [sys.executable, "-B", os.path.join(HERE, "kernel_run.py"), self.folder]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pending = b""
        facts = self.answer(time.monotonic() + 2 * PATIENCE)
        if facts is None or "problem" in facts:
            how = self.end()
            raise NothingChecked(facts["problem"] if facts else f"the process that runs kernels {how}")
        self.facts = facts

    def answer(self, until):
        """The next line; None if none comes any more."""
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], max(until - time.monotonic(), 0))
            data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not data:
                return None
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line)

    def end(self):
        """Ends the process; says how it went."""
        try:
            status = self.process.wait(timeout=1)
            how = f"ended with status {status}"
        except subprocess.TimeoutExpired:
            self.process.kill()
            how = f"did not answer within {self.patience:g} s"
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None
        return how

    def run(self, code, numbers, end):
        numbers, starts = list(numbers), 0
        with tempfile.NamedTemporaryFile(prefix="kernels-", suffix=".cubin") as file:
            file.write(code)
            file.flush()
            while numbers and time.monotonic() < end:
                answered = 0
                for number, message in self.order(file.name, numbers, end):
                    yield number, message
                    answered += 1
                numbers, starts = numbers[answered:], 0 if answered else starts + 1
                if starts >= STARTS:
                    raise NothingChecked("the process that runs kernels ends before it has run one")

    def order(self, path, numbers, end):
        """Answers up to the last, or to the loss of the process."""
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(json.dumps({"code": path, "cases": numbers}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.end()
            return
        for number in numbers:
            found = self.answer(min(end, time.monotonic() + self.patience))
            if found is None and time.monotonic() >= end:
                return
            if found is None:
                yield number, f"the process that ran it {self.end()}"
                return
            yield number, found["message"]
            if found["lost"]:
                self.end()
                return

    def close(self):
        if self.process:
            self.process.kill()


class Nowhere:
    """Runs nothing: what compiles is right."""

    def __init__(self, target):
        self.facts = {"device": None, "number": None, "cuda": None, "target": target}

    def run(self, code, numbers, end):
        yield from ((number, "") for number in numbers)

    def close(self):
        pass


# results --------------------------------------------------------------------------------------------------------------


class Results:
    """Written as they come, so that a run that is ended leaves what it has."""

    def __init__(self, cases, file, device, target):
        self.cases, self.file, self.started = {case.number: case for case in cases}, file, time.monotonic()
        self.messages, self.written, self.lock = {}, 0, threading.Lock()
        self.about = {"device": device, "architecture": target}
        if file:
            self.write()
            threading.Thread(target=self.keep_writing, daemon=True).start()

    def add(self, number, message):
        with self.lock:
            self.messages[number] = message
        if message:
            print(f"{self.cases[number].name} ({self.cases[number].symbol}): {message}", flush=True)
        if self.file and len(self.messages) >= self.written + 50:
            self.write()

    def keep_writing(self):
        while True:
            time.sleep(1)
            if len(self.messages) != self.written:
                self.write()

    def failed(self):
        return sum(bool(message) for message in self.messages.values())

    def write(self):
        with self.lock:
            self.written = len(self.messages)
            cases = []
            for number, message in sorted(self.messages.items()):
                case = self.cases[number]
                cases.append({"name": case.name, "symbol": case.symbol, "ok": not message, "message": message})
            found = {
                **self.about, "checked": len(cases), "failed": self.failed(), "of": len(self.cases),
                "seconds": round(time.monotonic() - self.started, 2), "cases": cases,
            }  # fmt: skip
            with open(f"{self.file}.part", "w", encoding="utf-8") as out:
                out.write(json.dumps(found, indent=1) + "\n")
            os.replace(f"{self.file}.part", self.file)


def check(modules, compiler, target, runner, results, end):
    """Compiles on all cores, and runs what is compiled meanwhile."""
    pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    waiting = {pool.submit(compile_module, compiler, module, target) for module in modules}
    try:
        while waiting and time.monotonic() < end:
            left = max(min(end - time.monotonic(), 3600), 0)
            done, waiting = concurrent.futures.wait(waiting, left, concurrent.futures.FIRST_COMPLETED)
            for future in done:
                compiled, failed = future.result()
                for number, message in failed:
                    results.add(number, message)
                for code, numbers in compiled:
                    for number, message in runner.run(code, numbers, end):
                        results.add(number, message)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# the command ----------------------------------------------------------------------------------------------------------


def parse(args):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
    )
    parser.add_argument("folder", metavar="CASES")
    parser.add_argument("--headers", help="folder of tessera.cuh (CASES/headers; else that of the repository)")
    parser.add_argument("--json", metavar="FILE", help="writes the results, as they come")
    parser.add_argument("--match", metavar="TEXT", default="", help="only cases whose names or symbols hold this")
    parser.add_argument("--most", metavar="N", type=int, help="so many cases at most, spread over all")
    parser.add_argument("--limit", metavar="SECONDS", type=float, default=float("inf"), help="stops then")
    parser.add_argument(
        "--patience", metavar="SECONDS", type=float, default=PATIENCE, help=f"for one kernel ({PATIENCE:.0f})"
    )
    parser.add_argument(
        "--alone", action="store_true", help="all in this process, each argument in memory that ends with it"
    )
    parser.add_argument("--compile-for", metavar="ARCH", help="only compiles, such as for sm_90a")
    return parser.parse_args(args)


def chosen_cases(options, cases):
    chosen = [case for case in cases if options.match in f"{case.name} ({case.symbol})"]
    if options.most and options.most < len(chosen):
        chosen = [chosen[i * len(chosen) // options.most] for i in range(options.most)]
        # In an order in which those that come before a limit of time are spread too.
        chosen = [case for first in range(SOURCES) for case in chosen[first::SOURCES]]
    if not chosen:
        raise NothingChecked(f"no case of {options.folder}" + (f" has '{options.match}' in its name" if cases else ""))
    return chosen


def headers_of(options):
    own = os.path.join(options.folder, "headers")
    repository = os.path.join(os.path.dirname(os.path.dirname(HERE)), "codegen", "cuda", "device")
    folder = options.headers or (own if os.path.isdir(own) else repository)
    headers = nvrtc.headers_in(folder)
    if not headers:
        raise NothingChecked(f"there is no tessera.cuh in {folder}")
    return headers


def run(options, end):
    """The results."""
    headers = headers_of(options)
    try:
        cases = kernel_cases.read_cases(options.folder)
    except (OSError, ValueError) as error:
        raise NothingChecked(error) from error
    chosen = chosen_cases(options, cases)
    if options.compile_for:
        runner = Nowhere(options.compile_for)
    else:
        runner = (Here if options.alone else Apart)(options, cases)
    try:
        compiler = nvrtc.opened(headers, runner.facts["cuda"])
        if not compiler:
            raise NoCompiler("libnvrtc.so.13 or 12, of the CUDA Toolkit, was not found: set CUDA_HOME to its folder")
        target = options.compile_for or compiler.target(runner.facts["number"])
        if not target:
            raise NothingChecked(f"this NVRTC compiles for no GPU like this one, sm_{runner.facts['number']}")
        results = Results(chosen, options.json, runner.facts["device"], target)
        try:
            check(modules_of(chosen), compiler, target, runner, results, end)
        finally:
            if options.json:
                results.write()
        return results
    finally:
        runner.close()


def main(args):
    options = parse(args)
    end = time.monotonic() + options.limit
    try:
        results = run(options, end)
    except NothingChecked as reason:
        print(f"kernel_check: {reason}", file=sys.stderr)
        return reason.status
    checked, of, failed = len(results.messages), len(results.cases), results.failed()
    left_out = f" of {of}" if checked < of else ""
    where = " on ".join(filter(None, [results.about["architecture"], results.about["device"]]))
    seconds = time.monotonic() - results.started
    print(f"{checked}{left_out} checked, {failed} failed; {where}; {seconds:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # what still compiles is not waited for
