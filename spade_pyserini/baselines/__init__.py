"""What sparse retrieval is compared with: dense search, re-ranking, fusion, predicted queries."""
