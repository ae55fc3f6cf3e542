# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Scenes of many bodies: poses, allowed pairs, culling, warm starts and one query. All mutable state is here."""

from superovoid.scene.bodies import Body
from superovoid.scene.results import PairResult, SceneResult
from superovoid.scene.scene import Scene

__all__ = ["Body", "PairResult", "Scene", "SceneResult"]
