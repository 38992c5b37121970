from collections.abc import Callable
from typing import Any

quiet: bool

def say_once(function: Callable[..., Any], text: str) -> None: ...
