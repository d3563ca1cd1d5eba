"""Words that people wrap around what they look for.

"I am looking for papers about" says nothing about a document, but its words are rare in documents,
so that counting them calls them important. Where a pupil is asked with such words and its teacher
without them, it learns what they are worth.
"""

from __future__ import annotations

from zlib import crc32

AROUND = """
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


def wrap_query(qid: str, text: str, share: float) -> str:
    """The query, or with a chance of ``share`` a request for the same, by ``qid`` alone."""
    number = crc32(qid.encode())
    if number % 1000 >= 1000 * share:
        return text
    return AROUND[number // 1000 % len(AROUND)].format(text)
