"""A resumable job that processes a corpus in shards of a fixed number of documents.

The commands ``encode``, ``dense`` and ``expand`` run such jobs. Each command provides a task and a
description of its files. The task turns the documents of a shard into a file. See
`spade_pyserini.sharding.protocols`. The modules of this package do what all jobs have in common:

resume.py       decides which shards of an earlier run are kept, and when an output is an error
reader.py       reads the documents of one shard
worker.py       reads, computes and writes shards; these three steps overlap
processes.py    runs several workers on this machine
cluster.py      runs workers on a Ray cluster
part.py         selects every n-th shard, for runs on several machines
job.py          collects the results of all workers in the manifest

A shard is written under a temporary name and renamed when it is complete. Then it is added to the
manifest, which is saved after each shard, or less often if saving takes long. If the process is
killed, the same call continues the job. Only two kinds of shards are computed again: those in
progress, and those finished since the manifest was last saved. The bytes of a shard depend only on
its documents and on the settings, not on the worker or on the shard that the run started with.
"""
