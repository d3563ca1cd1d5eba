"""The paper's Tables 1 and 2 at a small scale: all systems are trained in the same way.

::

    spec.py      the rows, the collections and the results in the paper
    recipes.py   the recipe of each row: the system's settings with the table's data and budget
    work.py      train, encode, index and search a row; finished work is not repeated
    latency.py   milliseconds per query, in Lucene and in PISA
    report.py    the tables, with significance marks against SpaDE
    figure.py    effectiveness against latency, as in the paper's Figure 1
"""
