# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Why a request is refused, as a code that programs decide by."""

from __future__ import annotations

import pytest
from superovoid_interfaces.msg import ErrorCode
from superovoid_interfaces.srv import GetDistances, GetMinDistance, GetPairRules

from superovoid_ros.nodes.common.mistakes import Code

import arm

NAME = "/distance_service"


@pytest.fixture(scope="module")
def service(serve):
    """A service without a robot."""
    return serve(rate=0.0)


def code(client, kind=GetMinDistance, name="get_min_distance", **request):
    return Code(client.call(kind, f"{NAME}/{name}", **request).error_code.value)


def test_codes_of_the_library_are_those_of_the_message():
    assert {code.name: int(code) for code in Code} == {
        name: getattr(ErrorCode, name) for name in dir(ErrorCode) if name.isupper() and name != "SLOT_TYPES"
    }


@pytest.mark.ci
def test_a_refusal_has_the_code_of_its_reason(service, client):
    assert code(client) == Code.NO_ROBOT
    client.send_text("robot_description", arm.URDF)
    service.wait_for_output("robot 'arm'")
    assert code(client) == Code.NOT_MEASURED
    arm.set_state(client, NAME, [0.0, 0.0])
    assert code(client) == Code.SUCCESS
    assert code(client, max_distance=-1.0) == Code.INVALID_REQUEST
    assert code(client, links_a=["nowhere"]) == Code.UNKNOWN_LINK
    assert code(client, GetDistances, "get_distances", deadline=-1.0) == Code.INVALID_REQUEST
    assert code(client, GetPairRules, "get_pair_rules", links_a=["nowhere"]) == Code.UNKNOWN_LINK
