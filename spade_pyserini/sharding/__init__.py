"""A resumable job that processes a corpus in shards of a fixed number of documents.

``encode``, ``dense`` and ``expand`` are three kinds of such work. Each provides a task (documents
to a file) and the layout of its files; see `spade_pyserini.sharding.protocols`. The job adds what
they have in common:

resume.py       which shards of an earlier run can stay, and when an output is refused
reader.py       the documents of one shard
worker.py       read, compute and write shards, overlapped
processes.py    several workers on this machine
cluster.py      workers on a Ray cluster
part.py         every n-th shard, for runs on several machines
job.py          collect the results of all workers in the manifest

A shard is written under a temporary name and renamed when it is complete. Then it is added to the
manifest, which is saved after each shard, or less often if saving takes long. After a kill, the
same call continues: it loses the shards that were in progress and those since the manifest was last
saved. The bytes of a shard depend on its documents and on the settings only, never on the worker or
on where the run started.
"""
