"""help(pygransoOptions) prints the options that most runs need."""
from .private.pages import page

__doc__ = page("Options of pygranso; help(pygransoOptionsAdvanced) has those that few runs need.", common=True)


def pygransoOptions():
    """Prints the page."""
    print(__doc__)


pygransoOptions.__doc__ = __doc__
