"""Makes a folder like that of scripts/gpu-suite.sh with the real run.py, whose parts do nothing but go wrong.

usage: stub_suite.py FOLDER

rates passes; kernels crashes behind what it has kept; modes hangs, with a process of its own that outlives it; the
others say when they ran.
"""

import io
import json
import os
import re
import shutil
import sys
import tarfile

STUBS = {
    "device.py": """
import json
print(json.dumps({"name": "NVIDIA Stub 9", "problem": "", "folders": {}}))
""",
    "rate_part.py": """
def rates(suite):
    return {"ok": True, "answer": "fast", "lines": ["in " + suite.folder + "/here"]}
""",
    "check_parts.py": """
import os, signal
def kernels(suite):
    suite.keep({"ok": True, "checked": 17, "lines": ["17 kernels"]})
    os.kill(os.getpid(), signal.SIGSEGV)
def train(suite):
    runs = [{"name": "one"}, {"name": "two"}, {"name": "three"}]
    def work(run):
        if run["name"] == "two":
            raise ValueError("two is broken")
        return {"ok": True}
    return suite.each(runs, work, lambda run: [run["name"] + (" ok" if run["ok"] else " FAILED")], at_once=2)
def ranks(suite):
    return {"ok": True, "lines": []}
def sanitizer(suite):
    suite.need(1e6)
""",
    "model_parts.py": """
import subprocess, time
def modes(suite):
    suite.keep({"ok": True, "lines": ["so far"]})
    left = subprocess.Popen(["sleep", "600"], start_new_session=True)
    with open(suite.out + "/sleeper", "w") as out:
        out.write(str(left.pid))
    time.sleep(600)
def checkpoints(suite):
    return {"ok": True, "lines": ["saved"]}
""",
    "speed_parts.py": """
import suite as suites
def speed(suite):
    raise suites.Skipped("no program")
def bench(suite):
    runs = [{"name": "first"}, {"name": "second"}]
    def work(run):
        if run["name"] == "second" and not suite.earlier:
            suite.part_end = 0
            suite.need()
        return {"ok": True, "call": 2 if suite.earlier else 1}
    return suite.each(runs, work, lambda run: ["%s in call %s" % (run["name"], run.get("call"))])
def peers(suite):
    return {"ok": True, "lines": []}
""",
    "memory_part.py": """
def memory(suite):
    return {"ok": True, "lines": []}
""",
    "profile_parts.py": """
def profile(suite):
    return {"ok": True, "lines": [suite.environment["LD_LIBRARY_PATH"] and "with libraries"]}
def ncu(suite):
    raise RuntimeError("a mistake")
""",
}


def main(folder):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    scripts = os.path.join(folder, "bench", "gpu")
    os.makedirs(scripts)
    for name in ("run.py", "parts.py", "suite.py", "processes.py", "report.py"):
        shutil.copy(os.path.join(root, "bench", "gpu", name), scripts)
    shutil.copy(os.path.join(root, "bench", "gpu", "run.sh"), folder)
    for name, text in STUBS.items():
        with open(os.path.join(scripts, name), "w") as out:
            out.write(text)
    # The part that hangs is ended soon, though it gets what others leave.
    shorten(os.path.join(scripts, "parts.py"), r"(Part\([\w.]+), \d+", r"\1, 5")
    shorten(os.path.join(scripts, "run.py"), r"^GRACE = .*", "GRACE = 1.0")
    with tarfile.open(os.path.join(folder, "packed.tar.xz"), "w:xz") as archive:
        one = tarfile.TarInfo("programs/nothing")
        archive.addfile(one, io.BytesIO())
    entry = {"name": "stub", "program": "programs/nothing"}
    about = {"commit": "1a2b3c4", "made": "2026-01-02 03:04:05", "tessera": "tessera 0", "smoke": False}
    with open(os.path.join(folder, "folder.json"), "w") as out:
        json.dump({**about, "trainings": [entry], "of_ranks": [entry], "timed": [entry], "libraries": []}, out)


def shorten(path, pattern, by):
    with open(path) as file:
        text, count = re.subn(pattern, by, file.read(), flags=re.M)
    assert count >= 1, pattern
    with open(path, "w") as out:
        out.write(text)


main(*sys.argv[1:])
