"""Snippets of texts."""

from __future__ import annotations

from spade_pyserini.search.snippets import Snippet, best_snippet, mark_words


def matched(word: str) -> frozenset[str]:
    return frozenset({word.lower()} & {"cat", "dog", "bird"})


def test_a_short_text_is_shown_completely() -> None:
    snippet = best_snippet("The cat\n  and the Dog.", matched, {"cat": 1, "dog": 1})
    assert snippet.marked("[", "]") == "The [cat] and the [Dog]."


def test_the_part_with_the_most_weight_is_shown() -> None:
    text = "cat " + "word " * 100 + "dog and bird " + "word " * 100 + "cat cat cat"
    snippet = best_snippet(text, matched, {"cat": 5, "dog": 3, "bird": 3}, width=80)
    assert snippet.text.startswith("... word ")
    assert snippet.text.endswith(" word ...")
    assert "[dog] and [bird]" in snippet.marked("[", "]")
    assert len(snippet.text) <= 80 + 8
    first = best_snippet(text, matched, {"cat": 50}, width=80)
    assert first.text.startswith("cat word")  # the first of equally good parts


def test_a_text_without_a_match_shows_its_beginning() -> None:
    snippet = best_snippet("word " * 100, matched, {"cat": 1}, width=20)
    assert snippet == Snippet("word word word word ...", ())
    assert best_snippet("", matched, {}) == Snippet("", ())


def test_long_words_and_the_end_of_a_text() -> None:
    assert best_snippet("x" * 100, matched, {}, width=20).text == "x" * 20 + " ..."
    last = best_snippet("word " * 100 + "cat", matched, {"cat": 1}, width=30)
    assert last.marked("[", "]").endswith("word [cat]")


def test_characters_that_change_a_terminal_are_removed() -> None:
    text = "a \x1b[31mred\x1b[0m cat\x07\x9b2J \u202eevil\u2028 dog\x7f"
    snippet = mark_words(text, matched)
    assert snippet.text.isprintable()
    assert snippet.marked("<", ">") == "a [31mred [0m <cat> 2J evil <dog>"
