"""Learned sparse models of others: each system is one file, with its equation and its paper.

::

    splade.py        SPLADE, SPLADE-doc, OpenSearch's models    masked-LM logits, log-saturated
    unicoil.py       uniCOIL                                    a weight for each token
    tildev2.py       TILDEv2                                    a weight for each token
    deepimpact.py    DeepImpact                                 a weight for each word
    deepct.py        DeepCT                                     a weight for each word

What they have in common:

    checkpoint.py            the files of a model: settings, tensor names; without torch
    sparse_encoder_files.py  the layout of sentence-transformers: modules, router, prompts
    recognise.py             which system a checkpoint belongs to, or why none
    system.py                the interface of a system: from token ids to weights
    word_system.py           systems whose terms are words
    pooling.py               from the weights of tokens to those of terms
    transformer.py           the transformer below a head, its weights and its tokenizer
    encoder.py               `SystemEncoder`, the `DocumentEncoder` of all of them
    query_table.py           weights of query terms, folded into documents or in a table
    neural_queries.py        queries that a model encodes
    sparse_encoder.py        load the layout of sentence-transformers
    loading.py               from a name to an encoder
"""
