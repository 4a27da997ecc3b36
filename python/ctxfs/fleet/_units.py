# SPDX-License-Identifier: Apache-2.0
"""Cuts work into units of about the same cost: many small containers, or a part of a large one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ._find import Candidate

UNIT_BYTES = 64 << 20
# Opening a container costs about as much as reading so many bytes.
OPEN_BYTES = 1 << 20
# A container of more than so many units is cut.
SPLIT_UNITS = 4


class Part(NamedTuple):
    """Items `first` up to `last` of a container, in the order of its files."""

    first: int
    last: int


class Unit(NamedTuple):
    """What a worker does in one task."""

    candidates: tuple[Candidate, ...]
    part: Part | None = None  # of the only candidate
    plan: bool = False  # only cuts the only candidate

    @property
    def bytes(self) -> int:
        return sum(candidate.size for candidate in self.candidates)


def units(candidates: Iterable[Candidate], unit_bytes: int, reads: bool) -> Iterator[Unit]:
    """`reads`: whether the cost of a container grows with its bytes."""
    batch: list[Candidate] = []
    cost = 0
    for candidate in candidates:
        if reads and candidate.size > SPLIT_UNITS * unit_bytes:
            yield Unit((candidate,), plan=True)
            continue
        batch.append(candidate)
        cost += OPEN_BYTES + (candidate.size if reads else 0)
        if cost >= unit_bytes:
            yield Unit(tuple(batch))
            batch, cost = [], 0
    if batch:
        yield Unit(tuple(batch))


def cut(sizes: Sequence[int], unit_bytes: int) -> list[Part]:
    """Parts of about `unit_bytes`, of items of these sizes; at least one."""
    parts, first, cost = [], 0, 0
    for i, size in enumerate(sizes):
        cost += size
        if cost >= unit_bytes:
            parts.append(Part(first, i + 1))
            first, cost = i + 1, 0
    if first < len(sizes) or not parts:
        parts.append(Part(first, len(sizes)))
    return parts


def alone(unit: Unit) -> Iterator[Unit]:
    """Each candidate of a unit in a unit of its own."""
    for candidate in unit.candidates:
        yield Unit((candidate,))
