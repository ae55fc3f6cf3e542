# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service in a process that cannot import moveit_msgs."""

import sys

for name in [each for each in sys.modules if each.partition(".")[0] == "moveit_msgs"]:  # imported before a fork
    del sys.modules[name]


class MissingFinder:
    """Finds no package moveit_msgs, wherever it is installed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "moveit_msgs":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, MissingFinder)

from superovoid_ros.nodes.distance_service.distance_service import main  # noqa: E402

raise SystemExit(main())
