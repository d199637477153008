"""``pulumi.automation`` is read at its first use, which is in no program and no provider.

`pulumi/__init__.py` imports it, and it takes a quarter of the processor time of `import pulumi`.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

NAME = "pulumi.automation"


class _Later:
    """Finds that one package as other finders would, but leaves its code unread."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != NAME:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def begin() -> None:
    """From now on, in this process. To be called before the SDK is imported."""
    sys.meta_path.insert(0, _Later)
