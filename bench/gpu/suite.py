"""What all parts share: the folder, the time that is left, the environment of programs, texts without private paths."""

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time

import processes

NO_TIME = "no time left"
LEAST = 2.0  # seconds without which nothing is started


class Skipped(Exception):
    """A part, or some of it, that was not run; says why."""


class Suite:
    def __init__(self, folder, out, limit, python):
        self.folder, self.out, self.python = folder, out, python
        self.started, self.limit = time.monotonic(), limit
        self.end = self.part_end = self.started + limit
        with open(os.path.join(folder, "folder.json")) as file:
            self.contents = json.load(file)
        self.scratch = tempfile.mkdtemp(prefix="gpu-suite-")
        self.environment = dict(os.environ)
        self.device = {}

    def unpack(self, where=None):
        """Programs, libraries and links to the data: programs run there and name files as they were told here."""
        where = where or os.path.join(self.scratch, "run")
        os.makedirs(where, exist_ok=True)
        with tarfile.open(os.path.join(self.folder, "packed.tar.xz")) as archive:
            archive.extractall(where, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        if not os.path.lexists(os.path.join(where, "data")):
            os.symlink(os.path.join(self.folder, "data"), os.path.join(where, "data"))
        libraries = [os.path.join(where, "lib"), os.environ.get("LD_LIBRARY_PATH")]
        self.environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
        self.root = where

    def chosen(self, kind):
        """The programs of a kind, `trainings` or `timed`."""
        if not self.contents[kind]:
            raise Skipped("no program of this part was chosen")
        return self.contents[kind]

    def remove_scratch(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    # time

    def elapsed(self):
        return time.monotonic() - self.started

    def left(self):
        """Seconds that this part still has."""
        return self.part_end - time.monotonic()

    def need(self, seconds=LEAST):
        if self.left() < seconds:
            raise Skipped(NO_TIME)

    def need_whole(self, ended, limit):
        """Skips what was ended before its own limit, for others need the time."""
        if ended.status is None and ended.seconds < limit - 1:
            raise Skipped(f"{NO_TIME}: ended after {ended.seconds:.0f} s")

    # programs

    def run(self, command, limit=None, **variables):
        """Runs one of our programs, or one that loads our libraries, in the unpacked folder."""
        limit = min(self.left(), limit or self.left())
        return processes.run(command, limit, self.root, {**self.environment, **variables})

    def program(self, entry):
        return os.path.join(self.root, entry["program"])

    def memory_in_use(self):
        """Bytes of the first GPU that anybody has taken, as nvidia-smi says; None where it is not there."""
        command = ["nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        try:
            said = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=5
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            return None
        return int(said.split()[0]) * 2**20 if re.match(r"\d+\s*$", said) else None

    # texts

    def plain(self, text):
        """A text without folders of this machine: it goes into results that others read."""
        for folder, name in ((self.scratch, "SCRATCH"), (self.out, "OUT"), (self.folder, "FOLDER")):
            text = text.replace(folder, name)
        text = text.replace(os.uname().nodename, "HOST") if len(os.uname().nodename) > 3 else text
        return re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+([\w.+-]+)", r"…/\1", text).rstrip()
