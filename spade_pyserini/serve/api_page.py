"""The page ``/docs``: the OpenAPI description of the server as readable HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from spade_pyserini.serve.page import Page, read_asset, self_contained

TRY = {
    "/search": "/search?q=delete+a+folder&k=3",
    "/stats": "/stats",
    "/healthz": "/healthz",
}


def api_page(schema: dict[str, Any]) -> Page:
    """Return a page with a section for each path of an OpenAPI schema."""
    sections = "\n".join(
        _operation(path, method.upper(), operation)
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
    )
    records = "\n".join(
        _record(name, record)
        for name, record in sorted(schema.get("components", {}).get("schemas", {}).items())
        if "ValidationError" not in name
    )
    template = read_asset("docs.html").replace("{{version}}", escape(schema["info"]["version"]))
    template = template.replace("{{operations}}", sections).replace("{{records}}", records)
    return self_contained(template, read_asset("style.css"))


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = "".join(_parameter(parameter) for parameter in operation.get("parameters", []))
    table = f"<table>{rows}</table>" if rows else ""
    link = f'<p><a href="{TRY[path]}">Try it</a></p>' if path in TRY else ""
    answer = " or ".join(_links(_answer_schema(operation)))
    returns = f"<p>Returns {answer}.</p>" if answer else ""
    body = "".join(_links(_body_schema(operation)))
    takes = f"<p>The body is JSON: {body}.</p>" if body else ""
    text = _text(operation.get("description", ""))
    return (
        f"<section><h2><code>{method} {escape(path)}</code></h2>{text}{table}{takes}{returns}"
        f"{link}</section>"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    default = "required" if parameter.get("required") else json.dumps(schema.get("default"))
    kind = schema.get("type", "")
    return (
        f"<tr><th><code>{escape(parameter['name'])}</code></th><td>{escape(kind)}</td>"
        f"<td>{escape(default)}</td></tr>"
    )


def _record(name: str, record: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><th><code>{escape(field)}</code></th>"
        f"<td>{' or '.join(_links(schema)) or escape(_kind(schema))}</td></tr>"
        for field, schema in record.get("properties", {}).items()
    )
    text = _text(record.get("description", ""))
    return (
        f'<section id="{escape(name)}"><h3>{escape(name)}</h3>{text}<table>{rows}</table></section>'
    )


def _kind(schema: dict[str, Any]) -> str:
    """Return the type of a field as text, such as ``integer or null``."""
    if "anyOf" in schema:
        return " or ".join(_kind(choice) for choice in schema["anyOf"])
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {_kind(schema['items'])}"
    return str(schema.get("type", "object"))


def _links(schema: dict[str, Any]) -> Iterator[str]:
    """Yield links to the record types that a schema refers to."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        yield f'<a href="#{name}">{name}</a>'
    for part in (*schema.get("anyOf", []), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield from _links(part)


def _answer_schema(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation["responses"]["200"].get("content", {})
    schema: dict[str, Any] = content.get("application/json", {}).get("schema", {})
    return schema


def _body_schema(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    schema: dict[str, Any] = content.get("application/json", {}).get("schema", {})
    return schema


def _text(text: str) -> str:
    """Return a docstring as HTML paragraphs; text between double backticks becomes code."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        parts = escape(paragraph).split("``")
        code = (f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))
        paragraphs.append(f"<p>{''.join(code)}</p>")
    return "".join(paragraphs) if text else ""
