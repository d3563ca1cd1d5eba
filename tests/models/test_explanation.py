from __future__ import annotations

from spade_pyserini import SpadeEncoder, SpadeModel
from spade_pyserini.models.explanation import Expansion, TermWeight, TermWeights

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


def test_tables_for_notebooks() -> None:
    hostile = TermWeight("<b>", False, 0.0, 1.0, 1)
    page = Expansion.of([CAT, HOUSE, PET, hostile])._repr_html_()
    names = ("added", "pet", "&lt;b&gt;", "raised", "cat", "unchanged", "house")
    positions = [page.index(f">{name}<") for name in names]
    assert positions == sorted(positions) and "<b>" not in page
    # The bar of the largest impact is 8 em long and divided into the parts of the two encoders.
    assert "width:6.45em" in page and "width:1.55em" in page
    listed = TermWeights([CAT, PET])._repr_html_()
    assert listed.index(">yes<") < listed.index(">pet<") < listed.index(">no<")
    assert "<tbody></tbody>" in TermWeights()._repr_html_()


def test_the_terms_of_a_model_have_a_table(tiny_model: SpadeModel) -> None:
    terms = SpadeEncoder(tiny_model).explain("the old cat")
    assert terms._repr_html_().count("<tr>") == len(terms) + 1
    assert tiny_model.expand("the old cat")._repr_html_().count("<tr>") == len(terms) + 1
