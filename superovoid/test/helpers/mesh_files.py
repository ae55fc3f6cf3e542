# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Small mesh files, valid and broken, each with the expected solid or the expected error text."""

import json
import struct
from dataclasses import dataclass

import numpy as np

TETRA_POINTS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
TETRA_FACES = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
# An L-shaped prism of height 1: a fan of triangles from the first corner does not cover the L.
_L = [(2, 0), (2, 1), (1, 1), (1, 2), (0, 2), (0, 0)]
PRISM_POINTS = [(*p, z) for z in (0, 1) for p in _L]
PRISM_FACES = [(5, 4, 3, 2, 1, 0), tuple(range(6, 12)), *((i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6) for i in range(6))]
CUBE_POINTS = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
CUBE_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


@dataclass(frozen=True)
class Solid:
    """Corners, area and volume: the same for every correct triangulation."""

    points: np.ndarray
    area: float
    volume: float

    def move(self, offset, factor=1.0):
        return Solid(factor * self.points + np.asarray(offset), factor**2 * self.area, factor**3 * self.volume)

    def __add__(self, other):
        return Solid(np.vstack([self.points, other.points]), self.area + other.area, self.volume + other.volume)


TETRA = Solid(np.array(TETRA_POINTS, float), 1.5 + np.sqrt(0.75), 1.0 / 6.0)
PRISM = Solid(np.array(PRISM_POINTS, float), 2 * 3.0 + 8.0, 3.0)
CUBE = Solid(np.array(CUBE_POINTS, float), 6.0, 1.0)


def rows(table, form="{}"):
    return "".join(" ".join(form.format(value) for value in row) + "\n" for row in table)


# ---- STL


def stl_text(points=TETRA_POINTS, faces=TETRA_FACES):
    text = "solid tetra\n"
    for face in faces:
        corners = "".join(f"   vertex {' '.join(f'{x:.6e}' for x in points[i])}\n" for i in face)
        text += f" facet normal 0 0 0\n  outer loop\n{corners}  endloop\n endfacet\n"
    return text + "endsolid tetra\n"


def stl_binary(points=TETRA_POINTS, faces=TETRA_FACES, head=b"made by hand", count=None):
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *np.ravel([points[i] for i in face]), 0) for face in faces)
    return head.ljust(80) + struct.pack("<I", len(faces) if count is None else count) + body


# ---- OBJ


def obj(points=TETRA_POINTS, faces=TETRA_FACES, first=1):
    return "".join(f"v {x} {y} {z}\n" for x, y, z in points) + "".join(
        f"f {' '.join(str(i + first) for i in face)}\n" for face in faces
    )


def obj_block(offset):
    """Return a tetrahedron with negative indices, which count from the last vertex."""
    return obj([np.add(p, offset) for p in TETRA_POINTS], [np.subtract(face, 4) for face in TETRA_FACES], first=0)


# ---- OFF


def off_file(points=TETRA_POINTS, faces=TETRA_FACES, counts=None, head="OFF"):
    n, m = counts or (len(points), len(faces))
    return f"{head}\n{n} {m} 0\n" + rows(points) + rows([(len(f), *f) for f in faces])


# ---- PLY


def ply(points=TETRA_POINTS, faces=TETRA_FACES, form="ascii", counts=None, color=False):
    n, m = counts or (len(points), len(faces))
    head = f"ply\nformat {form} 1.0\ncomment by hand\nelement vertex {n}\n"
    head += "".join(f"property float {axis}\n" for axis in "xyz")
    head += "property uchar red\n" if color else ""
    head += f"element face {m}\nproperty list uchar int vertex_indices\nend_header\n"
    points = [(*p, 7) if color else tuple(p) for p in points]
    if form == "ascii":
        return (head + rows(points) + rows([(len(f), *f) for f in faces])).encode()
    order = "<" if "little" in form else ">"
    body = b"".join(struct.pack(f"{order}3f" + "B" * color, *p) for p in points)
    return head.encode() + body + b"".join(struct.pack(f"{order}B{len(f)}i", len(f), *f) for f in faces)


# ---- glTF


