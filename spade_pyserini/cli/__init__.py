"""The command line: ``spade COMMAND``, one thin file for each command.

A command's file has two functions: ``parser()`` builds its ``argparse.ArgumentParser``, and
``run(options)`` calls the library and prints the result. `registry` lists the commands, `main`
runs them, `arguments` holds the options that several commands share, and `flags` replaces the
parameter names in the library's error messages by the options of a command. Files import heavy
libraries inside ``run`` only, so that ``--help`` answers at once.
"""
