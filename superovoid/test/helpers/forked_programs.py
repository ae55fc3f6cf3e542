# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Programs in processes of their own, forked from one that has imported numba, which takes more time than many a test.

Of this package nothing is imported before: a program may read a copy of it, with any cache.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from warm_starts import prepare_to_fork, run_to_its_end


@dataclass(frozen=True)
class Ended:
    """What a program has written, and how it has ended."""

    stdout: str
    stderr: str
    returncode: int


class Server:
    """The process that forks; it ends with this one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Python tells its own compiled files by size and by the second: an edit within one would go unseen.
            # One thread: a process with more cannot be forked.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"},
            text=True,
        )
        atexit.register(self.close)

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def run(self, program: str, folder: Path, variables: dict[str, str]) -> Ended:
        """Run a program to its end.

        Parameters
        ----------
        program
            Its text.
        folder
            Where it runs, and where it imports from before all others.
        variables
            Of its environment, beside those of this process.
        """
        with tempfile.TemporaryDirectory() as place:
            files = [os.path.join(place, name) for name in ("stdout", "stderr")]
            print(json.dumps([program, str(folder), variables, files]), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError("the process that runs programs has ended")
            return Ended(*(Path(file).read_text(encoding="utf-8") for file in files), int(answer))


@cache
def server() -> Server:
    """Return the one of this process."""
    return Server()


def _serve() -> None:
    import numba

    numba.njit(lambda x: x + 1.0)(1.0)  # numba reads its tables when it compiles for the first time
    prepare_to_fork()
    for line in sys.stdin:
        program, folder, variables, files = json.loads(line)
        child = os.fork()
        if child == 0:
            for number, file in ((1, files[0]), (2, files[1])):
                os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.environ.update(variables)
            os.chdir(folder)
            sys.path[0] = folder
            sys.argv = ["-c"]
            run_to_its_end(partial(exec, compile(program, "<program>", "exec"), {"__name__": "__main__"}))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
