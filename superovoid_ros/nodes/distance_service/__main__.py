"""`python -m superovoid_ros.nodes.distance_service`."""

import sys

from superovoid_ros.nodes.common.start import distance_service

sys.exit(distance_service())
