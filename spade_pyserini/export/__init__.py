"""Export an impact index to other engines: PISA, OpenSearch, Milvus, Qdrant, Seismic, BMP, CIFF."""
