# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bytes as the request of a service, whatever they are: rclpy publishes bytes on topics only.

To DDS a request is a sample of the topic `rq/<service>Request`. A writer for it is made by the functions of ROS's
middleware interface below rclpy (rmw.h), whose publisher keeps the name as it is where it is told not to follow ROS's
conventions. Who sends so hears no answer. docs/network.md, says what such bytes do to nodes.
"""

from __future__ import annotations

import ctypes
import time
from importlib import import_module

from rclpy.node import Node
from rclpy.type_support import check_for_type_support
from rclpy.utilities import get_rmw_implementation_identifier

from superovoid_ros.nodes.common.caller import Caller

_PATIENCE = 10.0  # s
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


def send_request(service: str, kind_name: str, data: bytes) -> bool:
    """Send bytes once to a service, by its full name and its type's (package/srv/Name); false where it is not there."""
    package, _, name = kind_name.partition("/srv/")
    with Caller("raw_requests") as caller:
        writer = RequestWriter(caller.node, getattr(import_module(f"{package}.srv"), name), service)
        is_sent = caller.wait(writer.is_heard, _PATIENCE) and writer.send(data)
        time.sleep(1.0 if is_sent else 0.0)  # until they are on their way
    return is_sent
