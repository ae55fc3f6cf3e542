# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Imported by every Python that CMake starts: IDL files are parsed once, not by each of the five generators anew.

The parser takes as long as the templates. What it makes of a file is kept in the folder that IDL_CACHE names.
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


# The module of this name that stands behind this one comes first: by it pip makes known what the build needs.
_BEHIND = [
    Path(folder, "sitecustomize.py") for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent
]
for _file in filter(Path.is_file, _BEHIND):
    runpy.run_path(str(_file))
    break

if os.environ.get("IDL_CACHE") and "--generator-arguments-file" in sys.orig_argv:
    try:
        _remember_parsed(Path(os.environ["IDL_CACHE"]))
    except (ImportError, AttributeError):  # another version of the parser: nothing is remembered
        pass
