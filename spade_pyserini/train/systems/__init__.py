"""Training of systems other than SpaDE, with the same loop, data and backbones.

A recipe with ``system``, such as ``system = "unicoil"``, trains that system of
`spade_pyserini.models.systems`. The model is saved in the layout in which models of that system are
published, so that `spade encode --model RUN/best` recognises it.

::

    unicoil.py       uniCOIL       ranking loss, queries are encoded
    tildev2.py       TILDEv2       ranking loss, boolean queries
    deepimpact.py    DeepImpact    pairwise loss, boolean queries over words
    deepct.py        DeepCT        squared error between weights and shares of queries with the word
    tilde.py         TILDE         cross-entropy of the terms of queries and of documents
    splade.py        SPLADE-max    ranking loss and FLOPS regularizer, queries are encoded
    sparterm.py      SparTerm      pairwise loss, and cross-entropy of the gates

Modules that the systems share:

    objective.py     the interface of a system's loss: inputs, vectors, scores, losses
    words.py         losses of systems whose terms are words
    start.py         the system that training starts from, and its optimizer
    trainer.py       one step, for the loop
    validation.py    exact scores on validation collections, and the best model
    registry.py      the loss of each system by name
"""
