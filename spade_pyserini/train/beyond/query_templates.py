"""Query templates: phrases around the subject X of a query, as in "I am looking for papers on X".

The words of the phrase do not describe X, but they are rare in documents, so their idf is high. The
model is trained with queries in templates, but its teacher gets the same queries without templates.
So the model learns smaller weights for these words.
"""

from __future__ import annotations

from zlib import crc32

from spade_pyserini.train.extension import Extension

TEMPLATES = """
I am looking for {}
I would like to know about {}
I need to find out {}
I want to learn more about {}
we are searching for anything on {}
please tell me {}
please explain {}
could you help me with this question: {}
can anyone tell me {}
does anybody know {}
find documents that discuss {}
find articles about {}
find papers that describe {}
give me all information available on {}
get me some references concerning {}
list publications dealing with {}
a relevant document will mention {}
relevant documents should provide details on {}
identify reports which contain material regarding {}
studies or articles related to {}
any literature on the subject of {}
my interest is in {}
interested in {} and similar topics
what is known about {}
what has been written about {}
are there examples of work on {}
descriptions, discussions or reviews of {}
I have a question about {}. Thanks for any help
{}. Also of interest: anything else that is relevant
{}. Please include only results that answer this
{}, in particular
various aspects of {}, for instance
""".strip().splitlines()


class QueryTemplates(Extension):
    """Puts a share of the training queries into a template."""

    def __init__(self, share: float) -> None:
        self.share = share

    def query_text(self, qid: str, text: str) -> str:
        return apply_template(qid, text, self.share)


def apply_template(qid: str, text: str, share: float) -> str:
    """Put a query into a template, or return it unchanged: ``qid`` and ``share`` decide."""
    number = crc32(qid.encode())
    if number % 1000 >= 1000 * share:
        return text
    return TEMPLATES[number // 1000 % len(TEMPLATES)].format(text)
