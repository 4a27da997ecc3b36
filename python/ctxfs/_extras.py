# SPDX-License-Identifier: Apache-2.0
"""Packages that parts of this one need, and that are not installed with it."""

from __future__ import annotations

import importlib
from types import ModuleType

# What an extra of pyproject.toml installs is named without the extra: this package may come from
# a file, and then no index has it.
_PACKAGES = {"dask": "dask[array,bag,dataframe] pandas pyarrow", "distributed": "distributed"}


def need(module: str, purpose: str) -> ModuleType:
    """Imports `module`; if it is not installed, the error says what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        wanted = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"{purpose} need {wanted}: pip install {_PACKAGES.get(wanted, wanted)}",
            name=wanted) from None
