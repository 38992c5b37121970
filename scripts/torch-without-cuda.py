#!/usr/bin/env python3
"""Makes the PyTorch of this environment importable without NVIDIA's libraries: for tests on the CPU.

The wheel of the registry is linked to a dozen libraries of CUDA, 4 GB in all. Where none of them is there, each gets a stand-in of
the same name whose functions answer "no device" (error 100), so that PyTorch runs on the CPU and says that there is no GPU.
Needs cc, nm and readelf. SPDX-License-Identifier: BSD-3-Clause
"""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

NO_DEVICE = 100
TEXT = "this PyTorch was made to run without CUDA"


def read(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed_by(libraries):
    """Names of NVIDIA's libraries that PyTorch's own are linked to."""
    found = set()
    for library in libraries:
        found |= set(re.findall(r"NEEDED.*\[((?:libcu|libnv|libnccl)[^]]*)\]", read("readelf", "-d", str(library))))
    return found


def wanted_from(libraries):
    """Version -> functions that PyTorch takes from elsewhere; version '' where the library has none."""
    wanted, own = set(), set()
    for library in libraries:
        for line in read("nm", "-D", str(library)).splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                wanted.add(name)
            elif kind not in "wv":
                own.add(name.partition("@")[0])
    by_version = {}
    for name in wanted:
        function, _, version = name.partition("@")
        if function not in own and re.match(r"(__cuda|cu|nv|nccl)", function):
            by_version.setdefault(version, set()).add(function)
    return by_version


def source(functions):
    def body(name):
        return f"const char *{name}(void) {{ return text; }}" if name.endswith(("String", "Name")) else f"int {name}(void) {{ return {NO_DEVICE}; }}"
    return "\n".join([f'static const char text[] = "{TEXT}";', *map(body, sorted(functions)), ""])


def main():
    spec = importlib.util.find_spec("torch")
    if spec is None:
        sys.exit("torch-without-cuda: no torch in this environment")
    site = pathlib.Path(spec.origin).parents[1]
    libraries = sorted((site / "torch" / "lib").glob("*.so"))
    by_version = wanted_from(libraries)
    for_all = by_version.pop("", set())
    # The first folder of NVIDIA's that PyTorch looks into.
    path = re.search(r"R(?:UN)?PATH.*\[(.*)\]", read("readelf", "-d", str(site / "torch" / "lib" / "libtorch_python.so"))).group(1)
    folder = (site / "torch" / "lib" / path.split(":")[0].replace("$ORIGIN", ".")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        code, script = pathlib.Path(work, "stand_in.c"), pathlib.Path(work, "stand_in.map")
        for name in sorted(needed_by(libraries)):
            version = name if name in by_version else next((v for v in by_version if v.lower() in name), name)
            code.write_text(source(by_version.get(version, set()) | for_all))
            script.write_text(f"{version} {{ global: *; }};\n")
            subprocess.run(["cc", "-w", "-shared", "-fPIC", "-fno-builtin", "-o", str(folder / name), str(code), f"-Wl,-soname,{name}",
                            f"-Wl,--version-script={script}"], check=True)
            print(folder / name)


if __name__ == "__main__":
    main()
