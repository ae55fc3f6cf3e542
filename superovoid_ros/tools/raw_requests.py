"""Bytes as the request of a service, whatever they are: rclpy publishes bytes on topics only.

    python -m superovoid_ros.tools.raw_requests /NODE/get_parameters rcl_interfaces/srv/GetParameters 00010003

To DDS a request is a sample of the topic `rq/<service>Request`. A writer for it is made by the functions of ROS's
middleware interface below rclpy (rmw.h), whose publisher keeps the name as it is where it is told not to follow ROS's
conventions. Who sends so hears no answer. docs/ros.md, "What is ROS 2's own", says what such bytes do to nodes.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Sequence
from importlib import import_module

import rclpy
from rclpy.node import Node
from rclpy.type_support import check_for_type_support
from rclpy.utilities import get_rmw_implementation_identifier

_PATIENCE, _LOOK = 10.0, 0.1  # s
_KEEP_LAST, _RELIABLE, _VOLATILE, _AUTOMATIC = 1, 1, 2, 1  # rmw/types.h, rmw/qos_policy_kind.h


class _Time(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_uint64), ("nsec", ctypes.c_uint64))


class _Quality(ctypes.Structure):
    """`rmw_qos_profile_t`."""

    _fields_ = (
        ("history", ctypes.c_int), ("depth", ctypes.c_size_t), ("reliability", ctypes.c_int),
        ("durability", ctypes.c_int), ("deadline", _Time), ("lifespan", _Time), ("liveliness", ctypes.c_int),
        ("lease", _Time), ("is_named_as_it_is", ctypes.c_bool),
    )  # fmt: skip


class _Options(ctypes.Structure):
    """`rmw_publisher_options_t`."""

    _fields_ = (("payload", ctypes.c_void_p), ("unique_endpoints", ctypes.c_int))


class _Bytes(ctypes.Structure):
    """`rmw_serialized_message_t`; its allocator is not used for what is only read."""

    _fields_ = (
        ("buffer", ctypes.c_char_p), ("length", ctypes.c_size_t), ("capacity", ctypes.c_size_t),
        ("allocator", ctypes.c_void_p * 5),
    )  # fmt: skip


def _function(library: str, name: str, result: object, *arguments: object) -> object:
    found = getattr(ctypes.CDLL(library), name)
    found.restype, found.argtypes = result, arguments
    return found


def _rmw() -> str:
    """The library of the middleware that this process uses."""
    return f"lib{get_rmw_implementation_identifier()}.so"


class RequestWriter:
    """Sends bytes to a service.

    Parameters
    ----------
    node
        Who sends them; the writer lives as long as it does.
    kind
        The service's type.
    service
        Its full name.
    """

    def __init__(self, node: Node, kind: type, service: str) -> None:
        check_for_type_support(kind.Request)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        with node.handle:
            handle = _function("librcl.so", "rcl_node_get_rmw_handle", ctypes.c_void_p, ctypes.c_void_p)(
                node.handle.pointer
            )
            create = _function(
                _rmw(), "rmw_create_publisher", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                ctypes.c_char_p, ctypes.POINTER(_Quality), ctypes.POINTER(_Options),
            )  # fmt: skip
            quality = _Quality(
                history=_KEEP_LAST, depth=1000, reliability=_RELIABLE, durability=_VOLATILE, liveliness=_AUTOMATIC,
                is_named_as_it_is=True,
            )  # fmt: skip
            self._publisher = create(
                handle, pointer(kind.Request._TYPE_SUPPORT, None), f"rq{service}Request".encode(), quality, _Options()
            )
        if not self._publisher:
            raise RuntimeError(f"{service}: the middleware makes no writer for its requests")
        self._publish = _function(
            _rmw(), "rmw_publish_serialized_message", ctypes.c_int, ctypes.c_void_p,
            ctypes.POINTER(_Bytes), ctypes.c_void_p,
        )  # fmt: skip
        self._count = _function(
            _rmw(), "rmw_publisher_count_matched_subscriptions", ctypes.c_int, ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_size_t),
        )  # fmt: skip

    def is_heard(self) -> bool:
        """Whether the service has been found."""
        found = ctypes.c_size_t(0)
        return self._count(self._publisher, found) == 0 and found.value > 0

    def send(self, data: bytes) -> bool:
        """Send bytes; false where they are not sent, as more than a request of fixed size has."""
        return self._publish(self._publisher, _Bytes(buffer=data, length=len(data), capacity=len(data)), None) == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Send the bytes that a service, its type and hexadecimal digits name."""
    parser = argparse.ArgumentParser(description="Send bytes as the request of a service; there is no answer.")
    for name, words in (("service", "its full name"), ("type", "package/srv/Name"), ("bytes", "hexadecimal digits")):
        parser.add_argument(name, help=words, type=bytes.fromhex if name == "bytes" else str)
    asked = parser.parse_args(arguments)
    package, _, name = asked.type.partition("/srv/")
    rclpy.init()
    node = rclpy.create_node("raw_requests")
    try:
        writer = RequestWriter(node, getattr(import_module(f"{package}.srv"), name), asked.service)
        until = time.monotonic() + _PATIENCE
        while not writer.is_heard() and time.monotonic() < until:
            time.sleep(_LOOK)
        is_sent = writer.is_heard() and writer.send(asked.bytes)
        time.sleep(1.0 if is_sent else 0.0)  # until they are on their way
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    print(f"{len(asked.bytes)} bytes sent" if is_sent else f"nothing sent: no service {asked.service} was found")
    return int(not is_sent)


if __name__ == "__main__":
    raise SystemExit(main())
