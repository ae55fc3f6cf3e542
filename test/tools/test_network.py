# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Separate domains: one per process, and free again afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

from superovoid_ros.tools.process import network
from superovoid_ros.tools.process.network import own_network, take_domain

TAKE = "from superovoid_ros.tools.process.network import take_domain\ndomain = take_domain()\nprint(domain.number)\n"


def few_domains(monkeypatch, *numbers):
    """Reduce the free domains to these numbers; the process is in none of them."""
    monkeypatch.setattr(network, "_DOMAINS", numbers)
    monkeypatch.setenv("ROS_DOMAIN_ID", "0")


def test_no_two_domains_are_equal_in_one_process_or_several():
    held = [take_domain() for _ in range(20)]
    try:
        printed = [subprocess.run([sys.executable, "-c", TAKE], capture_output=True, check=True) for _ in range(3)]
        numbers = [domain.number for domain in held]
        assert len(set(numbers)) == 20
        assert not set(numbers) & {int(process.stdout) for process in printed}
    finally:
        for domain in held:
            domain.hold.close()


def test_a_domain_is_free_after_its_holder_ended_or_released_it(monkeypatch):
    few_domains(monkeypatch, 201)
    only = "from superovoid_ros.tools.process import network\nnetwork._DOMAINS = (201,)\n"
    code = TAKE.replace("domain = ", only + "domain = ")
    holder = subprocess.Popen([sys.executable, "-c", code + "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"201\n"
    few_domains(monkeypatch, 201, 202)
    assert take_domain().number == 202
    holder.kill()
    holder.communicate()
    few_domains(monkeypatch, 201)
    for _ in range(2):
        with own_network("network"):
            assert os.environ["ROS_DOMAIN_ID"] == "201"
        assert os.environ["ROS_DOMAIN_ID"] == "0"


def test_a_domain_is_shared_if_all_are_taken(monkeypatch):
    few_domains(monkeypatch, 203)
    first, second = take_domain(), take_domain()
    assert first.number == second.number == 203
    first.hold.close()


def test_the_domain_of_the_process_is_not_taken(monkeypatch):
    few_domains(monkeypatch, 204, 205)
    monkeypatch.setenv("ROS_DOMAIN_ID", "204")
    assert take_domain().number == 205
