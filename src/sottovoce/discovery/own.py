"""Methods that other people wrote: from a file named on the command line, or from the entry point of a package.

Either way, their code is run, so this is only for people on their own machines; the server never does it.
"""

import importlib.util
import inspect
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.registry import METHODS, register
from sottovoce.errors import BadParameter

ENTRY_POINTS = "sottovoce.methods"


def register_file(text: str) -> str:
    """Register a method given as FILE.py:CLASS; returns its name."""
    file, _, wanted = text.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise BadParameter(
            f"method {text!r}: there is no file {file!r}; a method of your own is given as FILE.py:CLASS"
        )
    module = _module(path, text)
    method = getattr(module, wanted, None)
    if not (inspect.isclass(method) and issubclass(method, TruthDiscovery)):
        own = [
            name
            for name, entry in vars(module).items()
            if inspect.isclass(entry) and issubclass(entry, TruthDiscovery) and entry.__module__ == module.__name__
        ]
        raise BadParameter(
            f"method {text!r}: {wanted!r} must be a class that derives from sottovoce.TruthDiscovery; "
            f"{file} has {', '.join(own) or 'none'}"
        )
    register(method)
    return method.name


def register_installed() -> None:
    """Register the methods that installed packages offer; a method that does not load is an error, and not skipped."""
    for point in entry_points(group=ENTRY_POINTS):
        try:
            method = point.load()
        except Exception as error:
            raise BadParameter(
                f"entry point {point.name!r} of {ENTRY_POINTS}: {point.value} does not load ({error}); "
                "repair or uninstall the package"
            ) from error
        if method not in METHODS.values():
            register(method)


def _module(path: Path, text: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"own_method_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadParameter(f"method {text!r}: {path} is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadParameter(
            f"method {text!r}: {path} does not run ({type(error).__name__}: {error}); correct it, and try it with "
            "python first"
        ) from error
    return module
