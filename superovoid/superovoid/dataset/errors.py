# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is wrong with a data set, or with what one is to be made of."""

from __future__ import annotations

from types import ModuleType


class DatasetError(ValueError):
    """A data set that cannot be made, continued or read. The message names what was found and what is expected."""


def needs(error: ModuleNotFoundError) -> DatasetError:
    """Say that a package is missing, and how to have it."""
    return DatasetError(f"no module {error.name!r}: pip install 'superovoid[dataset]'")


def zarr_module() -> ModuleType:
    """The module zarr, imported when the first store is met."""
    try:
        import zarr
    except ModuleNotFoundError as error:
        raise needs(error) from None
    if int(zarr.__version__.split(".")[0]) < 3:
        raise DatasetError(f"zarr {zarr.__version__}: 3 or later is needed: pip install 'superovoid[dataset]'")
    return zarr
