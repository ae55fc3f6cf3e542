# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Find and read the documents of a robot, from files, ROS packages or text."""

from __future__ import annotations

import glob
import os
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.mesh_files import DOCUMENT, PackageWords, split_address
from superovoid.robot.xml import MAXIMUM_BYTES, parse_bytes, shorten

_INDEX = Path("share") / "ament_index" / "resource_index" / "packages"


class PackageFolders(PackageWords, Mapping[str, Path]):
    """Folders of packages by name, from an argument, ROS workspaces, source checkouts and folders near a file.

    Parameters
    ----------
    given : mapping of str to path, optional
        Folders that take precedence over all others. `DOCUMENT` is the folder of a file that the caller trusts.
        Packages are also searched, by names of folders, in it and in the folders that contain it, then in the cache of
        robot_descriptions. Iteration does not list these.
    """

    def __init__(self, given: Mapping[str, str | Path] | None = None) -> None:
        self._given = {name: Path(folder) for name, folder in (given or {}).items()}
        self._near = self._given[DOCUMENT].absolute() if DOCUMENT in self._given else None
        self.searched = "package_directories, ROS workspaces (AMENT_PREFIX_PATH, ROS_PACKAGE_PATH)"
        if self._near is not None:
            self.searched += (
                f", {self._near} and the folders that contain it, the cache of robot_descriptions ({_descriptions()})"
            )

    def __getitem__(self, name: str) -> Path:
        if name in self._given:
            return self._given[name]
        for prefix in _prefixes():
            if (prefix / _INDEX / name).is_file():
                return prefix / "share" / name
        for path in _source_paths():
            for folder in (path, path / name):
                if folder.name == name and (folder / "package.xml").is_file():
                    return folder
        checkout = _checkout(name) or self._nearby_folder(name)
        if checkout is None:
            raise KeyError(name)
        return checkout

    def _nearby_folder(self, name: str) -> Path | None:
        """Return the folder with the name of a package near the file."""
        if self._near is None or not name or Path(name).name != name:
            return None
        for parent in (self._near, *self._near.parents)[:-1]:  # without the root of the file system
            if parent.name == name:
                return parent
            if (parent / name).is_dir():
                return parent / name
        cache = _descriptions()
        found = (folder for depth in ("", "*/", "*/*/") for folder in cache.glob(f"{depth}{glob.escape(name)}"))
        return next((folder for folder in found if folder.is_dir()), None)

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys(self._given)
        for prefix in _prefixes():
            if (prefix / _INDEX).is_dir():
                names |= dict.fromkeys(sorted(each.name for each in (prefix / _INDEX).iterdir()))
        return iter(names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _prefixes() -> list[Path]:
    """Return the prefixes of installed ROS packages: AMENT_PREFIX_PATH of sourced workspaces, and `sys.prefix`."""
    given = [entry for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    return [Path(entry) for entry in [*given, sys.prefix]]


def _source_paths() -> list[Path]:
    """Return the folders of ROS_PACKAGE_PATH: packages, or folders that contain packages."""
    return [Path(entry) for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if entry]


def _descriptions() -> Path:
    """Return the folder into which robot_descriptions clones repositories."""
    return Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE") or "~/.cache/robot_descriptions").expanduser()


def _checkout(name: str) -> Path | None:
    """Return the source folder of an ament_python package imported from there, such as an editable install."""
    try:
        spec = find_spec(name) if name.isidentifier() else None
    except ValueError:  # a module without a file, such as `__main__`
        return None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).resolve().parent.parent
    return folder if _package_around(folder / "package.xml").get(name) == folder else None


def read_document(
    kind: str, source: str | os.PathLike[str], packages: Mapping[str, Path]
) -> tuple[str, dict[str, Path]]:
    """Return the text of a document, its folder and the package that contains its file.

    Parameters
    ----------
    kind : str
        Kind of document, for errors: ``"URDF"`` or ``"SRDF"``.
    source : str or path
        The XML text, which begins with ``<``; a path; or ``package://name/...``.
    packages : mapping of str to Path
        Folders of packages by name.

    Returns
    -------
    text : str
    folders : dict of str to Path
        Name and folder of the package that contains the file, from its package.xml, if there is one; and the folder of
        the file as `DOCUMENT`. Empty for text.

    Raises
    ------
    RobotDescriptionError
        If the package is unknown, or the file is too long or not UTF-8 text.
    OSError
        If the file does not exist or cannot be read.
    """
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"{kind}: must be a path, a package:// address or XML text, found {type(source).__name__}")
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return source, {}
    path = path_of(kind, source, packages)
    with open(path, "rb") as file:
        data = file.read(MAXIMUM_BYTES + 1)
    if len(data) > MAXIMUM_BYTES:
        raise RobotDescriptionError(f"{kind}: {path} has more than the allowed {MAXIMUM_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
        parse_bytes(text.encode(), f"{kind}: {path}: ", "utf-8")  # an error names the file
        return text, {**_package_around(path), DOCUMENT: path.absolute().parent}
    except ET.ParseError as error:
        raise RobotDescriptionError(f"{kind}: {path} is not well-formed XML: {error}") from None
    except UnicodeDecodeError as error:
        raise RobotDescriptionError(
            f"{kind}: {path} is not UTF-8 text ({error.reason} at byte {error.start})"
        ) from None


def path_of(kind: str, source: str | os.PathLike[str], packages: Mapping[str, Path]) -> Path:
    """Return the path of a document; parameters and errors as for `read_document`, but no XML text."""
    if not isinstance(source, str) or not source.startswith(("package://", "file://")):
        return Path(source)
    try:
        address = split_address(source)
    except ValueError as error:
        raise RobotDescriptionError(f"{kind}: address '{shorten(source)}': {error}") from None
    inside = unquote(address.path)
    if address.scheme == "file":
        return Path(inside)
    if address.netloc not in packages:
        raise RobotDescriptionError(
            f"{kind}: '{shorten(source)}': package '{shorten(address.netloc)}' is unknown; source its workspace, or "
            f"give the folder that contains '{shorten(inside.lstrip('/'))}' (in Python: package_directories="
            f"{{'{shorten(address.netloc)}': FOLDER}}, on the command line: --package {shorten(address.netloc)}=FOLDER)"
        )
    return packages[address.netloc] / inside.lstrip("/")


def _package_around(path: Path) -> dict[str, Path]:
    """Return the ROS package that contains a file: the nearest parent folder with a package.xml."""
    for folder in path.absolute().parents:
        manifest = folder / "package.xml"
        if manifest.is_file():
            try:
                name = parse_bytes(manifest.read_bytes(), f"{manifest}: ").findtext("name")
            except (OSError, ValueError, ET.ParseError):
                return {}
            return {name.strip(): folder} if name and name.strip() else {}
    return {}
