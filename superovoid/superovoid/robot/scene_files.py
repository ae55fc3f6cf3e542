# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Readers of mesh formats with a tree of nodes: binary glTF (with trimesh) and Collada (with pycollada).

Both libraries silently skip unsupported features and replace missing data.  Therefore each file is checked first: all
declared data must exist, and every feature that could add, move or remove triangles must be supported.  A file that
refers to other files, repeats its parts too often or contains itself is rejected.
"""

from __future__ import annotations

import io
import json
import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from superovoid.robot.polygon_files import MOST_TRIANGLES, MalformedError, Polygons, UnsupportedError
from superovoid.robot.xml import parent_of, parse_bytes
from superovoid.shapes.mesh_library import trimesh_for

if TYPE_CHECKING:
    import trimesh

_MOST_PARTS = 2_000  # of one file, including repetitions; trimesh's time grows with the square of this number


def _check_parts(count: int) -> None:
    if count > _MOST_PARTS:
        raise UnsupportedError(f"has {count} parts, expected at most {_MOST_PARTS}")


def _check_triangles(count: int) -> None:
    if count > MOST_TRIANGLES:
        raise UnsupportedError(f"has {count} triangles, expected at most {MOST_TRIANGLES}")


def _join(parts: Iterable[Polygons]) -> Polygons:
    """Return all parts as one surface."""
    vertices, sizes, corners = [np.zeros((0, 3))], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    number = triangles = 0
    for count, part in enumerate(parts, 1):
        _check_parts(count)
        if part.corners.size and not 0 <= part.corners.min() <= part.corners.max() < len(part.vertices):
            bad = part.corners[(part.corners < 0) | (part.corners >= len(part.vertices))][0]
            raise MalformedError(f"a face refers to vertex {bad}, but there are {len(part.vertices)}")
        triangles += int((part.sizes - 2).sum())
        _check_triangles(triangles)
        vertices.append(part.vertices)
        sizes.append(part.sizes)
        corners.append(part.corners + number)
        number += len(part.vertices)
    return Polygons(np.concatenate(vertices), np.concatenate(sizes), np.concatenate(corners))


# -- binary glTF

_GLB_MODES = {0: "points", 1: "lines", 4: "triangles", 5: "a triangle strip"}
_GLB_LOOKS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_")


def read_glb(data: bytes) -> Polygons:
    """Read the triangles of the default scene of a binary glTF file; coordinates are in metres."""
    _check_glb(data)
    trimesh = trimesh_for("a glb file")
    # Without a resolver, trimesh opens no other files. Without processing, it does not silently drop triangles with
    # non-finite corners.
    scene = trimesh.load_scene(io.BytesIO(data), file_type="glb", process=False, skip_materials=True)
    count, triangles = _instances(scene)
    _check_parts(count)
    _check_triangles(triangles)
    parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
    return _join(
        Polygons(
            np.asarray(part.vertices, float), np.full(len(part.faces), 3), np.asarray(part.faces, np.int64).ravel()
        )
        for part in parts
    )


def _instances(scene: trimesh.Scene) -> tuple[int, int]:
    """Return the number of parts that a scene places, and the number of their triangles."""
    of_geometry = {name: len(getattr(part, "faces", ())) for name, part in scene.geometry.items()}
    placed = [scene.graph[node][1] for node in scene.graph.nodes_geometry]
    return len(placed), sum(of_geometry.get(name, 0) for name in placed)


def _check_glb(data: bytes) -> None:
    """Reject files that trimesh would read incorrectly; other exceptions result from a malformed header."""
    if data[:4] != b"glTF":
        raise MalformedError(f"begins with {data[:4]!r}, expected b'glTF'")
    length = int.from_bytes(data[8:12], "little")
    if length != len(data):
        raise MalformedError(f"declares {length} bytes, has {len(data)}")
    head = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    nodes, meshes, accessors = (head.get(name, []) for name in ("nodes", "meshes", "accessors"))
    _check_parts(max(len(meshes), len(nodes), sum(len(mesh["primitives"]) for mesh in meshes)))
    declared = sum(abs(int(one.get("count", 0))) for one in accessors)
    if declared > len(data):
        raise UnsupportedError(f"declares {declared} elements in {len(data)} bytes")
    for name in head.get("extensionsRequired", []):
        if not name.startswith(_GLB_LOOKS):
            raise UnsupportedError(f"requires the extension {name}, which is not supported")
    for one in head.get("buffers", []):
        if not one.get("uri", "data:").startswith("data:"):
            raise UnsupportedError(f"refers to another file, '{one['uri'][:80]}', expected all data in this file")
    for one in [*head.get("bufferViews", []), *accessors]:
        if min(int(one.get(key, 0)) for key in ("byteOffset", "byteLength", "byteStride", "count", "bufferView")) < 0:
            raise MalformedError("has a negative offset, length or count")
    parents = Counter(child for one in nodes for child in one.get("children", []))
    for scene in head.get("scenes", []):
        below = parents + Counter(scene.get("nodes", []))
        for child, number in below.items():
            if number > 1:
                raise MalformedError(f"node {child} is below {number} nodes or scenes, expected one")
    for i, one in enumerate(nodes):
        _check_glb_node(f"node {i}", one)
    for i, mesh in enumerate(meshes):
        if any(mesh.get("weights", ())):
            raise UnsupportedError(f"mesh {i} has morph weights, which are not supported")
        for primitive in mesh["primitives"]:
            _check_glb_primitive(f"mesh {i}", primitive, accessors)


def _check_glb_node(name: str, node: dict) -> None:
    if "EXT_mesh_gpu_instancing" in node.get("extensions", {}):
        raise UnsupportedError(f"{name} has instances by EXT_mesh_gpu_instancing, which is not supported")
    if any(node.get("weights", ())):
        raise UnsupportedError(f"{name} has morph weights, which are not supported")
    if "skin" in node:
        raise UnsupportedError(f"{name} has a skin, which is not supported")
    if "camera" in node and ("mesh" in node or "children" in node):
        raise UnsupportedError(f"{name} has a camera together with a mesh or children, which is not supported")


def _check_glb_primitive(name: str, primitive: dict, accessors: list[dict]) -> None:
    mode = primitive.get("mode", 4)
    if mode not in _GLB_MODES:
        supported = ", ".join(f"{number} ({words})" for number, words in _GLB_MODES.items())
        raise UnsupportedError(f"{name} has a primitive of mode {mode}, expected one of {supported}")
    used = {"positions": primitive["attributes"]["POSITION"]}
    if "indices" in primitive:
        used["indices"] = primitive["indices"]
    for what, number in used.items():
        one = accessors[number]
        kind, types = ("VEC3", (5126,)) if what == "positions" else ("SCALAR", (5121, 5123, 5125))
        for key in ("sparse", "normalized"):
            if one.get(key):
                raise UnsupportedError(f"{name} has {key} {what}, which are not supported")
        if "bufferView" not in one:
            raise UnsupportedError(f"{name} has {what} without bytes: accessor {number} has no bufferView")
        if one["type"] != kind or one["componentType"] not in types:
            raise UnsupportedError(
                f"{name} has {what} of type {one['type']} of {one['componentType']}, expected {kind} of {types}"
            )
    count = accessors[used.get("indices", used["positions"])]["count"]
    if (mode == 4 and count % 3) or (mode == 5 and count < 3):
        raise MalformedError(f"{name} has a primitive of mode {mode} and {count} indices")


# -- Collada

_DAE_LISTS = ("triangles", "polylist", "polygons", "trifans", "tristrips")
_DAE_SINGLE = (  # (parent, child): pycollada reads only one such child
    *(("COLLADA", "scene"), ("scene", "instance_visual_scene"), ("geometry", "mesh"), ("mesh", "vertices")),
    *(
        ("source", "float_array"),
        ("source", "technique_common"),
        ("technique_common", "accessor"),
        ("polylist", "vcount"),
    ),
)
_DAE_LOOKS = (  # removed: materials, lights, cameras, animations
    *("library_images", "library_effects", "library_materials", "bind_material"),
    *("library_lights", "instance_light", "library_cameras", "instance_camera"),
    *("library_animations", "library_controllers"),
)


def _descendants(root: ET.Element, *tags: str) -> Iterator[ET.Element]:
    """Yield the descendants with these local names, including the root."""
    return (element for element in root.iter() if _local_name(element) in tags)


def _children(element: ET.Element, *tags: str) -> Iterator[ET.Element]:
    """Yield the children with these local names."""
    return (child for child in element if _local_name(child) in tags)


def _local_name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def read_dae(data: bytes) -> Polygons:
    """Read the polygons of the scene of a Collada file, in metres; its up axis is ignored."""
    try:
        import collada
    except ImportError as error:
        raise UnsupportedError(
            f"needs pycollada, which is not installed ({error}): pip install 'superovoid[meshes]', or pycollada"
        ) from error
    try:
        root = parse_bytes(data, "")
    except ET.ParseError as error:
        raise MalformedError(f"{type(error).__name__}: {error}") from error
    _check_repetition(root)
    for element in list(_descendants(root, *_DAE_LOOKS)):
        parent = parent_of(element)
        if parent is not None:
            parent.remove(element)
    metres = _check_collada(root)
    file = collada.Collada(io.BytesIO(ET.tostring(root, encoding="utf-8", xml_declaration=True)))
    if file.scene is None:
        raise UnsupportedError("has no triangles: it has no scene")
    found = _join(_placed_polygons(file.scene.objects("geometry")))
    return Polygons(metres * found.vertices, found.sizes, found.corners)


def _placed_polygons(geometries: Iterable) -> Iterator[Polygons]:
    """Yield the polygons of parts, transformed to the scene frame."""
    for geometry in geometries:
        matrix = np.asarray(geometry.matrix, dtype=float)
        for one in geometry.original.primitives:
            if _local_name(one.xmlnode) not in _DAE_LISTS or one.vertex is None:
                continue
            corners = np.asarray(one.vertex_index, dtype=np.int64)
            sizes = np.asarray(getattr(one, "vcounts", np.full(len(corners), 3)), dtype=np.int64)
            corners = corners.ravel()
            if np.linalg.det(matrix[:3, :3]) < 0.0:  # a reflection reverses the orientation of faces
                sizes, corners = sizes[::-1], corners[::-1]
            yield Polygons(np.asarray(one.vertex, float) @ matrix[:3, :3].T + matrix[:3, 3], sizes, corners)


def _check_collada(root: ET.Element) -> float:
    """Reject files that pycollada would read incorrectly; return the unit in metres."""
    unit = root.find("{*}asset/{*}unit")
    meter = "1" if unit is None else unit.get("meter", "1")
    try:
        metres = float(meter)
    except ValueError:
        metres = math.nan
    if not 0.0 < metres < math.inf:
        raise MalformedError(f"has a unit of meter = '{meter[:40]}', expected a number above 0")
    for tag, what in (("instance_controller", "skinned or morphed parts"), ("ph", "polygons with holes")):
        if next(_descendants(root, tag), None) is not None:
            raise UnsupportedError(f"contains <{tag}>: {what} are not supported")
    named = {one.get(key, "").removeprefix("#") for one in root.iter() for key in ("url", "source")}
    parts = (_descendants(root, "geometry", "node", "visual_scene"),)
    sources = (_children(mesh, "source", "vertices") for mesh in _descendants(root, "mesh"))
    for scope in (*parts, *sources):
        for name, count in Counter(one.get("id") for one in scope).items():
            if count > 1 and name in named:
                raise MalformedError(f"has {count} elements with id '{name[:40]}', expected one")
    for parent, child in _DAE_SINGLE:
        for one in _descendants(root, parent):
            count = sum(1 for _ in _children(one, child))
            if count > 1:
                raise MalformedError(f"<{parent}> has {count} <{child}>, expected one")
    for array in _descendants(root, "float_array"):
        _check_count(array, len(_numbers(array, float)))
    for accessor in _descendants(root, "accessor"):
        names = [one.get("name") for one in _children(accessor, "param")]
        if accessor.get("offset", "0") != "0" or int(accessor.get("stride", "1")) != len(names):
            raise UnsupportedError(
                "has an <accessor> whose offset is not 0 or whose stride is not its number of <param>"
            )
        if set(names) == set("XYZ") and names != list("XYZ"):
            raise UnsupportedError(f"has an <accessor> of {', '.join(map(str, names))}, expected X, Y, Z")
    for tag in _DAE_LISTS:
        for one in _descendants(root, tag):
            _check_list(one, tag)
    return metres


def _check_list(element: ET.Element, tag: str) -> None:
    """Reject a list of polygons whose number of indices differs from the declared one."""
    stride = 1 + max((int(one.get("offset", "0")) for one in _children(element, "input")), default=0)
    lists = [_numbers(one, int) for one in _children(element, "p")]
    if any((indices < 0).any() for indices in lists):
        raise MalformedError(f"<{tag}> refers to vertex {min(indices.min() for indices in lists)}, expected 0 or more")
    lengths = [len(indices) for indices in lists]
    if tag in ("triangles", "polylist"):
        if tag == "triangles":
            sizes = np.full(sum(lengths) // (3 * stride), 3)
        else:
            sizes = np.concatenate([np.zeros(0, int), *(_numbers(one, int) for one in _children(element, "vcount"))])
        if len(lists) != 1 or lengths[0] != sizes.sum() * stride:
            raise MalformedError(f"<{tag}> has {len(lists)} lists of {sum(lengths)} indices in total, expected one of "
                                 f"{sizes.sum() * stride} for {len(sizes)} polygons")  # fmt: skip
    else:
        sizes = np.array(lengths) // stride
        if any(length % stride for length in lengths):
            raise MalformedError(f"<{tag}> has a list of indices of a length other than a multiple of {stride}")
    if sizes.size and sizes.min() < 3:
        raise MalformedError(f"<{tag}> has a polygon of {sizes.min()} corners, expected 3 or more")
    _check_count(element, len(sizes))


def _check_count(element: ET.Element, found: int) -> None:
    count = element.get("count", str(found))
    if count.strip() != str(found):
        raise MalformedError(f"<{_local_name(element)}> declares count = '{count[:40]}', found {found}")


def _numbers(element: ET.Element, kind: type) -> np.ndarray:
    words = (element.text or "").split()
    try:
        return np.array([kind(word) for word in words], dtype=np.int32 if kind is int else float)
    except (ValueError, OverflowError) as error:
        raise MalformedError(f"<{_local_name(element)}>: expected numbers: {str(error)[:60]}") from error


def _check_repetition(root: ET.Element) -> None:
    """Reject a file with too many repetitions of its parts, or with a node that contains itself."""
    _check_parts(max(sum(1 for _ in _descendants(root, tag)) for tag in ("geometry", "node", *_DAE_LISTS)))
    nodes = {node.get("id"): node for node in _descendants(root, "node") if node.get("id")}
    counts: dict[ET.Element, int] = {}

    def inner_nodes(node: ET.Element) -> list[ET.Element]:
        named = (one.get("url", "").removeprefix("#") for one in _children(node, "instance_node"))
        return [*_children(node, "node"), *(nodes[name] for name in named if name in nodes)]

    # Iterative depth-first search: a node is counted after all nodes inside it.
    waiting = [(node, False) for node in _descendants(root, "node")]
    open_nodes: set[ET.Element] = set()
    while waiting:
        node, is_read = waiting.pop()
        if is_read:
            open_nodes.discard(node)
            own = sum(1 for _ in _children(node, "instance_geometry", "instance_controller"))
            counts[node] = own + 1 + sum(counts[one] for one in inner_nodes(node))
            if counts[node] > _MOST_PARTS:
                raise UnsupportedError(f"repeats its parts more than {_MOST_PARTS} times (node '{node.get('id')}')")
        elif node in open_nodes:
            raise UnsupportedError(f"node '{node.get('id')}' contains itself")
        elif node not in counts:
            open_nodes.add(node)
            waiting.append((node, True))
            waiting += [(one, False) for one in inner_nodes(node) if one not in counts]
