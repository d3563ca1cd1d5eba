from __future__ import annotations

from spade_pyserini.models.explanation import Expansion, TermWeight

CAT = TermWeight("cat", True, 10.0, 2.4, 12)
HOUSE = TermWeight("house", True, 8.0, 0.0, 8)
PET = TermWeight("pet", False, 0.0, 5.0, 5)


def test_terms_by_the_effect_of_expansion() -> None:
    expansion = Expansion.of([CAT, HOUSE, PET])
    assert expansion == Expansion(added=[PET], raised=[CAT], rest=[HOUSE])
    assert str(expansion).splitlines() == [
        "added      pet 5",
        "raised     cat 12 (+2)",
        "unchanged  house 8",
    ]
    assert str(Expansion.of([HOUSE])).splitlines()[:2] == ["added      -", "raised     -"]
