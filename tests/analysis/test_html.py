from __future__ import annotations

import re

import pytest

from spade_pyserini.analysis.html import charts, elements
from spade_pyserini.analysis.html.charts import SignedBar

ATTACK = "<script>alert('x')</script> & \"quotes\""


def test_the_largest_number_is_bold_and_marks_have_room() -> None:
    table = elements.table(["run", "MAP"], [["a", "0.2000◇"], ["b", "0.3000 "]], bold=True)
    assert "<td class=number>0.2000<i>◇</i></td>" in table
    assert "<td class=number><b>0.3000</b><i></i></td>" in table
    assert table.count("<b>") == 1


def test_bars_reach_as_far_as_their_values() -> None:
    chart = charts.bars("RR", {"half": 0.5, "all": 1.0})
    assert re.findall(r'class="gain" y="\d+" width="([\d.]+)%"', chart) == ["50.00", "100.00"]
    counts = charts.bars("NumRet", {"few": 100, "many": 400})
    assert re.findall(r'class="gain" y="\d+" width="([\d.]+)%"', counts) == ["25.00", "100.00"]


def test_signed_bars_start_at_zero() -> None:
    bars = [SignedBar(0.4, f"1 {ATTACK}"), SignedBar(-0.2, "2")]
    chart = charts.signed_bars(ATTACK, bars)
    zero = float(re.findall(r'class="zero" x2="100%" y1="([\d.]+)"', chart)[0])
    up, down = re.findall(r'y="([\d.]+)" height="([\d.]+)">', chart)
    assert float(up[0]) + float(up[1]) == pytest.approx(zero, abs=0.2)
    assert float(down[0]) == zero
    assert float(up[1]) == pytest.approx(2 * float(down[1]), abs=0.2)
    assert "<script" not in chart
    assert 'class="gain"' in chart
    assert 'class="loss"' in chart


def test_without_differences_there_are_no_bars() -> None:
    chart = charts.signed_bars("flat", [SignedBar(0, "1")])
    assert 'class="zero"' in chart
    assert "<rect" not in chart
