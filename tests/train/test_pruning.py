"""Corpus-level pruning."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spade_pyserini.errors import UsageError
from spade_pyserini.train.pruning import DocumentFrequency
from spade_pyserini.train.settings import PruningSettings
from tests.commands import Commands


def test_terms_in_more_than_gamma_of_the_documents_go_at_the_end_of_a_period() -> None:
    frequency = DocumentFrequency(3, PruningSettings(gammas=(0.9, 0.5), period=2))
    kept = torch.ones(3, dtype=torch.bool)
    documents = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [2.0, 3.0, 1.0], [1.0, 1.0, 0.0]])
    frequency.add(documents[:2])
    assert frequency.prune(kept) == 0  # the period has not ended
    frequency.add(documents[2:])
    assert frequency.prune(kept) == 1  # the share 4 of 4 is above gamma 0.9, 3 of 4 is not
    assert kept.tolist() == [False, True, True]
    frequency.add(documents[:2])
    frequency.add(documents[2:])
    assert frequency.prune(kept) == 1  # gamma is now 0.5, and counts start from 0
    assert kept.tolist() == [False, False, True]


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=30))
def test_a_removed_term_never_comes_back(rows: list[list[bool]]) -> None:
    frequency = DocumentFrequency(4, PruningSettings(gammas=(0.5,), period=1))
    kept = torch.ones(4, dtype=torch.bool)
    gone: set[int] = set()
    for row in rows:
        # The last term is in no document, so pruning does not remove all terms.
        frequency.add(torch.tensor([[*row[:3], False]], dtype=torch.float))
        frequency.prune(kept)
        assert not any(kept[term] for term in gone)
        gone |= {term for term in range(4) if not kept[term]}


def test_no_gammas_no_pruning() -> None:
    frequency = DocumentFrequency(1, PruningSettings(gammas=(), period=1))
    kept = torch.ones(1, dtype=torch.bool)
    frequency.add(torch.ones(5, 1))
    assert frequency.prune(kept) == 0
    assert bool(kept[0])


def test_the_state_is_kept() -> None:
    settings = PruningSettings(gammas=(0.5,), period=3)
    one, other = DocumentFrequency(2, settings), DocumentFrequency(2, settings)
    one.add(torch.tensor([[1.0, 0.0]]))
    other.load_state_dict(one.state_dict())
    assert (other.counts.tolist(), other.documents, other.steps) == ([1, 0], 1, 1)


def test_pruning_that_leaves_no_term_is_an_error() -> None:
    frequency = DocumentFrequency(3, PruningSettings(gammas=(0.5,), period=1))
    frequency.add(torch.ones(4, 3))
    kept = torch.ones(3, dtype=torch.bool)
    with pytest.raises(UsageError, match=r"remove every term.*; choose larger values of gammas"):
        frequency.prune(kept)
    assert kept.all()


def test_the_command_whose_pruning_leaves_no_term(
    tiny_backbone: Path, tmp_path: Path, run: Commands
) -> None:
    """The vocabulary is so small that nearly every term is in nearly every document."""
    settings = (f"backbone={tiny_backbone}", "steps=8", "validate_every=2")
    words = [word for setting in settings for word in ("--set", setting)]
    result = run("train", "--recipe", "smoke", "--output", tmp_path / "run", *words)
    assert result.code == 2 and "Traceback" not in result.err
    assert "would remove every term that is left; choose larger values of gammas" in result.err
