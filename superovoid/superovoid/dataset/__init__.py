# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances of many states of a robot in a store: resumable, the same bits whoever computes them."""

from superovoid.dataset.datasets import Dataset, FromFile, Grid, Random, create, open  # noqa: A004 (as `zarr.open`)
from superovoid.dataset.errors import DatasetError

__all__ = ["Dataset", "DatasetError", "FromFile", "Grid", "Random", "create", "open"]
