"""The order in which training reads its samples."""

from __future__ import annotations

import torch
from torch import Tensor


class SampleStream:
    """An endless stream of sample indexes whose order depends on the seed alone.

    Each call of `take` draws a collection with a probability in proportion to its share, then reads
    the next samples of this collection. Every epoch of a collection is a new permutation of its
    samples. ``state`` is all that a checkpoint needs: the number of draws, and the position in each
    collection.
    """

    def __init__(self, sizes: list[int], seed: int, shares: list[float] | None = None) -> None:
        self.sizes, self.seed = sizes, seed
        self.shares = torch.tensor(shares or [1.0] * len(sizes))
        self.draws, self.positions = 0, [0] * len(sizes)
        self._orders: dict[int, tuple[int, Tensor]] = {}

    @property
    def state(self) -> list[int]:
        return [self.draws, *self.positions]

    @state.setter
    def state(self, value: list[int]) -> None:
        self.draws, *self.positions = value

    def take(self, count: int) -> list[int]:
        """Return the next ``count`` samples, as indexes into the list of all samples."""
        number = int(torch.multinomial(self.shares, 1, generator=self._generator(self.draws)))
        self.draws += 1
        return [sum(self.sizes[:number]) + self._next(number) for _ in range(count)]

    def _next(self, number: int) -> int:
        """Return the next sample of collection ``number``, as an index into its samples."""
        epoch, position = divmod(self.positions[number], self.sizes[number])
        self.positions[number] += 1
        if number not in self._orders or self._orders[number][0] != epoch:
            order = torch.randperm(self.sizes[number], generator=self._generator(epoch, number))
            self._orders[number] = epoch, order
        return int(self._orders[number][1][position])

    def _generator(self, turn: int, number: int = 0) -> torch.Generator:
        return torch.Generator().manual_seed((self.seed * 1009 + number) * 1_000_003 + turn)
