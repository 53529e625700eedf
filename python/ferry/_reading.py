"""Makes typed objects of the command's JSON."""

from __future__ import annotations

import base64
import dataclasses
import functools
import types
import typing
from typing import Any, TypeVar

from ._errors import UNREADABLE_REPORT, FerryError

T = TypeVar("T")


def read(kind: type[T], json: Any) -> T:
    """An object of a dataclass from a JSON object.

    A field `last_seen_milliseconds` has the key `lastSeenMilliseconds`. An absent key is `None` or an empty list, where the field
    allows one. Other keys are passed over, because a later version of the command may add some.
    """
    try:
        return typing.cast(T, _value(kind, json))
    except (TypeError, ValueError, KeyError) as error:
        raise FerryError(
            UNREADABLE_REPORT, f"The command's report is not as expected ({error}). Is the command of another version?", 0) from error


def key(name: str) -> str:
    """`lastSeenMilliseconds` of `last_seen_milliseconds`."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, str, Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((field.name, key(field.name), hints[field.name]) for field in dataclasses.fields(kind))


def _value(kind: Any, json: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return json
    if origin in (types.UnionType, typing.Union):
        if bytes in arguments:
            return _field_value(json)
        if json is None:
            return None
        return _value(next(part for part in arguments if part is not type(None)), json)
    if origin is list:
        return [_value(arguments[0], element) for element in json or []]
    if origin is dict:
        return {name: _value(arguments[1], element) for name, element in (json or {}).items()}
    if dataclasses.is_dataclass(kind):
        if not isinstance(json, dict):
            raise TypeError(f"no object for {getattr(kind, '__name__', kind)}")
        return kind(**{name: _value(hint, json.get(word)) for name, word, hint in _fields(typing.cast(type, kind))})  # type: ignore[operator]
    if kind is float and isinstance(json, int):
        return float(json)
    if not isinstance(json, kind):
        raise TypeError(f"{json!r} where {kind.__name__} was expected")
    return json


def _field_value(json: Any) -> Any:
    """A value of a row: a blob is `{"base64": …}`."""
    return base64.b64decode(json["base64"]) if isinstance(json, dict) else json
