# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots of links in a row."""

from itertools import pairwise


def chain(**links):
    """Return the URDF of links, given by name and content, with a fixed joint between each two."""
    made = "".join(f'<link name="{name}">{inner}</link>' for name, inner in links.items())
    for parent, child in pairwise(links):
        made += f'<joint name="to_{child}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'
    return f'<robot name="r">{made}</robot>'
