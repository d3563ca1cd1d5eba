"""A server for one impact index: JSON and a page to search and look at. See ``spade serve``.

A request passes through these modules::

    server (sockets, signals) -> guard (hosts, sizes, headers) -> app (routes, errors)
        -> workers (threads, queue, time) -> service -> answering, documents, expansion

`reloading` opens an index again when it changes.
"""
