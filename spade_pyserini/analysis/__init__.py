"""Analysis of runs, indexes and models: tables, figures and reports."""
