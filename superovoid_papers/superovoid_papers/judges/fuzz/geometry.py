# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Mesh files of every format and octrees: mutated ones, and small ones that declare very many of something."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import trimesh
from hypothesis import strategies as st

from superovoid.robot.mesh_files import MeshReader
from superovoid.robot.octomap import Octree
from superovoid_papers.judges.fuzz import Target
from superovoid_papers.judges.fuzz.mutations import mutated, repeated

_STL_TEXT = b"""solid box
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid box
"""
_OBJ = b"""# a tetrahedron
mtllib a.mtl
o t
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
vn 0 0 1
usemtl m
f 1 3 2
f 1//1 2//1 4//1
f 2 3 4
f 3 1 -1
"""
_COLLADA = b"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimeter" meter="0.001"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 1 2 3 0 3 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""


def _mesh(kind: str, corpus: list[bytes], tokens: tuple[bytes, ...] = (), more: object = None) -> Target:
    """Files of a format, taken as a robot's are: as shells, triangles and a hull."""

    @contextmanager
    def package() -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / f"mesh.{kind}"

    def take(data: bytes, file: Path) -> None:
        file.write_bytes(data)
        for meshes in ("shells", "triangles", "hull"):
            MeshReader(meshes, {"p": file.parent}).body(f"package://p/{file.name}", (1.0, 1.0, 1.0))

    inputs = mutated(corpus, tokens)
    return Target(inputs if more is None else inputs | more, take, (ValueError,), around=package, sample=corpus[0])


def _exported(kind: str) -> bytes:
    data = trimesh.creation.box((1.0, 2.0, 3.0)).export(file_type=kind)
    return data.encode() if isinstance(data, str) else data


def _amounts(make: Callable[[int], bytes]) -> st.SearchStrategy[bytes]:
    """Inputs with very many of something, really there."""
    return repeated(1).map(make)


def stl() -> Target:
    """STL, binary and text."""
    binary = _exported("stl")
    counts = st.integers(0, 0xFFFFFFFF).map(lambda n: binary[:80] + struct.pack("<I", n) + binary[84:])
    return _mesh(
        "stl", [binary, _STL_TEXT], (b"vertex", b"endsolid", b"\xe9"), counts | _amounts(lambda n: _STL_TEXT * n)
    )


def obj() -> Target:
    """Wavefront OBJ."""
    tokens = (b"f ", b"v ", b"1/2/3", b"-9", b"\n", b"\xe9", b"\\\n", b"mtllib ../../etc/passwd\n")
    more = _amounts(lambda n: _OBJ + b"f 1 2 3\n" * n) | _amounts(lambda n: b"v 1 2 3\n" * n + b"f" + b" 1" * n)
    materials = _amounts(
        lambda n: b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"".join(b"usemtl m%d\nf 1 2 3\n" % i for i in range(n))
    )
    return _mesh("obj", [_OBJ, _exported("obj")], tokens, more | materials)


def ply() -> Target:
    """PLY, binary and text."""
    text = trimesh.exchange.ply.export_ply(trimesh.creation.box((1.0, 2.0, 3.0)), encoding="ascii")
    counts = repeated(1, 300_000).map(lambda n: text.replace(b"vertex 8", b"vertex %d" % (n * n)))
    return _mesh("ply", [_exported("ply"), text], (b"element vertex ", b"property list", b"float64", b"\xe9"), counts)


def off() -> Target:
    """OFF."""
    data = _exported("off")
    return _mesh(
        "off", [data], (b"OFF", b"8 12 0", b"#"), repeated(1).map(lambda n: data.replace(b"8 12", b"8 %d" % n))
    )


def dae() -> Target:
    """Collada."""
    from superovoid_papers.judges.fuzz.mutations import restructured

    tags = ("node", "geometry", "mesh", "source", "triangles", "p", "instance_geometry", "instance_node", "matrix")
    many = _amounts(lambda n: _COLLADA.replace(b"0 3 2</p>", b"0 3 2" + b" 0 3 2" * n + b"</p>"))
    nodes = _amounts(
        lambda n: _COLLADA.replace(b"<node", b"<node>" * n + b"<node").replace(b"</visual", b"</node>" * n)
    )
    return _mesh("dae", [_COLLADA], (b"<node>", b"#g", b"&a;"), restructured([_COLLADA], tags) | many | nodes)


def glb() -> Target:
    """Binary glTF."""
    return _mesh("glb", [_exported("glb")], (b"bufferView", b"byteLength", b'"count":', b"9", b"BIN\x00"))


def octree() -> Target:
    """Octrees of both forms: the first byte says which, and how many cubes are too many."""
    binary = struct.pack("<HH", 0x000B, 0x0002)
    full = b"".join((struct.pack("<fB", 0.8, 1), struct.pack("<fB", 0.8, 0)))
    deep = repeated(1, 300_000)
    more = deep.map(lambda n: b"\x00" + struct.pack("<H", 0xFFFF) * n) | deep.map(
        lambda n: b"\x01" + struct.pack("<fB", 0.8, 255) * n
    )

    def take(data: bytes) -> None:
        if data:
            Octree(data[1:], 0.05, bool(data[0] % 2 == 0)).cubes(most=1 + 50 * data[0])

    return Target(mutated([b"\x00" + binary, b"\x01" + full]) | more, take, (ValueError,), sample=b"\x01" + full)
