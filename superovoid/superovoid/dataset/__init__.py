# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compute the distances in many states of a robot into a store; resumable and bit-for-bit reproducible."""

from superovoid.dataset.datasets import Dataset, FromFile, Grid, Random, create, open  # noqa: A004 (as `zarr.open`)
from superovoid.dataset.errors import DatasetError

__all__ = ["Dataset", "DatasetError", "FromFile", "Grid", "Random", "create", "open"]
