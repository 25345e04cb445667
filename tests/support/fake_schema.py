"""What the API accepts as `output_config`: the JSON schemas of structured output."""

from collections.abc import Iterator
from typing import Any

from tests.support.fake_types import Json

_EFFORTS = {None, "low", "medium", "high", "xhigh", "max"}
_TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
_KEYWORDS = {
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "default",
    "definitions",
    "description",
    "enum",
    "format",
    "items",
    "properties",
    "required",
    "title",
    "type",
}


class RejectedError(Exception):
    """The request is one that the API answers with 400."""


def only(value: Json, allowed: set[str], path: str) -> None:
    """Reject any key that is not among `allowed`."""
    prefix = f"{path}." if path else ""
    for key in value:
        if key not in allowed:
            raise RejectedError(f"{prefix}{key}: Extra inputs are not permitted")


def mapping(value: object, path: str) -> Json:
    """Return `value` if it is an object, else reject it."""
    if not isinstance(value, dict):
        raise RejectedError(f"{path}: Input should be an object")
    return value


def check_output_config(config: object) -> None:
    """Reject a malformed `output_config`."""
    config = mapping(config, "output_config")
    only(config, {"effort", "format"}, "output_config")
    if not _is_one_of(config.get("effort"), _EFFORTS):
        raise RejectedError("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    if config.get("format") is not None:
        _check_format(mapping(config["format"], "output_config.format"))


def _check_format(value: Json) -> None:
    path = "output_config.format"
    only(value, {"type", "schema"}, path)
    if value.get("type") != "json_schema":
        raise RejectedError(f"{path}.type: Input should be 'json_schema'")
    if "schema" not in value:
        raise RejectedError(f"{path}.schema: Field required")
    schema = mapping(value["schema"], f"{path}.schema")
    if not schema:
        raise RejectedError(f"{path}.schema: must not be empty")
    check_schema(schema, f"{path}.schema")


def check_schema(schema: object, path: str) -> None:
    """Reject what structured output does not support, anywhere in `schema`."""
    schema = mapping(schema, path)
    for keyword in schema:
        if keyword not in _KEYWORDS:
            raise RejectedError(f"{path}: For '{_type_name(schema)}' type, property '{keyword}' is not supported")
    _check_type(schema, path)
    if _is_object(schema):
        _check_object(schema, path)
    for child, where in _children(schema, path):
        check_schema(child, where)


def _check_type(schema: Json, path: str) -> None:
    kinds = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type")]
    if "type" in schema and not (kinds and all(_is_one_of(kind, _TYPES) for kind in kinds)):
        raise RejectedError(f"{path}.type: unknown type {schema['type']!r}")
    if not schema.keys() & {"type", "anyOf", "allOf", "enum", "const", "$ref"}:
        raise RejectedError(f"{path}: schema must have a type")
    if "enum" in schema and not (isinstance(schema["enum"], list) and schema["enum"]):
        raise RejectedError(f"{path}.enum: must be a list that is not empty")
    if "format" in schema and not _is_one_of(schema["format"], _FORMATS):
        raise RejectedError(f"{path}.format: {schema['format']!r} is not supported")


def _is_one_of(value: object, allowed: set[Any]) -> bool:
    return isinstance(value, str | None) and value in allowed


def _type_name(schema: Json) -> str:
    return str(schema.get("type", "any"))


def _is_object(schema: Json) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema


def _check_object(schema: Json, path: str) -> None:
    if schema.get("additionalProperties") is not False:
        raise RejectedError(f"{path}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    properties = mapping(schema.get("properties", {}), f"{path}.properties")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) and name in properties for name in required):
        raise RejectedError(f"{path}.required: must be a list of names of properties")


def _children(schema: Json, path: str) -> Iterator[tuple[object, str]]:
    for keyword in ("properties", "$defs", "definitions"):
        for name, child in mapping(schema.get(keyword, {}), f"{path}.{keyword}").items():
            yield child, f"{path}.{keyword}.{name}"
    for keyword in ("anyOf", "allOf"):
        variants = schema.get(keyword, [])
        if not isinstance(variants, list) or (keyword in schema and not variants):
            raise RejectedError(f"{path}.{keyword}: must be a list that is not empty")
        for index, child in enumerate(variants):
            yield child, f"{path}.{keyword}.{index}"
    if "items" in schema:
        yield schema["items"], f"{path}.items"
