"""
Where the contract differs from the assumptions of schemathesis.

No check is switched off. Each function below recognizes one kind of correct response that a check reports as a
failure, and says why. It is narrow: any other failure still fails the run.
"""

import json
import re
from pathlib import Path

import jsonschema_rs
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import JsonSchemaError, RejectedPositiveData, UnsupportedMethodResponse

TRUE = ("true", "t", "yes", "y", "1")
FALSE = ("false", "f", "no", "n", "0")
DOCUMENT = json.loads((Path(__file__).parents[2] / "gen/openapi/openapi.json").read_text())


# Parts of right refusals of what a schema allows.
RIGHT_REFUSALS = (
    # A body that names a category or pet which does not exist (docs/guarantees.md, Fields). The check expects a 404.
    "UNKNOWN_CATEGORY",
    "UNKNOWN_PET",
    # An id that no event has yet.
    "EVENT_NOT_REACHED",
    # Stock that the units of open orders, which may come back, would raise above the greatest number.
    "units are in open orders, which may be cancelled",
    # A made-up page token. It is opaque, so its schema only says that it is a string.
    "pageToken: is not a page token of this list: use the one that the page before gave",
    # The pattern of a name, which is in ASCII, has a part of the rule alone.
    "name: must be 1 to 200 characters after trimming",
    # To say this in every schema would only be noise.
    "must not contain U+0000",
)


def is_rightly_refused(failure, case, response):
    """Schemas can't say which ids, page tokens and orders there are."""
    return isinstance(failure, RejectedPositiveData) and any(text in response.text for text in RIGHT_REFUSALS)


def has_made_up_if_match(failure, case, response):
    """
    A made-up `If-Match` does not match what is stored, so it is a 412 (docs/guarantees.md), which the check does not
    expect. A schema can't say what is stored.
    """
    is_refused = isinstance(failure, RejectedPositiveData) and response.status_code == 412
    return is_refused and "If-Match" in response.request.headers


def is_malformed_tag_list(failure, case, response):
    """
    The coverage phase also sends "0" for a header whose schema has a pattern, and expects it to be valid. The pattern
    does not match it.
    """
    if not isinstance(failure, RejectedPositiveData):
        return False
    for name in ("If-Match", "If-None-Match"):
        pattern = DOCUMENT["components"]["parameters"][name]["schema"]["pattern"]
        value = response.request.headers.get(name)
        if value is not None and re.search(pattern, value) is None:
            return response.json()["message"].startswith(f"{name}: ")
    return False


def is_read_leniently(failure, case, response):
    """
    The description shows the one canonical form of a value, and generated clients get its type. The reader, protobuf's
    JSON mapping in Envoy's transcoder, accepts more: a number in a string (docs/guarantees.md), null for an absent
    field, a boolean as text, an enum value by its number, an object for a timestamp. So a body passes if it is valid
    once it is rewritten in the described form.
    """
    if not isinstance(failure, AcceptedNegativeData):
        return False
    components = case.meta.components.items()
    if any(component.mode.is_negative for location, component in components if location != ParameterLocation.BODY):
        return False
    schema = body_schema(case)
    validator = jsonschema_rs.validator_for({**schema, "components": DOCUMENT["components"]}, validate_formats=True)
    return validator.is_valid(normalized(case.body, resolved(schema)))


def is_query_without_content_type(failure, case, response):
    """
    Envoy refuses the method QUERY without a content type, as the standard of that method asks, before any filter sees
    it. With one it is a 405 like any other method.
    """
    is_query = isinstance(failure, UnsupportedMethodResponse) and response.request.method == "QUERY"
    return is_query and response.status_code == 400 and "Content-Type" not in response.request.headers


def is_event_against_schema_of_stream(failure, case, response):
    """OpenAPI 3.1 can only describe a stream of events as a whole, as text. The check holds each event against that."""
    return isinstance(failure, JsonSchemaError) and failure.title == "SSE event violates schema"


RIGHT = (
    is_rightly_refused,
    has_made_up_if_match,
    is_malformed_tag_list,
    is_read_leniently,
    is_query_without_content_type,
    is_event_against_schema_of_stream,
)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    return not any(is_right(failure, case, response) for is_right in RIGHT)


def body_schema(case):
    operation = DOCUMENT["paths"][case.operation.path][case.operation.method.lower()]
    return operation["requestBody"]["content"]["application/json"]["schema"]


def resolved(schema):
    """The schema itself where it is a reference to a component."""
    reference = schema.get("$ref", "")
    return DOCUMENT["components"]["schemas"][reference.rsplit("/", 1)[1]] if reference else schema


def normalized(body, schema):
    if body is None:
        return {}
    if not isinstance(body, dict):
        return body
    required = schema.get("required", [])
    properties = {name: resolved(property) for name, property in schema["properties"].items()}
    return {
        name: rewritten(value, properties.get(name, {}))
        for name, value in body.items()
        if value is not None or name in required
    }


def rewritten(value, schema):
    if "enum" in schema and type(value) is int and 1 <= value <= len(schema["enum"]):
        return schema["enum"][value - 1]
    if schema.get("format") == "date-time" and isinstance(value, dict):
        return "1970-01-01T00:00:00Z"
    if schema.get("type") == "integer" and isinstance(value, str) and re.fullmatch(r"[+-]?\d+", value):
        return int(value)
    if schema.get("type") == "boolean" and isinstance(value, str):
        return {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}.get(value.lower(), value)
    return value
