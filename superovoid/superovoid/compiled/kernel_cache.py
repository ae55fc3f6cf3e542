# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where compiled kernels are kept between processes: in which folder, in which files, and who compiles what.

A stale kernel is a wrong answer. So the folder is named after a digest of every module whose code or constants a kernel
can compile in (`covered`), of the versions and of the processor: an edit of any of these starts a new folder. A process
imports modules one by one: once a source is edited, as by an update of the package, what it compiles may be of the new
text, and the folder, named after the old one, is neither written nor read any more (`edited`).

What is kept holds machine code and pickles, so who writes a file there runs code in every process that reads it. A
folder or file that belongs to somebody else, or that others may write to, is not read. Folder and file are checked by
their descriptors after they are opened, so that nobody can exchange them in between; the folders above need not be
checked, since what is put in our folder's place belongs to whoever did it. A file begins with a checksum of its name
and contents: what is damaged is compiled again and replaced. Whatever fails here costs time, never an answer.

Processes that start together with an empty folder share the work: of each kernel one holds a lock while it compiles,
and the others wait as long as it gets on.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import math
import os
import re
import shutil
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not a POSIX system: there every process compiles for itself
    fcntl = None

PACKAGE = Path(__file__).parents[1]
"""The library. Its sources name the folder; those of another package with kernels the files of these."""
_JIT = PACKAGE / "compiled" / "jit.py"
_KEPT_FOLDERS = 4
_MAGIC = b"superovoid kernel 1\n"
_DIGEST_LENGTH = hashlib.sha256().digest_size

# How long another process is waited for that holds a lock [s]: as long as its processor time grows by a hundredth of
# the time that passes (who only waits itself uses less), and never longer than the last.
_STALLED_AFTER, _GETTING_ON, _LONGEST_WAIT = 3.0, 0.01, 300.0
_POLL = 0.02

_LOOK_AGAIN = 0.05  # how long what was seen of the sources holds where kernels are read [s]

_log = logging.getLogger("superovoid")


# --- What may be compiled in ---

# `from a.b import c, d`, with or without brackets, and `import a.b`, anywhere in a module.
_IMPORTS = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.MULTILINE
)
_KERNELS = re.compile(rb"(?:jit|kernels) import \(?[^\n)]*\b(?:kernel|choice|entry_point)\b")  # what makes kernels
_NAMES = re.compile(rb"(\w[\w.]*)(?:[ \t]+as[ \t]+\w+)?")


def package_of(function: Callable[..., Any]) -> Path:
    """Return the folder of the package that a function of a module is in, that of the module if it is in none."""
    source = Path(function.__code__.co_filename)
    depth = function.__module__.count(".")
    return source.parents[depth if source.name == "__init__.py" else max(depth - 1, 0)]


