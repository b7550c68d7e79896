"""One file per kind of file: each gives its rows in chunks."""
