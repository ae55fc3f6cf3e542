# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which clients the server of a page accepts."""

import gzip
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")

import viser

from superovoid.viewing.serving import ServingError, is_own, open_server, own_pages_only
from superovoid.viewing.software_drawing import SCRIPT, with_script


@pytest.fixture(scope="module")
def server():
    server = open_server("page")
    yield server
    server.stop()


def answer(server, *headers, upgrade=True):
    """Return the first line of the server's response."""
    lines = ["GET / HTTP/1.1", *headers]
    if upgrade:
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Sec-WebSocket-Protocol: viser-v{viser.__version__}"]
    with socket.create_connection((server.get_host(), server.get_port()), timeout=60.0) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return connection.recv(100).split(b"\r\n")[0].decode()


def test_its_own_page_opens_a_websocket(server):
    port = server.get_port()
    for name in ("127.0.0.1", "localhost"):
        assert "101" in answer(server, f"Host: {name}:{port}", f"Origin: http://{name}:{port}")


@pytest.mark.parametrize("upgrade", [True, False])
@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:{port}", "https://elsewhere.example"),
        ("127.0.0.1:{port}", "http://127.0.0.1:1"),  # another server on this machine
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}.elsewhere.example"),
        ("127.0.0.1:{port}", "null"),  # a file or a sandboxed frame
        ("elsewhere.example:{port}", "http://elsewhere.example:{port}"),  # a name that resolves to this machine
        ("elsewhere.example", None),
    ],
)
def test_a_page_of_another_site_is_rejected(server, host, origin, upgrade):
    headers = [f"Host: {host}"] + ([f"Origin: {origin}"] if origin else [])
    port = server.get_port()
    assert "403" in answer(server, *(header.format(port=port) for header in headers), upgrade=upgrade)
    assert not server.get_clients()


@pytest.mark.parametrize(
    ("hosts", "origins", "own"),
    [
        (["127.0.0.1:80"], [], True),
        (["[::1]:80"], ["http://[::1]:80"], True),
        (["192.168.1.2:80"], ["https://192.168.1.2:80"], True),
        (["LOCALHOST:80"], ["http://localhost:80"], True),
        ([], [], False),
        (["127.0.0.1", "127.0.0.1"], [], False),
        (["127.0.0.1"], ["http://127.0.0.1", "http://127.0.0.1"], False),
        (["127.0.0.1@elsewhere.example"], [], False),
        (["[::1"], [], False),
        ([""], [], False),
    ],
)
def test_is_own_compares_host_and_origin(hosts, origins, own):
    assert is_own(hosts, origins) is own


@pytest.mark.parametrize("packing", ["identity", "gzip"])
def test_a_page_contains_the_renderer_script(server, packing):
    request = urllib.request.Request(f"http://127.0.0.1:{server.get_port()}/?a=b", headers={"Accept-Encoding": packing})
    with urllib.request.urlopen(request, timeout=60.0) as answer:
        body = answer.read()
        assert answer.headers.get_all("Content-Length") == [str(len(body))]
    text = (gzip.decompress(body) if packing == "gzip" else body).decode()
    assert text.count(SCRIPT) == 1 and f"<head><script>{SCRIPT}</script>" in text
    assert text.replace(f"<script>{SCRIPT}</script>", "") == (
        Path(viser.__file__).parent / "client/build/index.html"
    ).read_text(encoding="utf-8")


def test_other_responses_are_sent_unchanged(server):
    assert with_script("<b>") == "<b>"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{server.get_port()}/none.html", timeout=60.0)


def test_a_server_that_starts_differently_is_an_error():
    with pytest.raises(ServingError, match="is unchecked"), own_pages_only():
        pass
