# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The web server of pages. By default it listens on this machine only, on a free port.

viser is imported when a server is opened, never when a module is imported.
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
"""Height of a page in a notebook cell, pixels."""
_log = logging.getLogger(__name__)


class ServingError(RuntimeError):
    """The page cannot be served: viser is missing, or the address is unavailable. Gives the remedy."""


def open_server(title: str, host: str = LOOPBACK, port: int = 0) -> viser.ViserServer:
    """Start a server with an empty page.

    Parameters
    ----------
    title : str
        Title of the control panel.
    host : str
        Address to listen on; default: this machine only.
    port : int
        Port to listen on; default: any free port.

    Raises
    ------
    ServingError
        If viser is missing, or the address is in use or does not belong to this machine.
    """
    try:
        import viser
    except ModuleNotFoundError as error:
        raise ServingError(f"no module {error.name!r}: pip install 'superovoid[view]'") from error

    class Server(viser.ViserServer):
        def request_share_url(self, verbose: bool = True) -> str | None:
            """Return None: never let a page request a public internet address from viser."""
            return None

    _check_address(host, port)
    with contextlib.redirect_stdout(io.StringIO()), own_pages_only():  # viser prints its address
        server = Server(host=host, port=port, label=title, verbose=False)
    if port and server.get_port() != port:  # viser takes the next port if another program was faster
        server.stop()
        raise ServingError(f"port {port} of {host} has just been taken by another program; choose another with --port")
    light(server)
    server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="large")
    return server


@contextlib.contextmanager
def own_pages_only() -> Iterator[None]:
    """Make servers that start in this context answer only their own pages.

    A browser lets a page of any site open a websocket to this machine and sends the site in ``Origin``, which viser
    does not check. Host names other than localhost are rejected too, because anyone can point a name at this machine
    (DNS rebinding). A client that sends no ``Origin`` is not a page and is accepted.
    """
    from websockets.asyncio import server as websockets_server

    serve = websockets_server.serve
    begun = []

    def serve_guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        begun.append(True)

        def check(connection: Any, request: Any) -> Any:
            if not is_own(request.headers.get_all("Host"), request.headers.get_all("Origin")):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "this page is served at its own address only\n")
            answer = None if process_request is None else process_request(connection, request)
            return None if answer is None else with_script_sent(answer)

        return serve(*arguments, process_request=check, **options)

    with _patching:
        websockets_server.serve = serve_guarded
        try:
            yield
        finally:
            websockets_server.serve = serve
    if not begun:
        raise ServingError("this version of viser starts its server differently: the origin of requests is unchecked")


def is_own(hosts: Sequence[str], origins: Sequence[str]) -> bool:
    """Return whether a request came from a page of the same server, or from a client other than a page.

    Parameters
    ----------
    hosts, origins : sequence of str
        Values of the headers ``Host`` and ``Origin``.
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
            f"{what} cannot be used: {error.strerror}; omit --port to use a free port, omit --host to use this "
            "machine's own address"
        ) from error


class Refresher:
    """Call a function on request, in a thread of its own; requests made during a call are merged into one later call.

    Parameters
    ----------
    refresh : callable
        Updates the page. It may return a number of seconds after which it must be called again, because it has
        delayed part of the update.
    on_error : callable
        Called with the error if `refresh` raised one: the page is outdated then, and must not look like an answer.
    name : str
        Name of the thread.

    Attributes
    ----------
    rounds : int
        Number of calls of the function.
    """

    def __init__(
        self, refresh: Callable[[], float | None], on_error: Callable[[Exception], None], name: str = "refresher"
    ) -> None:
        self._refresh, self._on_error = refresh, on_error
        self._change = threading.Condition()
        self._requested, self._working, self._closed = False, False, False
        self._repeat_at: float | None = None  # monotonic time at which a delayed part is due
        self.rounds = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def ask(self) -> None:
        """Request a refresh."""
        with self._change:
            self._requested = True
            self._change.notify_all()

    def wait(self, timeout: float) -> bool:
        """Wait until no request is pending; return false if this takes longer than `timeout`, s."""
        with self._change:
            return self._change.wait_for(
                lambda: not (self._requested or self._working or self._repeat_at is not None), timeout
            )

    def close(self) -> None:
        """End the thread after the present call."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._change:
                due = None if self._repeat_at is None else max(self._repeat_at - time.monotonic(), 0.0)
                self._change.wait_for(lambda: self._requested or self._closed, due)
                if self._closed:
                    return
                self._requested, self._working, self._repeat_at = False, True, None
                self.rounds += 1
            later = None
            try:
                later = self._refresh()
            except Exception as error:
                _log.exception("the page could not be refreshed")
                try:
                    self._on_error(error)
                except Exception:  # the next call may succeed
                    _log.exception("the page could not show the error")
            finally:
                with self._change:
                    self._working = False
                    self._repeat_at = time.monotonic() + later if later else None
                    self._change.notify_all()


class Viewer:
    """A served page with its `url` and `title`. A context manager; `close` ends it."""

    def __init__(self, server: viser.ViserServer, refresher: Refresher, title: str) -> None:
        self.server, self.refresher, self.title = server, refresher, title
        self._closed = threading.Event()
        self._ends: list[Callable[[], None]] = []

    def on_close(self, end: Callable[[], None]) -> None:
        """Register a function to call when the page is closed."""
        self._ends.append(end)

    @property
    def url(self) -> str:
        """Address of the page."""
        host = self.server.get_host()
        host = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.server.get_port()}"

    def wait(self) -> None:
        """Wait until the page is closed or a signal arrives."""
        while not self._closed.wait(0.5):
            pass

    def close(self) -> None:
        """Stop serving."""
        if not self._closed.is_set():
            self._closed.set()
            for end in self._ends:
                end()
            self.refresher.close()
            with contextlib.redirect_stdout(io.StringIO()):  # viser prints that it stops
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
        """Return the page as an HTML frame for a notebook, or a note that it is closed."""
        title = html.escape(self.title)
        if self._closed.is_set():
            return f"<p>{title}: closed</p>"
        return (
            f'<iframe src="{self.url}" title="{title}" width="100%" height="{_CELL}" style="border: 1px solid #ccc">'
            f'</iframe><p>{title}: <a href="{self.url}" target="_blank" rel="noopener">{self.url}</a>, on the machine '
            "of the kernel and while it runs</p>"
        )
