"""YAML as tcc reads it: PyYAML with the scalars of YAML 1.2, where `1e-5` is a number and `on` is text."""

import re

import yaml


class Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}


for tag, pattern, first in [
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
]:
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), list(first))


def read(path):
    """The document of a file; ValueError if it is not a map."""
    with open(path) as file:
        document = yaml.load(file, Loader)
    if not isinstance(document, dict):
        raise ValueError(f"{path}: not a map")
    return document


def write(document):
    """Text that tcc reads back as `document`."""
    return yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=4096)
