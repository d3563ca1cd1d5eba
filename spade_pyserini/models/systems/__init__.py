"""Learned sparse systems other than SpaDE: one file each, with the equation and the paper.

::

    splade.py        SPLADE, SPLADE-doc, OpenSearch's models    masked-LM logits, log-saturated
    unicoil.py       uniCOIL                                    a weight for each token
    tildev2.py       TILDEv2                                    a weight for each token
    deepimpact.py    DeepImpact                                 a weight for each word
    deepct.py        DeepCT                                     a weight for each word

What they have in common:

    source.py                the folder and the name of a model to load
    checkpoint.py            the files of a model: settings, tensor names; without torch
    sparse_encoder_files.py  the layout of sentence-transformers: modules, router, prompts
    recognise.py             decide which system a checkpoint belongs to
    system.py                the interface of a system: from token ids to weights
    word_system.py           systems whose terms are words
    pooling.py               from the weights of tokens to those of terms
    transformer.py           the transformer below a head, its weights and its tokenizer
    encoder.py               `SystemEncoder`, the `DocumentEncoder` of all systems here
    query_table.py           a table of query weights: used for queries or for documents
    neural_queries.py        query encoders that run a model
    sparse_encoder.py        load the layout of sentence-transformers
    loading.py               from a name to an encoder
"""
