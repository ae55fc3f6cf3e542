# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A client with the usual queue that has other work while another client of the same process makes many calls.

Prints whether the answer to its own call was kept.
"""

import sys
from contextlib import ExitStack

from superovoid_interfaces.srv import GetMinDistance

from superovoid_ros.nodes.common.caller import Caller

REQUEST = GetMinDistance.Request()

if __name__ == "__main__":
    with ExitStack() as stack:
        callers = busy, other = [
            stack.enter_context(Caller(name, global_arguments=False)) for name in ("busy", "other")
        ]
        busy_client, other_client = (
            caller.node.create_client(GetMinDistance, "/many/get_min_distance") for caller in callers
        )
        # From the first answer on, the service knows the client, so that no answer is lost in discovery.
        busy.ask(busy_client, REQUEST)
        future = busy_client.call_async(REQUEST)
        for _ in range(30):
            other.ask(other_client, REQUEST)
        # Answers arrive in the order in which they were sent: after a later one, the earlier one will not come.
        busy.ask(busy_client, REQUEST)
        print("answer", "kept" if future.done() else "dropped", flush=True)
    sys.stdin.read()  # until the test has read that
