# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Errors of data sets, and imports of optional packages."""

from __future__ import annotations

from types import ModuleType


class DatasetError(ValueError):
    """A data set cannot be created, continued or read. The message names what was found and what is expected."""


def missing_package_error(error: ModuleNotFoundError) -> DatasetError:
    """Return the error for a missing package, with the command that installs it."""
    return DatasetError(f"no module {error.name!r}: pip install 'superovoid[dataset]'")


def zarr_module() -> ModuleType:
    """Import zarr (when the first store is opened) and return it."""
    try:
        import zarr
    except ModuleNotFoundError as error:
        raise missing_package_error(error) from None
    if int(zarr.__version__.split(".")[0]) < 3:
        raise DatasetError(f"zarr {zarr.__version__}: must be 3 or later: pip install 'superovoid[dataset]'")
    return zarr
