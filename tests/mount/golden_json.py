# SPDX-License-Identifier: Apache-2.0
"""Compares JSON values with those of golden answers."""


def exact(value):
    """The value in a form for ==. Python takes True for 1 and False for 0; JSON
    does not."""
    if isinstance(value, bool):
        return ("a bool", value)
    if isinstance(value, list):
        return [exact(one) for one in value]
    if isinstance(value, dict):
        return {key: exact(one) for key, one in value.items()}
    return value
