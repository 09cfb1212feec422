#!/usr/bin/env python3
"""Counts what ctest ran, from the JUnit file it wrote, and prints `N passed, M failed`; exit status 1 if any failed.

usage: count_tests.py RESULTS.xml

A ctest entry may be a whole GoogleTest binary or a lit run. Then the tests that its own summary names are counted, and
the entry itself only where it failed although none of them did (a crash, a time-out).
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

LIT_PASSED = ("Passed", "Expectedly Failed", "Passed With Retry")
LIT_FAILED = ("Failed", "Unexpectedly Passed", "Unresolved", "Timed Out")
GTEST_PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.M)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below", re.M)


def lit_counts(output):
    """(passed, failed) from lit's closing table, or None where there is none."""
    _, found, table = output.rpartition("Total Discovered Tests:")
    if not found:
        return None
    rows = {name: int(number) for name, number in re.findall(r"^\s+([A-Z][A-Za-z ]+?)\s*:\s*(\d+)", table, re.M)}
    return sum(rows.get(name, 0) for name in LIT_PASSED), sum(rows.get(name, 0) for name in LIT_FAILED)


def gtest_counts(output):
    """(passed, failed) from the summaries of the GoogleTest binaries run, or None where there is none."""
    passed, failed = GTEST_PASSED.findall(output), GTEST_FAILED.findall(output)
    return (sum(map(int, passed)), sum(map(int, failed))) if passed or failed else None


def count(case):
    """(passed, failed, skipped) of one ctest entry."""
    if case.get("status") in ("disabled", "notrun"):
        # A test may say that it cannot run here (SKIP_RETURN_CODE and the like); one that was never built has failed.
        skipped = case.find("skipped")
        reason = "" if skipped is None else skipped.get("message", "")
        # GoogleTest skips the tests of a suite whose set-up fails, and ctest reports just that.
        if "FAILED TEST SUITE" in (case.findtext("system-out") or ""):
            return 0, 1, 0
        return (0, 0, 1) if case.get("status") == "disabled" or reason.startswith("SKIP_") else (0, 1, 0)
    ok = case.get("status") == "run" and case.find("failure") is None
    output = case.findtext("system-out") or ""
    passed, failed = lit_counts(output) or gtest_counts(output) or (int(ok), int(not ok))
    return passed, failed + int(not ok and not failed), 0


def main(args):
    if len(args) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    passed = failed = skipped = 0
    for case in ElementTree.parse(args[0]).getroot().iter("testcase"):
        p, f, s = count(case)
        passed, failed, skipped = passed + p, failed + f, skipped + s
        if f:
            print(f"failed: {case.get('name')} ({f})")
    if skipped:
        print(f"skipped: {skipped}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
