"""The files of a checkout, as the rules read them."""

import os
import subprocess

PRODUCT = ("codegen", "frontend", "ir", "passes", "runtime", "tools")  # folders of what is installed
CPP = (".cpp", ".h", ".hpp", ".cu", ".cuh")


class Tree:
    """The files of a checkout without those that git ignores."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        try:
            listing = subprocess.run(
                ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=self.root, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            ).stdout.decode()  # fmt: skip
            found = listing.split("\0")
        except (OSError, subprocess.CalledProcessError):  # an unpacked archive, no git
            found = [
                os.path.relpath(os.path.join(folder, name), self.root)
                for folder, _, names in os.walk(self.root)
                for name in names
                if not os.path.relpath(folder, self.root).startswith("build")
            ]
        self.files = sorted(f for f in set(found) if f and os.path.isfile(os.path.join(self.root, f)))

    def ending(self, *suffixes):
        return [f for f in self.files if f.endswith(suffixes)]

    def product(self, *suffixes):
        return [f for f in self.ending(*suffixes) if f.split("/")[0] in PRODUCT]

    def text(self, path):
        """The file's text, or None for a binary one."""
        with open(os.path.join(self.root, path), "rb") as file:
            data = file.read()
        return None if b"\0" in data else data.decode("utf-8", errors="replace")

    def lines(self, path):
        return enumerate((self.text(path) or "").splitlines(), start=1)
