"""Read and write the file formats that commands exchange: vectors, topics, qrels, runs, ..."""
