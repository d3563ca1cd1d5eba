"""Systems to compare sparse retrieval with: dense search, re-ranking, fusion, docT5query."""
