"""A resumable job that processes a corpus in shards of a fixed number of documents.

The commands ``encode``, ``dense`` and ``expand`` run such jobs. Each provides a task, which turns
the documents of a shard into a file, and the layout of its files; see
`spade_pyserini.sharding.protocols`. The modules of this package do what all jobs have in common:

resume.py       which shards of an earlier run are kept, and when an existing output is an error
reader.py       the documents of one shard
worker.py       read, compute and write shards; these three steps run at the same time
processes.py    several workers on this machine
cluster.py      workers on a Ray cluster
part.py         every n-th shard, for runs on several machines
job.py          collect the results of all workers in the manifest

A shard is written under a temporary name and renamed when it is complete. Then it is added to the
manifest, which is saved after each shard, or less often if saving takes long. If the
process is killed, the same call continues. Only the shards in progress, and those finished since
the manifest was last saved, are computed again. The bytes of a shard depend only on its documents
and on the settings, not on the worker or on the shard that the run started with.
"""
