"""A resumable job over the shards of a corpus."""
