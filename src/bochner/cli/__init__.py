"""The command line: each command prints a table that a person can read, or JSON; bad input ends with one sentence."""

from __future__ import annotations

import sys

try:
    from .app import app, notes
except ImportError as error:
    if error.name not in ("cyclopts", "rich"):
        raise
    sys.exit('the command line needs two small packages: pip install "bochner[cli]"')

from ..validation import command_line
from . import benchmarks, contesting, datasets, demonstration, describing, learning, predicting, reproducing  # noqa: F401

EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 130


def main(arguments: list[str] | None = None) -> None:
    """The entry point."""
    if not (sys.argv[1:] if arguments is None else arguments):
        app.help_print()
        sys.exit(EXIT_BAD_INPUT)
    try:
        with command_line(), notes():
            app(arguments)
    except KeyboardInterrupt:
        print("\nbochner: interrupted; no half-written file is left.", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader of a pipe had enough
        sys.stderr.close()
        sys.exit(EXIT_BAD_INPUT)
    except (ValueError, OSError, ImportError, OverflowError, MemoryError) as error:
        print(f"bochner: {sentence(error)}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)


def sentence(error: BaseException) -> str:
    """What went wrong, on one line."""
    text = str(error.strerror if isinstance(error, OSError) and error.strerror else error)
    if isinstance(error, OSError) and error.filename and str(error.filename) not in text:
        text = f"{error.filename}: {text}"
    return " ".join(text.split()) or type(error).__name__
