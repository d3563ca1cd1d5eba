"""A server for one impact index, with a search page and a JSON API. See ``spade serve``.

A request passes through these modules::

    server (sockets, signals) -> guard (hosts, sizes, headers) -> app (routes, errors)
        -> workers (threads, queue, time) -> service -> answering, documents, expansion

`reloading` opens an index again when it changes.
"""
