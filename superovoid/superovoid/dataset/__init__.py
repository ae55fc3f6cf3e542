# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances of many states of a robot in a store: resumable, the same bits whoever computes them."""

from superovoid.dataset.dataset_errors import DatasetError
from superovoid.dataset.datasets import Dataset, FromFile, Grid, Random, create, open  # noqa: A004 (as `zarr.open`)

__all__ = ["Dataset", "DatasetError", "FromFile", "Grid", "Random", "create", "open"]
