# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The distance service before it knows its robot, with robots that make no sense, and its end."""

import pytest

import arm


@pytest.fixture(scope="module")
def late_service(serve):
    """A service that starts without a robot."""
    return serve()


def answer(client, words):
    """Return the first answer that contains `words`."""
    return client.until(lambda response: words in response.message)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("this is no robot", "well-formed"),
        (
            "<!DOCTYPE robot [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><robot name='spy'><link name='&x;'/></robot>",
            "entities",
        ),
        (arm.URDF.replace('radius="0.1"', 'radius="-1"'), "radius"),
        (
            arm.URDF.replace(
                '<link name="slider"/>',
                '<link name="slider"><visual><geometry><mesh filename="package://arm/../../etc/passwd"/></geometry>'
                "</visual></link>",
            ),
            "leads out of its package",
        ),
    ],
)
def test_description_that_makes_no_sense_is_answered_with_the_reason(late_service, client, text, words):
    client.send_text("robot_description", text)
    response = answer(client, words)
    assert not response.success and response.message.startswith("no robot")


def test_robot_from_topics_works_after_all_that(late_service, client):
    client.send_text("robot_description", arm.URDF)
    response = answer(client, "no position of joint")
    assert not response.success
    assert "slide, wrist" in response.message and "no message received yet" in response.message
    client.send_joints(["slide"], [0.0])
    response = answer(client, "(1 messages received)")
    assert "joint wrist" in response.message
    client.send_joints(["wrist"], [0.0])
    response = answer(client, "no transform")
    assert "'ball'" in response.message and "'ground'" in response.message
    client.send_transform("ground", "ball", arm.at(2.0, 0.0, 0.0))
    response = client.until()
    assert response.distances.pairs_considered == 4
    client.send_text("robot_description_semantic", arm.SRDF)
    client.until(lambda response: response.distances.pairs_considered == 2)
