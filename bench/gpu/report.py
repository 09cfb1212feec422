"""The results as JSON, to be kept, and as text, to be read; both can be committed as they are."""

import json
import os
import re

# The questions that the first call answers, by the parts that do.
QUESTIONS = (
    ("rates", "what the device copies and multiplies"),
    ("kernels", "single kernels are right"),
    ("modes", "GPT-2 as a graph, in order, eager, recomputed: the same bits"),
    ("checkpoints", "saved and resumed: the same bits"),
    ("speed", "tokens a second beside PyTorch"),
)


def plain_text(folders, text):
    """A text without folders of this machine: it goes into results that others read."""
    for folder, name in folders.items():
        text = text.replace(folder, name)
    node = os.uname().nodename
    text = text.replace(node, "HOST") if len(node) > 3 else text
    return re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+([\w.+-]+)", r"…/\1", text).rstrip()


def plain(folders, value):
    """The same without paths of this machine."""
    if isinstance(value, str):
        return plain_text(folders, value)
    if isinstance(value, dict):
        return {key: plain(folders, one) for key, one in value.items()}
    return [plain(folders, one) for one in value] if isinstance(value, (list, tuple)) else value


def shorter(value):
    """Numbers with as many digits as mean something."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if value - value == 0 else None
    if isinstance(value, dict):
        return {key: shorter(one) for key, one in value.items()}
    return [shorter(one) for one in value] if isinstance(value, (list, tuple)) else value


def json_text(value):
    text = json.dumps(value, indent=1, ensure_ascii=False)
    # A list of numbers is one line, and so is a row of a profile.
    text = re.sub(r"\[\s+([^\[\]{}\"]+?)\s+\]", lambda found: "[" + re.sub(r"\s+", " ", found.group(1)) + "]", text)
    return (
        re.sub(r"\{\s+(\"kind\"[^{}]+?)\s+\}", lambda found: "{" + re.sub(r"\n\s+", " ", found.group(1)) + "}", text)
        + "\n"
    )


def head_lines(whole):
    device = whole["device"]
    about = [device.get("name") or "no GPU", device.get("architecture")]
    versions = (("driver", "driver"), ("cuda", "CUDA"), ("cublaslt", "cuBLASLt"), ("python", "Python"))
    about += [f"{word} {device[key]}" for key, word in versions if device.get(key)]
    yield f"Tessera {whole['commit']} on {', '.join(filter(None, about))}"
    yield from (device[key] for key in ("problem", "note") if device.get(key))
    for call in whole["calls"]:
        yield f"{call['date']}, {call['seconds']:.0f} s: {call['command']}"


def answer_lines(found):
    """What the first call is for, a line a question."""
    yield ""
    for name, question in QUESTIONS:
        part = found[name]
        answer = part.get("answer") or part.get("reason") or part.get("problem", "").partition("\n")[0]
        yield f"{question:48} {part['state']:8} {answer}".rstrip()


def part_lines(part):
    yield ""
    yield f"{part['part']:11} {part['state']:8} {part['seconds']:6.1f} s"
    lines = list(part["lines"])
    if part.get("device_afterwards"):
        lines.append(f"the device afterwards: {part['device_afterwards']}")
    yield from (f"  {line}" for text in lines for line in text.splitlines())


def text_of(whole):
    found = {part["part"]: part for part in whole["parts"]}
    lines = [*head_lines(whole), *answer_lines(found)]
    for part in whole["parts"]:
        if part["state"] != "not run":
            lines += part_lines(part)
    summary = []
    for state in ("passed", "failed", "partial", "skipped", "not run"):
        names = [part["part"] for part in whole["parts"] if part["state"] == state]
        summary += [f"{state}: {', '.join(names)}"] if names else []
    seconds = sum(call["seconds"] for call in whole["calls"])
    return "\n".join([*lines, "", "; ".join(summary)]) + f"; {seconds:.0f} s\n"


def base_name(whole):
    """After the device and the commit, so that results of several stay apart: gpu-h100-80gb-hbm3-1a2b3c4."""
    device = (whole["device"].get("name") or "none").replace("NVIDIA", "")
    words = re.findall(r"[a-z0-9]+", device.lower())
    return "-".join(["gpu", *words, whole["commit"].replace(" ", "-")])


def write(whole, folders, places):
    """Writes both into each of the places, and returns the text. Called behind every part."""
    whole = shorter(plain(folders, whole))
    text, name = text_of(whole), base_name(whole)
    for place in filter(None, places):
        os.makedirs(place, exist_ok=True)
        for ending, content in ((".json", json_text(whole)), (".txt", text)):
            path = os.path.join(place, name + ending)
            with open(f"{path}.new", "w") as out:
                out.write(content)
            os.replace(f"{path}.new", path)
    return text
