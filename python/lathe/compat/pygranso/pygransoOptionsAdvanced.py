"""help(pygransoOptionsAdvanced) prints the options that few runs need."""
from .private.pages import page

__doc__ = page("Options of pygranso that few runs need; help(pygransoOptions) has the others.", common=False)


def pygransoOptionsAdvanced():
    """Prints the page."""
    print(__doc__)


pygransoOptionsAdvanced.__doc__ = __doc__
