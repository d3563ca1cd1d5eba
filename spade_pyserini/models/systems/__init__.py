"""Learned sparse systems other than SpaDE.

Each system has a file, which gives its equation and its paper:

::

    splade.py        SPLADE, SPLADE-doc, OpenSearch's models    masked-LM logits, log-saturated
    unicoil.py       uniCOIL                                    a weight for each token
    tildev2.py       TILDEv2                                    a weight for each token
    deepimpact.py    DeepImpact                                 a weight for each word
    deepct.py        DeepCT                                     a weight for each word
    tilde.py         TILDE                                      the likelihood of each term
    sparterm.py      SparTerm                                   masked-LM logits; gates select terms

Modules that the systems share:

    source.py                the model to load: its folder, its name, how its query weights are used
    checkpoint.py            the files of a model: settings, tensor names; without torch
    sparse_encoder_files.py  the layout of sentence-transformers: modules, router, prompts
    recognise.py             decide which system a model belongs to
    system.py                the interface of a system: from token ids to weights
    word_system.py           systems whose terms are words
    masked_lm_system.py      systems with a masked-LM head
    pooling.py               pool the weights of tokens into weights of terms
    transformer.py           the transformer below a head, its weights and its tokenizer
    encoder.py               `SystemEncoder`, the `DocumentEncoder` of all these systems
    query_table.py           a table of query term weights, for queries or for documents
    neural_queries.py        query encoders that run a model
    sparse_encoder.py        load the layout of sentence-transformers
    loading.py               load the encoder of a model by its name
    saving.py                write a trained system in the published layout
"""
