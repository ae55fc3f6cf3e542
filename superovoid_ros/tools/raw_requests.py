# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sends bytes as the request of a service, whatever they are.

    python -m superovoid_ros.tools.raw_requests /NODE/get_parameters rcl_interfaces/srv/GetParameters 00010003

Who sends so hears no answer. docs/ros.md, "What is ROS 2's own", says what such bytes do to nodes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from superovoid_ros.nodes.clients.request_writer import send_request


def main(arguments: Sequence[str] | None = None) -> int:
    """Send the bytes that a service, its type and hexadecimal digits name."""
    parser = argparse.ArgumentParser(description="Send bytes as the request of a service; there is no answer.")
    for name, words in (("service", "its full name"), ("type", "package/srv/Name"), ("bytes", "hexadecimal digits")):
        parser.add_argument(name, help=words, type=bytes.fromhex if name == "bytes" else str)
    asked = parser.parse_args(arguments)
    is_sent = send_request(asked.service, asked.type, asked.bytes)
    print(f"{len(asked.bytes)} bytes sent" if is_sent else f"nothing sent: no service {asked.service} was found")
    return int(not is_sent)


if __name__ == "__main__":
    raise SystemExit(main())
