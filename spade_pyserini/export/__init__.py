"""Export an impact index to other engines and formats: CIFF, PISA, OpenSearch, Milvus."""