def glb(change=None, mode=4, indices=None, positions=None, kind=5126, more=b"", cut=0):
    """Return a file with one primitive; `change` edits its JSON header."""
    indices = np.ravel(TETRA_FACES) if indices is None else np.asarray(indices)
    positions = np.array(TETRA_POINTS, "<f4") if positions is None else positions
    index, position = indices.astype("<u2").tobytes(), positions.tobytes()
    index += b"\0" * (-len(index) % 4)
    head = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 1}, "indices": 0, "mode": mode}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5123, "count": len(indices), "type": "SCALAR"},
            {"bufferView": 1, "componentType": kind, "count": len(positions), "type": "VEC3"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(index)},
            {"buffer": 0, "byteOffset": len(index), "byteLength": len(position)},
        ],
        "buffers": [{"byteLength": len(index + position + more)}],
    }
    if change:
        change(head)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 4)
    body = index + position + more
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(body), b"BIN\0") + body
    data = struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
    return data[: len(data) - cut]


def edit_header(**changes):
    """Return a function that edits a JSON header: paths like ``nodes__0__scale`` and their values."""

    def change(head):
        for path, value in changes.items():
            at = head
            *steps, last = path.split("__")
            for step in steps:
                at = at[int(step) if step.isdigit() else step]
            at[last] = value

    return change


def second_primitive(mode, indices):
    """Return a function that adds another primitive of the same points."""

    def change(head):
        head["meshes"][0]["primitives"].append({**head["meshes"][0]["primitives"][0], "mode": mode})

    return change


def two_nodes(**second):
    def change(head):
        head["nodes"].append({"mesh": 0, **second})
        head["scenes"][0]["nodes"].append(1)

    return change


# ---- Collada


def dae(
    primitive=None, points=TETRA_POINTS, node="<instance_geometry url='#g'/>", unit="1", count=None, source="", more=""
):
    numbers = " ".join(str(x) for p in points for x in p)
    if primitive is None:
        primitive = dae_polygons("triangles", TETRA_FACES)
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="{unit}"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="{count or 3 * len(points)}">{numbers}{source}</float_array><technique_common>
<accessor source="#a" count="{len(points)}" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>{more}
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>{primitive}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n">{node}</node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


_INPUT = '<input semantic="VERTEX" source="#v" offset="0"/>'


def dae_polygons(tag, faces, count=None):
    count = len(faces) if count is None else count
    if tag == "polylist":
        sizes = f"<vcount>{' '.join(str(len(f)) for f in faces)}</vcount>"
        lists = f"<p>{' '.join(str(i) for f in faces for i in f)}</p>"
    elif tag == "triangles":
        sizes, lists = "", f"<p>{' '.join(str(i) for f in faces for i in f)}</p>"
    else:
        sizes, lists = "", "".join(f"<p>{' '.join(map(str, f))}</p>" for f in faces)
    return f'<{tag} count="{count}">{_INPUT}{sizes}{lists}</{tag}>'


_ASCII = stl_text()
_TETRA_OBJ = obj()
_FAN = [(1, 0, 3), (1, 3, 2), (1, 2, 0)]  # around the corner at x = 1: all faces except the opposite one

