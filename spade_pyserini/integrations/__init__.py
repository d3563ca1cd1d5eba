"""Ranking in memory, and adapters to BEIR, MTEB, PyTerrier, sentence-transformers and others."""
