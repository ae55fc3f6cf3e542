# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Many bodies: poses, allowed pairs, culling, warm starts and one query call. The state lives here and nowhere else."""

from superovoid.scene.bodies import Body
from superovoid.scene.results import PairResult, SceneResult
from superovoid.scene.scene import Scene

__all__ = ["Body", "PairResult", "Scene", "SceneResult"]