FILES = {
    # case: (format, file, solid or error text)
    "stl text": ("stl", _ASCII, TETRA),
    "stl text, upper case, tabs and CRLF": ("stl", _ASCII.upper().replace("  ", "\t").replace("\n", "\r\n"), TETRA),
    "stl text of two solids": ("stl", _ASCII + stl_text(np.add(TETRA_POINTS, 5)), TETRA + TETRA.move((5, 5, 5))),
    "stl text cut off": ("stl", _ASCII[: _ASCII.rfind("vertex")], "is not a well-formed stl file"),
    "stl text cut off between facets": ("stl", _ASCII[: _ASCII.rfind(" facet")], "is not a well-formed stl file"),
    "stl text, a row missing": ("stl", _ASCII.replace("   vertex 1.000000e+00 0.000000e+00 0.000000e+00\n", "", 1),
                                "facet of 2 vertices, expected 3"),
    "stl text, facets of four vertices": ("stl", stl_text(CUBE_POINTS, CUBE_FACES), "facet of 4 vertices, expected 3"),
    "stl text, two coordinates": ("stl", _ASCII.replace("1.000000e+00 0.000000e+00 0.000000e+00", "1 0", 1),
                                  "is not a well-formed stl file"),
    "stl binary": ("stl", stl_binary(), TETRA),
    "stl binary that begins like text": ("stl", stl_binary(head=b"solid facet"), TETRA),
    "stl binary cut off": ("stl", stl_binary()[:-50], "is not a well-formed stl file"),
    "stl binary, count too small": ("stl", stl_binary(count=3), "is not a well-formed stl file"),
    "stl binary, count too large": ("stl", stl_binary(count=5), "is not a well-formed stl file"),
    "obj": ("obj", _TETRA_OBJ, TETRA),
    "obj, negative indices": ("obj", obj_block((0, 0, 0)), TETRA),
    "obj, negative indices in two blocks": ("obj", obj_block((0, 0, 0)) + "g b\n" + obj_block((5, 0, 0)),
                                            TETRA + TETRA.move((5, 0, 0))),
    "obj, tabs": ("obj", _TETRA_OBJ.replace(" ", "\t"), TETRA),
    "obj, indented": ("obj", "  " + _TETRA_OBJ.replace("\n", "\n  "), TETRA),
    "obj, comments at the ends of lines": ("obj", _TETRA_OBJ.replace("\n", " # here\n"), TETRA),
    "obj, byte order mark": ("obj", "\ufeff" + _TETRA_OBJ, TETRA),
    "obj, lines that go on": ("obj", _TETRA_OBJ.replace("f 1 ", "f 1 \\\n "), TETRA),
    "obj, a comment that ends with a backslash": ("obj", _TETRA_OBJ.replace("f 1 ", "# C:\\parts\\\nf 1 "), TETRA),
    "obj, a name that ends with a backslash": ("obj", _TETRA_OBJ.replace("f 1 4", "g C:\\parts\\\nf 1 4"),
                                               "ends with a backslash"),
    "obj, CR alone ends lines": ("obj", _TETRA_OBJ.replace("\n", "\r"), TETRA),
    "obj, texture and normal indices": ("obj", "vt 0 0\nvn 0 0 1\n" + _TETRA_OBJ.replace("f 1 3 2", "f 1/1/1 3//1 2/1"),
                                        TETRA),
    "obj, colours": ("obj", "".join(f"v {x} {y} {z} 0.5 0.5 1\n" for x, y, z in TETRA_POINTS)
                     + _TETRA_OBJ[_TETRA_OBJ.find("f"):], TETRA),
    "obj, several groups and materials": ("obj", _TETRA_OBJ.replace("f 2", "usemtl a\ng b c\ns 1\nf 2")
                                          .replace("f 1 4", "usemtl b\no d\ns off\nf 1 4"), TETRA),
    "obj, faces before their vertices": ("obj", _TETRA_OBJ[_TETRA_OBJ.find("f"):] + _TETRA_OBJ[:_TETRA_OBJ.find("f")],
                                         TETRA),
    "obj, lines and points with faces": ("obj", _TETRA_OBJ + "l 1 2\np 1\n", TETRA),
    "obj, concave polygons": ("obj", obj(PRISM_POINTS, PRISM_FACES), PRISM),
    "obj, a polygon that crosses itself": ("obj", obj(CUBE_POINTS, [(0, 3, 1, 2), *CUBE_FACES[1:]]), "crosses itself"),
    "obj, index 0": ("obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "line 4: vertex 0"),
    "obj, index too large": ("obj", _TETRA_OBJ + "f 1 2 5\n", "line 9: vertex 5"),
    "obj, index too far back": ("obj", _TETRA_OBJ + "f 1 2 -5\n", "line 9: vertex -5"),
    "obj, face of two corners": ("obj", _TETRA_OBJ + "f 1 2\n", "line 9: a face of 2 corners"),
    "obj, two coordinates": ("obj", _TETRA_OBJ.replace("v 0 0 0", "v 0 0"), "line 1: a vertex of 2 numbers"),
    "obj, a word for a number": ("obj", _TETRA_OBJ.replace("v 0 0 0", "v 0 0 o"), "line 1: 'v 0 0 o'"),
    "obj, a surface that is no polygon": ("obj", _TETRA_OBJ + "surf 0 1 0 1 1 2 3 4\n", "line 9: 'surf"),
    "obj, another file called": ("obj", _TETRA_OBJ + "call part.obj\n", "line 9: 'call"),
    "obj, an unknown word": ("obj", _TETRA_OBJ.replace("f 1 4 3", "# f\nff 1 4 3"), "line 9: 'ff"),
    "off": ("off", off_file(), TETRA),
    "off, counts on the keyword's line, comments": (
        "off", off_file().replace("OFF\n", "OFF ").replace("\n", " # here\n\n"), TETRA),
    "off, faces of several lengths": ("off", off_file(PRISM_POINTS, PRISM_FACES), PRISM),
    "off, colours": ("off", off_file([(*p, 255, 0, 0, 255) for p in TETRA_POINTS], head="COFF"), TETRA),
    "off, colours of faces": ("off", off_file().replace("3 0 2 1", "3 0 2 1 0.5 0.5 0.5"), TETRA),
    "off cut off": ("off", off_file()[: off_file().rfind("3 0")], "is not a well-formed off file"),
    "off, a row of vertices missing": ("off", off_file().replace("1 0 0\n", "", 1), "is not a well-formed off file"),
    "off, a row of faces missing": ("off", off_file().replace("3 1 2 3\n", ""), "is not a well-formed off file"),
    "off, counts too small": ("off", off_file(counts=(4, 3)), "is not a well-formed off file"),
    "off, count of vertices too large": ("off", off_file(counts=(5, 4)), "is not a well-formed off file"),
    "off, count of faces too large": ("off", off_file(counts=(4, 5)), "is not a well-formed off file"),
    "off, index too large": ("off", off_file().replace("3 1 2 3", "3 1 2 4"), "vertex 4"),
    "off, negative index": ("off", off_file().replace("3 1 2 3", "3 1 2 -1"), "vertex -1"),
    "off, four dimensions": ("off", off_file([(*p, 1) for p in TETRA_POINTS], head="4OFF"),
                             "is not a well-formed off file"),
    "ply text": ("ply", ply(), TETRA),
    "ply text, more properties": ("ply", ply(color=True), TETRA),
    "ply text, faces of several lengths": ("ply", ply(PRISM_POINTS, PRISM_FACES), PRISM),
    "ply text, another element": ("ply", ply().replace(b"element face", b"element edge 1\nproperty int a\nelement face")
                                  .replace(b"0 0 1\n3", b"0 0 1\n5\n3"), TETRA),
    "ply text cut off": ("ply", ply()[:-8], "is not a well-formed ply file"),
    "ply text, cut within a row": ("ply", ply()[:-3], "is not a well-formed ply file"),
    "ply text, a row of vertices missing": ("ply", ply().replace(b"1 0 0\n", b"", 1), "is not a well-formed ply file"),
    "ply text, a row of faces missing": ("ply", ply().replace(b"3 1 2 3\n", b""), "is not a well-formed ply file"),
    "ply text, counts too small": ("ply", ply(counts=(4, 3)), "is not a well-formed ply file"),
    "ply text, count of vertices too small": ("ply", ply(counts=(3, 4)), "is not a well-formed ply file"),
    "ply text, index too large": ("ply", ply().replace(b"3 1 2 3", b"3 1 2 4"), "vertex 4"),
    "ply binary": ("ply", ply(form="binary_little_endian"), TETRA),
    "ply binary, more properties": ("ply", ply(form="binary_little_endian", color=True), TETRA),
    "ply binary, most significant first": ("ply", ply(form="binary_big_endian"), TETRA),
    "ply binary, faces of several lengths": ("ply", ply(PRISM_POINTS, PRISM_FACES, "binary_little_endian"), PRISM),
    "ply binary cut off": ("ply", ply(form="binary_little_endian")[:-13], "is not a well-formed ply file"),
    "ply binary, count of faces too small": ("ply", ply(form="binary_little_endian", counts=(4, 3)),
                                             "is not a well-formed ply file"),
    "ply binary, negative index": ("ply", ply(faces=[(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, -2)],
                                              form="binary_little_endian"), "vertex -2"),
    "ply, strips": ("ply", ply().replace(b"element face", b"element tristrips"), "tristrips"),
    "glb": ("glb", glb(), TETRA),
    "glb, moved, turned and scaled": (
        "glb", glb(edit_header(nodes__0__scale=[2, 2, 2], nodes__0__translation=[1, 2, 3])),
        TETRA.move((1, 2, 3), 2.0)),
    "glb, mirrored by a second node": ("glb", glb(two_nodes(scale=[-1, -1, -1])), TETRA + Solid(
        -TETRA.points, TETRA.area, TETRA.volume)),
    "glb, a strip": ("glb", glb(mode=5, indices=[0, 2, 1, 3, 0, 2]), TETRA),
    "glb, a fan and triangles": ("glb", glb(second_primitive(6, _FAN)), "mode 6"),
    "glb, a fan": ("glb", glb(mode=6, indices=[1, 0, 3, 2, 0]), "mode 6"),
    "glb, normalised integers": ("glb", glb(
        edit_header(accessors__1__normalized=True, bufferViews__1__byteStride=8), kind=5122,
        positions=np.array([(*p, 0) for p in 32767 * np.array(TETRA_POINTS)], "<i2")), "normalized"),
    "glb, whole numbers": ("glb", glb(edit_header(bufferViews__1__byteStride=8), kind=5122,
        positions=np.array([(*p, 0) for p in TETRA_POINTS], "<i2")), "positions of type VEC3 of 5122"),
    "glb, interleaved": ("glb", glb(edit_header(bufferViews__1__byteStride=16),
        positions=np.array([(*p, 7) for p in TETRA_POINTS], "<f4")), TETRA),
    "glb, fewer positions than declared": ("glb", glb(edit_header(accessors__1__count=5)),
                                           "is not a well-formed glb file"),
    "glb, no indices": ("glb", glb(lambda head: head["meshes"][0]["primitives"][0].pop("indices"),
        positions=np.array(TETRA_POINTS, "<f4")[np.ravel(TETRA_FACES)]), TETRA),
    "glb, a material whose image is missing": ("glb", glb(edit_header(
        meshes__0__primitives__0__material=0, images=[{"uri": "paint.png"}], textures=[{"source": 0}],
        materials=[{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}])), TETRA),
    "glb, units of the author": ("glb", glb(edit_header(meshes__0__extras={"units": "inches"})), TETRA),
    "glb, a part of another scene": ("glb", glb(edit_header(nodes=[{"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}],
        scenes=[{"nodes": [0]}, {"nodes": [1]}])), TETRA),
    "glb, a draft of a later version": ("glb", glb()[:4] + b"\3" + glb()[5:], "is not a well-formed glb file"),
    "glb, instances": ("glb", glb(edit_header(nodes__0__extensions={"EXT_mesh_gpu_instancing": {"attributes": {}}})),
                       "EXT_mesh_gpu_instancing"),
    "glb, morph weights": ("glb", glb(edit_header(
        meshes__0__weights=[1.0], meshes__0__primitives__0__targets=[{"POSITION": 1}])), "morph"),
    "glb, a sparse accessor": ("glb", glb(edit_header(accessors__1__sparse={"count": 1})), "sparse"),
    "glb, a required extension": ("glb", glb(edit_header(extensionsRequired=["KHR_draco_mesh_compression"])),
                                  "KHR_draco_mesh_compression"),
    "glb, a skin": ("glb", glb(edit_header(skins=[{"joints": [0]}], nodes__0__skin=0)), "skin"),
    "glb, a mesh and a camera": ("glb", glb(edit_header(nodes__0__camera=0, cameras=[{"type": "perspective",
        "perspective": {"yfov": 1, "znear": 0.1, "aspectRatio": 1}}])), "camera"),
    "glb, a node of two parents": ("glb", glb(edit_header(
        nodes=[{"children": [2]}, {"children": [2], "translation": [5, 0, 0]}, {"mesh": 0}],
        scenes=[{"nodes": [0, 1]}])), "node 2"),
    "glb, positions without bytes": ("glb", glb(lambda head: head["accessors"][1].pop("bufferView")), "no bufferView"),
    "glb, indices that are no triples": ("glb", glb(indices=[0, 2, 1, 0, 1]), "5 indices"),
    "glb, another file": ("glb", glb(edit_header(buffers__0__uri="part.bin")), "part.bin"),
    "glb, index too large": ("glb", glb(indices=[0, 2, 1, 0, 1, 4]), "vertex 4"),
    "glb cut off": ("glb", glb(cut=8), "is not a well-formed glb file"),
    "dae": ("dae", dae(), TETRA),
    "dae, millimetres": ("dae", dae(unit="0.001"), TETRA.move((0, 0, 0), 0.001)),
    "dae, turned and moved": ("dae", dae(node="<translate>1 2 3</translate><instance_geometry url='#g'/>"),
                              TETRA.move((1, 2, 3))),
    "dae, concave polylist": ("dae", dae(dae_polygons("polylist", PRISM_FACES), PRISM_POINTS), PRISM),
    "dae, polygons": ("dae", dae(dae_polygons("polygons", PRISM_FACES), PRISM_POINTS), PRISM),
    "dae, a fan": ("dae", dae(
        dae_polygons("trifans", [(1, 3, 0, 2, 3)]) + dae_polygons("triangles", [(0, 3, 2)])), TETRA),
    "dae, mirrored": ("dae", dae(node="<scale>-1 -1 -1</scale><instance_geometry url='#g'/>"), Solid(
        -TETRA.points, TETRA.area, TETRA.volume)),
    "dae, placed twice": ("dae", dae(node="<instance_geometry url='#g'/><node><translate>5 0 0</translate>"
        "<instance_geometry url='#g'/></node>"), TETRA + TETRA.move((5, 0, 0))),
    "dae, sheared": ("dae", dae(node="<skew>30 1 0 0 0 1 0</skew><instance_geometry url='#g'/>"), "dae file"),
    "dae, a list of several kinds": ("dae", dae(dae_polygons("triangles", TETRA_FACES[:2])
        + dae_polygons("polylist", TETRA_FACES[2:])), TETRA),
    "dae, indices of texture": ("dae", dae(
        dae_polygons("triangles", [[i for j in f for i in (j, 0)] for f in TETRA_FACES])
        .replace("<p>", '<input semantic="TEXCOORD" source="#t" offset="1"/><p>'),
        more='<source id="t"><float_array id="u" count="2">0 0</float_array><technique_common><accessor source="#u" '
        'count="1" stride="2"><param name="S" type="float"/><param name="T" type="float"/></accessor>'
        '</technique_common></source>'), TETRA),
    "dae, two lists of triangles in one": ("dae", dae(dae_polygons("triangles", TETRA_FACES)
        .replace(" 1 2 3", "</p><p>1 2 3")), "<triangles>"),
    "dae, a polyline and triangles": ("dae", dae(dae_polygons("triangles", TETRA_FACES)
        + f'<lines count="1">{_INPUT}<p>0 1</p></lines>'), TETRA),
    "dae, coordinates from the second number": ("dae", dae().replace("stride=", 'offset="1" stride='), "<accessor>"),
    "dae, coordinates in another order": ("dae",
        dae().replace('"X"', '"x"').replace('"Y"', '"X"').replace('"x"', '"Y"'),
        "<accessor>"),
    "dae, a convex hull for the reader to make": ("dae", dae().replace("<mesh>", '<convex_mesh convex_hull_of="#h">')
        .replace("</mesh>", "</convex_mesh>"), "dae file"),
    "dae, a strip": ("dae", dae(dae_polygons("tristrips", [(0, 2, 1, 3, 0, 2)])), TETRA),
    "dae, a material whose image is missing": ("dae", dae().replace("<library_geometries>", """<library_effects>
        <effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse><texture texture="x-sampler" texcoord="u"/>
        </diffuse></phong></technique></profile_COMMON></effect></library_effects><library_geometries>"""), TETRA),
    "dae, two meshes of one geometry": ("dae", dae().replace("</mesh>", "</mesh><mesh/>"), "<geometry> has 2 <mesh>"),
    "dae, lengths in two lists": ("dae", dae(dae_polygons("polylist", TETRA_FACES)
        .replace("3 3</vcount>", "3</vcount><vcount>3</vcount>")), "<polylist> has 2 <vcount>"),
    "dae, two geometries of one name": ("dae", dae().replace("</geometry>", '</geometry><geometry id="g"/>'),
                                        "2 elements with id 'g'"),
    "dae, unit of 0": ("dae", dae(unit="0"), "meter = '0'"),
    "dae, unit below 0": ("dae", dae(unit="-1"), "meter = '-1'"),
    "dae, no unit": ("dae", dae(unit="inch"), "meter = 'inch'"),
    "dae, triangles missing": ("dae", dae(dae_polygons("triangles", TETRA_FACES[:3], 4)), "<triangles>"),
    "dae, counts too small": ("dae", dae(dae_polygons("triangles", TETRA_FACES, 3)), "<triangles>"),
    "dae, numbers missing": ("dae", dae(count=15), "<float_array>"),
    "dae, a word among numbers": ("dae", dae(source=" x"), "<float_array>"),
    "dae, a polygon with a hole": ("dae", dae(
        f'<polygons count="1">{_INPUT}<ph><p>0 1 2</p><h>0 1 3</h></ph></polygons>'), "<ph>"),
    "dae, a skin": ("dae", dae(node="<instance_controller url='#c'/>"), "instance_controller"),
    "dae, index too large": ("dae", dae(dae_polygons("triangles", [(0, 1, 4)])), "is not a well-formed dae file"),
    "dae, negative index": ("dae", dae(dae_polygons("triangles", [(0, 1, -1)])), "vertex"),
    "dae, missing geometry": ("dae", dae(node="<instance_geometry url='#h'/>"), "is not a well-formed dae file"),
    "dae, geometry of another file": ("dae", dae(node="<instance_geometry url='other.dae#g'/>"), "dae file"),
}  # fmt: skip
