# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cache of parsed IDL files, imported by every Python that CMake starts: five generators parse each file only once.

Parsing takes as long as the templates. The folder in IDL_CACHE stores the results.
"""

import hashlib
import os
import pickle
import runpy
import sys
from pathlib import Path


def _remember_parsed(folder: Path) -> None:
    from rosidl_parser import parser

    parse = parser.parse_idl_string

    def parse_once(text: str, **options: object) -> object:
        if options.get("png_file") is not None:
            return parse(text, **options)
        file = folder / f"{hashlib.sha256(text.encode()).hexdigest()}.pickle"
        if file.is_file():
            return pickle.loads(file.read_bytes())
        parsed = parse(text, **options)
        written = file.with_suffix(f".{os.getpid()}")
        written.write_bytes(pickle.dumps(parsed))
        written.replace(file)
        return parsed

    parser.parse_idl_string = parse_once


# First import the module with this name further down the path, which pip uses to provide the build requirements.
_BEHIND = [
    Path(folder, "sitecustomize.py") for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent
]
for _file in filter(Path.is_file, _BEHIND):
    runpy.run_path(str(_file))
    break

if os.environ.get("IDL_CACHE") and "--generator-arguments-file" in sys.orig_argv:
    try:
        _remember_parsed(Path(os.environ["IDL_CACHE"]))
    except (ImportError, AttributeError):  # another version of the parser: no cache
        pass
