"""The results as JSON, to be kept, and as text, to be read."""

import json
import os
import re


def plain(suite, value):
    """The same without paths of this machine."""
    if isinstance(value, str):
        return suite.plain(value)
    if isinstance(value, dict):
        return {key: plain(suite, one) for key, one in value.items()}
    return [plain(suite, one) for one in value] if isinstance(value, (list, tuple)) else value


def shorter(value):
    """Numbers with as many digits as mean something."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if value - value == 0 else None
    if isinstance(value, dict):
        return {key: shorter(one) for key, one in value.items()}
    return [shorter(one) for one in value] if isinstance(value, list) else value


def record(suite, options, results):
    contents = suite.contents
    return {
        "command": f"run.sh --limit {options.limit:g} --only {','.join(options.parts)}"
        + (f" --match '{options.match}'" if options.match else ""),
        "date": suite.date,
        "seconds": round(suite.elapsed(), 1),
        "commit": contents["commit"],
        "tessera": contents["tessera"],
        "device": {key: value for key, value in suite.device.items() if key != "problem"},
        "parts": [{key: value for key, value in result.items() if key != "lines"} for result in results],
    }


def json_text(value):
    text = json.dumps(value, indent=1, ensure_ascii=False)
    # A list of numbers is one line, and so is a row of a profile.
    text = re.sub(r"\[\s+([^\[\]{}\"]+?)\s+\]", lambda found: "[" + re.sub(r"\s+", " ", found.group(1)) + "]", text)
    return (
        re.sub(r"\{\s+(\"kind\"[^{}]+?)\s+\}", lambda found: "{" + re.sub(r"\n\s+", " ", found.group(1)) + "}", text)
        + "\n"
    )


def text_of(suite, results):
    device = suite.device
    about = [device.get("name") or "no GPU", device.get("architecture")]
    versions = (("driver", "driver"), ("cuda", "CUDA"), ("cublaslt", "cuBLASLt"))
    about += [f"{word} {device[key]}" for key, word in versions if device.get(key)]
    if device.get("copy_bytes_per_second"):
        about.append(f"copies {device['copy_bytes_per_second'] / 1e9:.0f} GB/s")
    lines = [f"Tessera {suite.contents['commit']} on {', '.join(filter(None, about))}; {suite.date}"]
    lines += [device[key] for key in ("problem", "note") if device.get(key)]
    for result in results:
        lines += ["", f"{result['part']:10} {result['state']:8} {result['seconds']:6.1f} s"]
        lines += [f"  {line}" for text in result["lines"] for line in plain(suite, text).splitlines()]
    summary = []
    for state in ("passed", "failed", "partial", "skipped"):
        names = [result["part"] for result in results if result["state"] == state]
        summary += [f"{state}: {', '.join(names)}"] if names else []
    return "\n".join([*lines, "", "; ".join(summary)]) + f"; {suite.elapsed():.0f} of {suite.limit:.0f} s\n"


def write(suite, options, results):
    """Writes both, and returns the text. Called behind every part, so that something is there whatever comes."""
    text = text_of(suite, results)
    with open(os.path.join(suite.out, "gpu-suite.json"), "w") as out:
        out.write(json_text(shorter(plain(suite, record(suite, options, results)))))
    with open(os.path.join(suite.out, "gpu-suite.txt"), "w") as out:
        out.write(text)
    return text
