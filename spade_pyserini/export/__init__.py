"""Impact indexes for other engines: CIFF, PISA, OpenSearch, Milvus."""