def _source_of(dotted: str, package: Path) -> Path | None:
    """Return the file of a module of a package."""
    parts = dotted.split(".")
    if parts[0] != package.name:
        return None
    base = package.joinpath(*parts[1:])
    for candidate in (base.with_suffix(".py") if parts[1:] else base, base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def imported_by(source: Path, text: bytes, package: Path = PACKAGE) -> set[Path]:
    """Return the modules of a package that one of its modules imports, wherever in its text.

    Of ``from package import name`` that is the module of that name if there is one, else the package's own.
    """
    found: set[Path] = set()
    here = [package.name, *source.relative_to(package).parent.parts]
    for origin, names, modules in _IMPORTS.findall(text):
        if modules:
            listed = (_source_of(name.decode(), package) for name in _NAMES.findall(modules))
            found.update(path for path in listed if path is not None)
            continue
        module = origin.decode()
        if module.startswith("."):
            level = len(module) - len(module.lstrip("."))
            module = ".".join([*here[: len(here) - level + 1], *filter(None, [module.lstrip(".")])])
        own = _source_of(module, package)
        if own is None:
            continue
        for name in _NAMES.findall(re.sub(rb"#[^\n]*", b"", names).strip(b"() \t\n")):
            found.add(_source_of(f"{module}.{name.decode()}", package) or own)
    return found


_stamps: dict[Path, tuple[int, int, int] | None] = {}  # of the sources when they were read
_reached: set[Path] = set()  # of these, those that are covered


def _stamp(source: Path) -> tuple[int, int, int] | None:
    try:
        found = source.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def edited() -> Path | None:
    """Return a source of `covered` that was written, moved or removed since it was read there; None: there is none."""
    covered()
    return next((source for source in sorted(_reached) if _stamp(source) != _stamps[source]), None)


def covered(package: Path = PACKAGE) -> Mapping[Path, bytes]:
    """Return the modules of a package that its kernels can compile in, with their texts.

    Those are the modules with kernels, and all that these import.

    Code comes from modules with kernels. Constants come from any module that one of these imports a name of, directly
    or through others, so imports are followed to their end.
    """
    return _covered(package)


@cache
def _covered(package: Path) -> Mapping[Path, bytes]:
    texts = {}
    for source in package.rglob("*.py"):
        _stamps[source] = _stamp(source)  # before it is read
        texts[source] = source.read_bytes()
    left = [source for source, text in texts.items() if _KERNELS.search(text) or source == _JIT]
    reached = set(left)
    while left:
        source = left.pop()
        for other in imported_by(source, texts[source], package) - reached:
            reached.add(other)
            left.append(other)
    _reached.update(reached)
    return {source: texts[source] for source in sorted(reached)}


@cache
def digest(package: Path = PACKAGE, versions: str = "") -> str:
    """Return a digest of the modules that are `covered`, and of versions."""
    found = hashlib.sha256()
    for source, text in covered(package).items():
        found.update(f"{source.relative_to(package).as_posix()} {len(text)}\n".encode())
        found.update(text)
    found.update(versions.encode())
    return found.hexdigest()[:16]


# --- Folder ---


class _Untrusted(Exception):
    """What is wrong with a folder or file, and what to do."""


def _check_owner(path: str | os.PathLike[str], status: os.stat_result) -> None:
    """Raise `_Untrusted` where somebody else may have written a folder or file."""
    if not hasattr(os, "geteuid"):
        return
    user = os.geteuid()
    if status.st_uid not in (user, 0):  # root may do anything anyway
        raise _Untrusted(f"'{path}' belongs to user {status.st_uid}, not to user {user} who runs this process")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        raise _Untrusted(f"others may write to '{path}' (mode {mode:04o}; chmod go-w '{path}' if it is yours alone)")


@contextmanager
def _opened(path: str | os.PathLike[str], flags: int, folder: int | None = None, mode: int = 0o600) -> Iterator[int]:
    """Open a folder or file that is trusted."""
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), mode, dir_fd=folder)
    try:
        _check_owner(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # never waits for the writer of a pipe


class Folder:
    """A folder of kept kernels, or none.

    Attributes
    ----------
    path : str or None
        None: nothing is kept.
    problem : str
        Why nothing is kept, or nothing new.
    """

    def __init__(self, path: str | None, problem: str = "") -> None:
        self.path = path
        self.problem = problem
        self._told: set[str] = set()
        self._looked = -math.inf

    def is_of_these_sources(self, *, at_once: bool = True) -> bool:
        """Whether the folder is named after what this process has imported; if not, it is not used any more.

        Parameters
        ----------
        at_once : bool, optional
            False: what was seen a moment ago will do.
        """
        if self.path is None or (not at_once and time.monotonic() < self._looked + _LOOK_AGAIN):
            return self.path is not None
        self._looked = time.monotonic()
        source = edited()
        if source is not None:
            self._tell_once("edited", f"compiled kernels are not kept any more: {source} was edited meanwhile")
            self.path, self.problem = None, f"{source} was edited meanwhile"
        return source is None

    def where(self) -> str:
        """Return words on where kernels are kept."""
        if self.path is not None and not self.problem:
            return f"kept in {self.path}"
        return f"not kept: {self.problem}"

    def read(self, name: str) -> bytes | None:
        """Return what is kept under a name; None where nothing is, or what there is cannot be trusted."""
        path = self.path
        if path is None or not self.is_of_these_sources(at_once=False):
            return None
        try:
            with (
                _opened(path, os.O_RDONLY | _FOLDER) as folder,
                _opened(name, os.O_RDONLY | _FILE, folder) as descriptor,
                open(descriptor, "rb", closefd=False) as file,
            ):
                found = file.read()
        except FileNotFoundError:
            return None
        except (OSError, _Untrusted) as error:
            self.tell_of_damage(name, str(error))
            return None
        start = len(_MAGIC) + _DIGEST_LENGTH
        if found[:start] != _MAGIC + _checksum(name, found[start:]):
            self.tell_of_damage(name, "its checksum is not that of its contents")
            return None
        return found[start:]

    def write(self, name: str, data: bytes) -> None:
        """Keep something under a name, whole or not at all; where that fails, say so once."""
        path = self.path
        if path is None or self.problem or not self.is_of_these_sources():
            return
        temporary = f"{name}.{os.getpid()}.tmp"
        try:
            os.makedirs(path, 0o700, exist_ok=True)  # may have been removed since the start
            with _opened(path, os.O_RDONLY | _FOLDER) as folder:
                try:
                    with (
                        _opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FILE, folder) as descriptor,
                        open(descriptor, "wb", closefd=False) as file,
                    ):
                        file.write(_MAGIC + _checksum(name, data) + data)
                    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    with suppress(OSError):
                        os.unlink(temporary, dir_fd=folder)
                    raise
        except (OSError, _Untrusted) as error:
            self.tell_of_loss(str(error))

    def tell_of_loss(self, reason: str) -> None:
        """Say once that something compiled is not kept."""
        self._tell_once("lost", f"compiled kernels are not kept in {self.path}: {reason}")

    def tell_of_damage(self, name: str, reason: str) -> None:
        """Say once that something kept cannot be used, and is compiled again."""
        self._tell_once(
            "damaged", f"kernels kept in {self.path} cannot be used and are compiled again: {name}: {reason}"
        )

    def _tell_once(self, kind: str, words: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            _log.warning(words)


def _checksum(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + data).digest()


def _roots() -> list[Path]:
    """Return where the folder may be, best first."""
    override = os.environ.get("SUPEROVOID_CACHE_DIR")
    if override:
        return [Path(override)]
    roots = []
    base = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # nobody's home
        roots.append((Path(base) if base else Path.home() / ".cache") / "superovoid")
    # Where that cannot be written, as in a container without a home, for the user's processes until the next restart.
    roots.append(Path(tempfile.gettempdir()) / f"superovoid-{os.geteuid()}")
    return roots


def _prepared(root: Path, name: str) -> Folder:
    """Return the folder of that name, made where it is missing; OSError or `_Untrusted` where it cannot be used."""
    root.mkdir(0o700, parents=True, exist_ok=True)
    root = root.resolve()
    _check_owner(root, root.stat())
    path = root / name
    path.mkdir(0o700, exist_ok=True)
    with _opened(path, os.O_RDONLY | _FOLDER):
        pass
    if not os.access(path, os.W_OK):
        return Folder(str(path), f"'{path}' cannot be written")
    _prune(root, path)
    return Folder(str(path))


def _prune(root: Path, keep: Path) -> None:
    """Remove the folders of old kernels, oldest first; another process may be doing the same."""
    try:
        others = sorted((d for d in root.glob("kernels-*") if d != keep), key=lambda d: d.stat().st_mtime, reverse=True)
        # A folder touched within the last hour may belong to a process that is running now.
        for folder in others[_KEPT_FOLDERS:]:
            if folder.stat().st_mtime < time.time() - 3600.0:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass


def prepare(versions: str) -> Folder:
    """Return the folder for the kernels of this package, of these versions.

    Parameters
    ----------
    versions : str
        All that compiled code depends on beside this package.
    """
    if fcntl is None or os.open not in os.supports_dir_fd:
        return Folder(None, "this system is not a POSIX one")
    problems = []
    for root in _roots():
        try:
            return _prepared(root, f"kernels-{digest(PACKAGE, versions)}")
        except (OSError, _Untrusted) as error:
            problems.append(str(error))
    return Folder(None, f"{'; '.join(problems)}; SUPEROVOID_CACHE_DIR names a folder of your own to keep them in")


# --- One process compiles, others wait ---


class Locks:
    """Locks on bytes of a file, one a kernel; the system gives up those of a process that ends.

    Parameters
    ----------
    folder : Folder
        Where the file is.
    waiting : callable
        Called again and again while another process is waited for; what it raises ends the waiting.
    """

    def __init__(self, folder: Folder, waiting: Callable[[], None] = lambda: None) -> None:
        self._folder, self._waiting = folder, waiting
        self._descriptor: int | None = None
        self._told = False
        self._given_up: dict[int, float] = {}  # process: its processor time when it was given up [s]

    @contextmanager
    def held(self, name: str) -> Iterator[bool]:
        """Hold the lock of a name; whether another process was waited for.

        Without a lock where that cannot be had: no such file system, or a holder that does not get on. Each compiles
        for itself then, which costs time and nothing else.
        """
        byte = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
        try:
            locked, waited = self._lock(byte)
        except (OSError, _Untrusted):
            locked = waited = False
        try:
            yield waited
        finally:
            if locked:
                with suppress(OSError):
                    fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, byte)

    def _open(self) -> int:
        # Open for as long as the process lives: closing it would give up every lock.
        if self._descriptor is None:
            with _opened(self._folder.path or "", os.O_RDONLY | _FOLDER) as folder:
                flags = os.O_RDWR | os.O_CREAT | _FILE
                with _opened("locks", flags, folder) as descriptor:
                    self._descriptor = os.dup(descriptor)
                    os.set_inheritable(self._descriptor, False)
        return self._descriptor

    def _lock(self, byte: int) -> tuple[bool, bool]:
        """Lock a byte as soon as no other process does; return whether it is locked, and whether that took waiting."""
        if self._folder.path is None or self._folder.problem:
            return False, False
        descriptor = self._open()
        started = time.monotonic()
        holder, since, time_then = 0, started, 0.0
        for turn in itertools.count():
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            except (BlockingIOError, PermissionError):
                pass
            else:
                return True, turn > 0
            now = time.monotonic()
            previous, holder = holder, _holder(descriptor, byte)
            spent = processor_time(holder)
            if holder != previous or spent > time_then + _GETTING_ON * (now - since):
                since, time_then = now, spent
            stalled = now > since + _STALLED_AFTER or self._given_up.get(holder) == spent
            if stalled or now > started + _LONGEST_WAIT:
                self._given_up[holder] = spent
                _log.warning("process %d holds a lock on kernels and does not get on: compiled here too", holder)
                return False, True
            if not self._told:
                self._told = True
                _log.warning("waiting for kernels that another process is compiling")
            self._waiting()
            time.sleep(_POLL)


def _holder(descriptor: int, byte: int) -> int:
    """Return the process that has locked a byte; 0 where that is unknown."""
    if not sys.platform.startswith("linux"):
        return 0
    question = struct.pack("@hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    kind, _, _, _, process = struct.unpack("@hhqqi0q", fcntl.fcntl(descriptor, fcntl.F_GETLK, question))
    return 0 if kind == fcntl.F_UNLCK else process


def processor_time(process: int) -> float:
    """Return the processor time of a process [s]; 0 where that is unknown."""
    try:
        status = Path(f"/proc/{process}/stat").read_bytes()
        user, system = status.rpartition(b")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0
