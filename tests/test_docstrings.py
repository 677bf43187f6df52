"""Docstrings of all public names follow the rules of numpydoc."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import validate

import sklofi

ROOMS = [path.parent.name for path in Path(sklofi.__file__).parent.glob("*/__init__.py")]
MODULES = ["sklofi", *(f"sklofi.{name}" for name in [*ROOMS, "cluster", "comparison", "testing"])]

# Rules that we do not follow, as scikit-learn does not.
NOT_OURS = {
    "ES01",  # an extended summary
    "GL01",  # the summary on the line after the quotes
    "GL02",  # the closing quotes: those of generated docstrings have no source
    "GL03",  # blank lines at the end
    "PR03",  # the order of parameters, which constructors take by name
    "RT02",  # results without a name
    "RT03",  # results of a single value that say it in their type
    "SA01",  # See Also everywhere
    "SA04",  # a text for each See Also
    "SS05",  # summaries that begin with a plural noun are taken for verbs
    "YD01",  # yields
}
# And for methods, and names that are documented with their class.
NOT_OF_METHODS = {"EX01"}


def public_objects():
    seen = set()
    for module in MODULES:
        for name in import_module(module).__all__:
            found = getattr(import_module(module), name)
            if inspect.ismodule(found) or id(found) in seen:
                continue
            seen.add(id(found))
            yield f"{module}.{name}", True
            if inspect.isclass(found):
                for method in dir(found):
                    if is_ours(found, method):
                        yield f"{module}.{name}.{method}", False


def is_ours(kind, name):
    """Whether a member of a class is public and written in this library."""
    member = inspect.getattr_static(kind, name)
    member = getattr(member, "__func__", getattr(member, "fget", member))
    is_public = not name.startswith("_") and callable(member)
    return is_public and str(getattr(member, "__module__", "")).startswith("sklofi")


OBJECTS = dict(public_objects())


@pytest.mark.parametrize("name", OBJECTS)
def test_docstrings_are_valid(name):
    ignored = NOT_OURS if OBJECTS[name] else NOT_OURS | NOT_OF_METHODS
    errors = [error for error in validate(name)["errors"] if error[0] not in ignored]
    assert not errors
