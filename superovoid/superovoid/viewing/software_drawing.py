# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pages that a processor without graphics can draw: plain light, no shadows, and edges that it need not smooth.

What each of these takes is in docs/viewing.md, "How fast".
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import viser

# WebGL is asked once who draws. Smoothed edges are four times the work, which only graphics hardware does for nothing.
# The background is a picture that no page here has: viser asks in each pixel whether there is one. It is reached by
# what viser has for its own tests; where that is not there (another version), the page is slower, and the same.
SCRIPT = """
(() => {
  const probe = document.createElement("canvas").getContext("webgl2");
  const names = probe === null ? null : probe.getExtension("WEBGL_debug_renderer_info");
  const who = names === null ? "" : String(probe.getParameter(names.UNMASKED_RENDERER_WEBGL));
  if (probe !== null) probe.getExtension("WEBGL_lose_context")?.loseContext();
  if (!/swiftshader|llvmpipe|softpipe|basic render|software/i.test(who)) return;
  const open = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, wishes, ...rest) {
    const webgl = kind === "webgl2" || kind === "webgl";
    return open.call(this, kind, webgl ? { ...wishes, antialias: false } : wishes, ...rest);
  };
  const hide = setInterval(() => {
    const background = window.__viserMutable?.backgroundMaterial;
    if (background) { background.visible = false; clearInterval(hide); }
  }, 200);
})();
"""
_HEAD = "<head>"


def light(server: viser.ViserServer) -> None:
    """Light a scene from above, from below and from all sides, without shadows and without pictures of a room."""
    scene = server.scene
    scene.configure_default_lights(cast_shadow=False)
    scene.configure_environment_map(None)
    scene.add_light_ambient("/light", intensity=1.2)


def with_script(page: str) -> str:
    """A page of viser that looks who draws it; one without a head as it is."""
    begin, head, rest = page.partition(_HEAD)
    return f"{begin}{head}<script>{SCRIPT}</script>{rest}" if head else page


def with_script_sent(response: Any) -> Any:
    """The same, of what a server answers (`websockets.http11.Response`); what is no page stays as it is."""
    headers = response.headers
    if response.status_code != 200 or not headers.get("Content-Type", "").startswith("text/html"):
        return response
    is_packed = headers.get("Content-Encoding") == "gzip"
    body = gzip.decompress(response.body) if is_packed else response.body
    body = with_script(body.decode("utf-8")).encode("utf-8")
    response.body = gzip.compress(body, 1) if is_packed else body
    del headers["Content-Length"]
    headers["Content-Length"] = str(len(response.body))
    return response
