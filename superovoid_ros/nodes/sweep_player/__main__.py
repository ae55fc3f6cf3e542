"""`python -m superovoid_ros.nodes.sweep_player`."""

import sys

from superovoid_ros.nodes.common.start import sweep_player

sys.exit(sweep_player())
