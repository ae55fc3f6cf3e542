# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The server of pages: bound to this machine unless asked otherwise, on a port that is free, and ended in order.

viser is imported when a server is opened, and by no module when it is imported.
"""

from __future__ import annotations

import contextlib
import html
import http
import io
import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from superovoid.viewing.software_drawing import light, with_script_sent

if TYPE_CHECKING:
    import viser

_patching = threading.Lock()
LOOPBACK = "127.0.0.1"
_CELL = 600
"""Height of a page in a notebook, pixels."""
_log = logging.getLogger(__name__)


class ServingError(RuntimeError):
    """A page cannot be served: viser is missing, or the address is not to be had. Says what to do."""


def open_server(title: str, host: str = LOOPBACK, port: int = 0) -> viser.ViserServer:
    """Begin to serve an empty page.

    Parameters
    ----------
    title : str
        Of the panel of controls.
    host : str
        Address to listen at; default: this machine only.
    port : int
        Default: any that is free.

    Raises
    ------
    ServingError
        If viser is missing, or the address is taken or not this machine's.
    """
    try:
        import viser
    except ModuleNotFoundError as error:
        raise ServingError(f"no module {error.name!r}: pip install 'superovoid[view]'") from error

    class Server(viser.ViserServer):
        def request_share_url(self, verbose: bool = True) -> str | None:
            """Nothing: a page can ask for an address on the internet, which nobody here has asked for."""
            return None

    _check_address(host, port)
    with contextlib.redirect_stdout(io.StringIO()), own_pages_only():  # it prints its address in a frame
        server = Server(host=host, port=port, label=title, verbose=False)
    if port and server.get_port() != port:  # it takes the next one where somebody was quicker
        server.stop()
        raise ServingError(f"port {port} of {host} was taken by another program just now; choose another with --port")
    light(server)
    server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="large")
    return server


@contextlib.contextmanager
def own_pages_only() -> Iterator[None]:
    """Have servers that begin here answer to their own pages alone.

    A browser lets a page of any site open a websocket to this machine, and says in ``Origin`` whose page it is; viser
    asks nobody for that. A name that leads to this machine is refused too, since anybody can have such a name (DNS
    rebinding). A program that sends no ``Origin`` is no page.
    """
    from websockets.asyncio import server as websockets_server

    serve = websockets_server.serve
    begun = []

    def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        begun.append(True)

        def check(connection: Any, request: Any) -> Any:
            if not is_own(request.headers.get_all("Host"), request.headers.get_all("Origin")):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "this page is shown to its own address only\n")
            answer = None if process_request is None else process_request(connection, request)
            return None if answer is None else with_script_sent(answer)

        return serve(*arguments, process_request=check, **options)

    with _patching:
        websockets_server.serve = guarded
        try:
            yield
        finally:
            websockets_server.serve = serve
    if not begun:
        raise ServingError("this version of viser begins its server otherwise: who asks it cannot be checked")


def is_own(hosts: Sequence[str], origins: Sequence[str]) -> bool:
    """Whether a request was made by a page of the server that it was made to, or by no page.

    Parameters
    ----------
    hosts, origins : sequence of str
        The values of the headers ``Host`` and ``Origin``.
    """
    if len(hosts) != 1 or len(origins) > 1:
        return False
    try:
        name = urlsplit(f"//{hosts[0]}").hostname or ""
        if name != "localhost":
            ipaddress.ip_address(name)
    except ValueError:
        return False
    return not origins or origins[0].lower() in (f"http://{hosts[0].lower()}", f"https://{hosts[0].lower()}")


def _check_address(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        what = f"port {port} of {host}" if port else f"address {host}"
        raise ServingError(
            f"{what} cannot be listened at: {error.strerror}; without --port a free port is taken, without --host this "
            "machine's own address"
        ) from error


class Refresher:
    """Calls a function in a thread of its own, whenever asked; what is asked while it works is done once, afterwards.

    Parameters
    ----------
    refresh : callable
        Makes what is shown that of now. It may return seconds, after which it wants to be called again: it has held
        something back.
    failed : callable
        Given the error where that raised: what is shown is outdated then, and must not look like an answer.
    name : str
        Of the thread.

    Attributes
    ----------
    rounds : int
        How often the function was called.
    """

    def __init__(
        self, refresh: Callable[[], float | None], failed: Callable[[Exception], None], name: str = "refresher"
    ) -> None:
        self._refresh, self._failed = refresh, failed
        self._change = threading.Condition()
        self._asked, self._working, self._closed = False, False, False
        self._again: float | None = None  # monotonic time at which what was held back is due
        self.rounds = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def ask(self) -> None:
        """Have what is shown made anew."""
        with self._change:
            self._asked = True
            self._change.notify_all()

    def wait(self, timeout: float) -> bool:
        """Wait until nothing is asked, s; whether that is so."""
        with self._change:
            return self._change.wait_for(lambda: not (self._asked or self._working or self._again is not None), timeout)

    def close(self) -> None:
        """End the thread, after what it does now."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._change:
                due = None if self._again is None else max(self._again - time.monotonic(), 0.0)
                self._change.wait_for(lambda: self._asked or self._closed, due)
                if self._closed:
                    return
                self._asked, self._working, self._again = False, True, None
                self.rounds += 1
            later = None
            try:
                later = self._refresh()
            except Exception as error:
                _log.exception("the page could not be refreshed")
                try:
                    self._failed(error)
                except Exception:  # the next time may be a better one
                    _log.exception("the page could not say so")
            finally:
                with self._change:
                    self._working = False
                    self._again = time.monotonic() + later if later else None
                    self._change.notify_all()


class Viewer:
    """A page that is being served: `url` is where, `title` what. A context manager; `close` ends it."""

    def __init__(self, server: viser.ViserServer, refresher: Refresher, title: str) -> None:
        self.server, self.refresher, self.title = server, refresher, title
        self._closed = threading.Event()
        self._ends: list[Callable[[], None]] = []

    def on_close(self, end: Callable[[], None]) -> None:
        """Have something ended when the page is closed."""
        self._ends.append(end)

    @property
    def url(self) -> str:
        """Where the page is."""
        host = self.server.get_host()
        host = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.server.get_port()}"

    def wait(self) -> None:
        """Wait until the page is closed; signals interrupt it."""
        while not self._closed.wait(0.5):
            pass

    def close(self) -> None:
        """Stop serving."""
        if not self._closed.is_set():
            self._closed.set()
            for end in self._ends:
                end()
            self.refresher.close()
            with contextlib.redirect_stdout(io.StringIO()):  # it says so
                self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Viewer({self.url})"

    def _repr_html_(self) -> str:
        """The page itself, as a cell of a notebook shows it; closed, the words for that."""
        title = html.escape(self.title)
        if self._closed.is_set():
            return f"<p>{title}: closed</p>"
        return (
            f'<iframe src="{self.url}" title="{title}" width="100%" height="{_CELL}" style="border: 1px solid #ccc">'
            f'</iframe><p>{title}: <a href="{self.url}" target="_blank" rel="noopener">{self.url}</a>, on the machine '
            "of the kernel and while it runs</p>"
        )
