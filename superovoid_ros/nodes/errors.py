"""The one error of the nodes, and words for its messages."""

import traceback

LOG_PERIOD = 5.0
"""[s] A message that repeats (no joint states, no transform) is logged at most this often."""


class InputError(ValueError):
    """A request, message or parameter cannot be used; says which, what was found and what is expected."""


def listing(names: object, limit: int = 12) -> str:
    """Return names as a readable list for an error message, cut after `limit`."""
    names = sorted(map(str, names))
    shown = ", ".join(names[:limit])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > limit else shown or "none"


def reason_of(error: Exception) -> str:
    """Return words for an answer or a log.

    The rooms behind the nodes say what is wrong with their input by `ValueError`. Anything else is a mistake of this
    package: it is named as one and its traceback printed, and the node lives on.
    """
    if isinstance(error, ValueError):
        return str(error)
    traceback.print_exception(error)
    return f"internal error: {error!r}"
