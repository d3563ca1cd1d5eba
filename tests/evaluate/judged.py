"""A small run with judgements: topic 3 has no hits, and topic 9 has no judgements."""

QRELS = "1 0 a 2\n1 0 b 1\n1 0 z 0\n2 0 c 1\n3 0 never 1\n"
RUN = "1 Q0 b 1 3 x\n1 Q0 y 2 2 x\n1 Q0 a 3 1 x\n2 Q0 d 1 9 x\n2 Q0 c 2 8 x\n9 Q0 q 1 1 x\n"
