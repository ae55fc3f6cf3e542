# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Make pages cheap to render in software: simple lights, no shadows, no antialiasing.

See docs/reference/figures_service.md, for the cost of each.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import viser

# The script asks WebGL once for the name of the renderer. Antialiasing costs four times the work, and only a GPU does
# it for free. The background material samples an image in every pixel, although no page here has one; it is accessible
# through viser's own test hook. If another version of viser lacks the hook, the page looks the same but is slower.
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
    """Light a scene from above, below and all sides, without shadows and environment maps."""
    scene = server.scene
    scene.configure_default_lights(cast_shadow=False)
    scene.configure_environment_map(None)
    scene.add_light_ambient("/light", intensity=1.2)


def with_script(page: str) -> str:
    """Insert the script into a viser page; return a page without a head unchanged."""
    begin, head, rest = page.partition(_HEAD)
    return f"{begin}{head}<script>{SCRIPT}</script>{rest}" if head else page


def with_script_sent(response: Any) -> Any:
    """Insert the script into a server's response (`websockets.http11.Response`) if it is an HTML page."""
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
