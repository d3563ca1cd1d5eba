"""Training beyond the paper.

Extensions of the loop, created by `extensions.extend`::

    distillation      learn from the scores of a dense model, BM25 or a run (`teachers`)
    term_weights      weights of query terms, idf of the corpus, saturation
    sparsity          the regularizers of SPLADE, FLOPS and L1
    query_templates   queries in phrases such as "find papers about ..."
    query_pool        compare each document with the nearest queries of a pool

Stages of `spade train`::

    teach             score candidates of queries with teachers (`scorers`, `score_cache`)
    masked_lm         fit a masked-LM head on plain text, for a backbone without one
    term_vectors      initialize the expansion head from a dense bi-encoder
    template_weights  learn small weights for the words of query templates
    encoding_settings choose alpha and the pruning ratio of a trained model

Data and model::

    unlabelled        samples from a run, for queries without judgements
    inflections       inflected forms of English words
"""
