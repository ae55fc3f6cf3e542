"""`python -m superovoid_ros.cli`."""

from superovoid_ros.cli import command

command()
