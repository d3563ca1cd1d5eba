"""Files: reading and writing of every format that the steps exchange."""
