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
# And for methods, and for the bases of one's own networks and estimators.
NOT_OF_METHODS = {"EX01"}


def public_objects():
    seen = set()
    for module in MODULES:
        for name in import_module(module).__all__:
            found = getattr(import_module(module), name)
            if inspect.ismodule(found) or id(found) in seen:
                continue
            seen.add(id(found))
            yield f"{module}.{name}", not module.endswith(("training", "nn"))
            for method, member in methods(found):
                if id(member) not in seen:  # inherited from a class that was seen
                    seen.add(id(member))
                    yield f"{module}.{name}.{method}", False


def methods(kind):
    """The public methods of a class that are written in this library.

    A method without a docstring of its own inherits that of the method it overrides.
    """
    for name in dir(kind) if inspect.isclass(kind) else []:
        member = inspect.getattr_static(kind, name)
        member = getattr(member, "__func__", getattr(member, "fget", member))
        is_ours = str(getattr(member, "__module__", "")).startswith("sklofi")
        is_documented = member.__doc__ or not hasattr(super(kind, kind), name)
        if not name.startswith("_") and inspect.isfunction(member) and is_ours and is_documented:
            yield name, member


OBJECTS = dict(public_objects())


@pytest.mark.parametrize("name", OBJECTS)
def test_docstrings_are_valid(name):
    ignored = NOT_OURS if OBJECTS[name] else NOT_OURS | NOT_OF_METHODS
    errors = [error for error in validate(name)["errors"] if error[0] not in ignored]
    assert not errors
