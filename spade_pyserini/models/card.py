"""The card of a saved model, ``README.md``: origin, licence and settings, in the hub's format."""

from __future__ import annotations

import json
import re
from pathlib import Path

from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.paths import trained_model
from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.minilm import MINILM

README = "README.md"
HUB_NAMES = {MINILM: "sentence-transformers/all-MiniLM-L6-v2"}
UNKNOWN = "unknown"
# Settings that are not in the table: large, or described elsewhere on the card.
LEFT_OUT = ("backbone", "base", "base_fingerprint", "model_type", "trained")


def write_card(folder: Path, config: SpadeConfig, origin: str | None) -> None:
    """Write the card of the model that was saved in ``folder``.

    ``origin`` is the name or folder that the model was loaded from; the licence is read from there.
    """
    source = origin_folder(origin)
    licence = card_licence(source) if source else None
    values = {
        "licence": front_matter(licence),
        "base": base_model(config),
        "name": folder.resolve().name,
        "origin": _origin(origin, licence),
        "state": "trained" if config.trained else "UNTRAINED: its impacts carry no meaning",
        "length": config.max_length,
        "settings": _settings(config),
    }
    with atomic_write(folder / README) as stream:
        stream.write(CARD.format(**values).encode())


def base_model(config: SpadeConfig) -> str:
    """Return the name of the transformer that a model was built on, or "unknown"."""
    name = config.base or (config.backbone or {}).get("_name_or_path") or UNKNOWN
    return HUB_NAMES.get(str(name), str(name))


def origin_folder(origin: str | None) -> Path | None:
    """Return the folder of the model ``origin``; None if it is neither shipped nor a local folder.

    Nothing is downloaded.
    """
    from spade_pyserini.models.wordpieces import PRETRAINED

    if origin is None:
        return None
    folders = (PRETRAINED / origin, Path(origin))
    return next((trained_model(folder) for folder in folders if folder.is_dir()), None)


def card_licence(folder: Path) -> str | None:
    """Return the licence that the card of a model states, such as ``other (research-only)``.

    Returns None if there is no card, or if the card states no licence.
    """
    try:
        text = (folder / README).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    front = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    lines = front[1] if front else ""
    entries = dict(re.findall(r"^(license(?:_name)?):\s*(\S.*?)\s*$", lines, re.MULTILINE))
    licence = entries.get("license")
    if licence in (None, UNKNOWN):
        return None
    return f"{licence} ({entries['license_name']})" if "license_name" in entries else licence


def front_matter(licence: str | None) -> str:
    """Return the lines about the licence at the top of a card."""
    name, _, rest = (licence or UNKNOWN).partition(" (")
    return f"license: {name}" + (f"\nlicense_name: {rest.removesuffix(')')}" if rest else "")


def _origin(origin: str | None, licence: str | None) -> str:
    if origin is None:
        return (
            "It was built with `SpadeModel.from_backbone`. Its training data is not recorded; the "
            "licences of the base model and of the training data apply."
        )
    terms = f"has the licence {licence}" if licence else "has an unknown licence"
    return (
        f"It was loaded from `{origin}` and saved again, with or without changes. `{origin}` "
        f"{terms}; see its card for the training data."
    )


def _settings(config: SpadeConfig) -> str:
    values = {name: value for name, value in vars(config).items() if name not in LEFT_OUT}
    rows = [f"| {name} | {json.dumps(value)} |" for name, value in values.items()]
    return "\n".join(["| setting | value |", "| --- | --- |", *rows])


CARD = """\
---
{licence}
base_model: {base}
library_name: spade_pyserini
pipeline_tag: feature-extraction
tags: [sparse-retrieval, sparse, learned-sparse, inference-free, SpaDE]
---

# {name}

A SpaDE model: two document encoders, term weighting and term expansion, for sparse retrieval
without a model at query time. The model is {state}. Its base model is {base}.

{origin}

The first {length} WordPieces of a document are read. Divide longer documents into passages with
`spade encode --segment`.

```
spade encode --corpus MY-CORPUS --model THIS-FOLDER
```

```python
from spade_pyserini import SpadeModel

model = SpadeModel.from_pretrained("THIS-FOLDER")
print(model.encode("The text of a document."))
```

## Settings

{settings}
"""
