"""Writes src/sinew/api.py, the types of the network interface, from docs/api.schema.json.

With --check it writes nothing, and fails if the file is not what it would write.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, Dict, List, Optional, cast

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parents[2] / "docs" / "api.schema.json"
TARGET = HERE.parent / "src" / "sinew" / "api.py"

HEAD = '''\
"""The network interface as types. Made of docs/api.schema.json by scripts/make_types.py."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

'''

Schema = Dict[str, Any]
# Members of every command; the page about the interface explains them once.
COMMON = ("confirm", "req", "robot")


class Writer:
    """Definitions in the order in which they can stand in a file."""

    def __init__(self, definitions: Dict[str, Schema]) -> None:
        self.definitions = definitions
        self.written: Dict[str, Schema] = {}
        self.text: List[str] = []

    def all(self) -> str:
        for name, schema in sorted(self.definitions.items()):
            self.define(name, schema)
        return HEAD + "\n\n".join(self.text)

    def define(self, name: str, schema: Schema) -> None:
        if name in self.written:
            return
        self.written[name] = schema
        if name == "DaemonMessage":
            self.messages(name, schema)
        elif "properties" in schema:
            self.object(name, schema)
        elif values := constants(schema):
            self.words(name, schema, values)
        elif "oneOf" in schema:
            self.union(name, schema)
        else:
            raise ValueError(f"{name}: no way to write {schema}")

    def object(self, name: str, schema: Schema) -> None:
        """An object: what must be in it, and what may be."""
        required = set(schema.get("required", []))
        members: Dict[bool, Dict[str, str]] = {True: {}, False: {}}
        about: List[str] = []
        is_command = "const" in schema["properties"].get("type", {})
        for member, value in schema["properties"].items():
            members[member in required][member] = self.type(name, member, value)
            if (text := value.get("description")) and not (is_command and member in COMMON):
                about.append(f"`{member}`: {one_line(text)}")
        description = one_line(schema.get("description", name))
        if not members[False]:
            self.typed_dict(name, members[True], "", True, description, about)
        elif not members[True]:
            self.typed_dict(name, members[False], "", False, description, about)
        else:
            base = f"_{name}Required"
            self.typed_dict(base, members[True], "", True, f"What is in every `{name}`.", [])
            self.typed_dict(name, members[False], base, False, description, about)

    def typed_dict(
        self, name: str, members: Dict[str, str], base: str, total: bool, description: str, about: List[str]
    ) -> None:
        # A member that is a keyword of Python can stand only in the other notation.
        if any(keyword.iskeyword(member) for member in members):
            if base:
                rows = "".join(f'        "{member}": {kind},\n' for member, kind in members.items())
                self.text.append(f'_{name}Optional = TypedDict(\n    "_{name}Optional",\n    {{\n{rows}    }},\n    total=False,\n)\n')
                self.text.append(f'class {name}({base}, _{name}Optional):\n{docstring(description, about)}')
            else:
                rows = "".join(f'        "{member}": {kind},\n' for member, kind in members.items())
                self.text.append(f'_{name} = TypedDict(\n    "_{name}",\n    {{\n{rows}    }},\n    total={total},\n)\n')
                self.text.append(f'class {name}(_{name}):\n{docstring(description, about)}')
            return
        parents = base or "TypedDict"
        head = f"class {name}({parents}{'' if total else ', total=False'}):\n"
        rows = "".join(f"    {member}: {kind}\n" for member, kind in members.items())
        self.text.append(f"{head}{docstring(description, about)}\n{rows}")

    def words(self, name: str, schema: Schema, values: List[str]) -> None:
        self.text.append(f"# {one_line(schema.get('description', name))}\n{name} = {literal(values)}\n")
        meanings = {each["const"]: each.get("description", "") for each in schema.get("oneOf", [])}
        if meanings:
            rows = "".join(f"    {json.dumps(value)}: {json.dumps(one_line(text))},\n" for value, text in meanings.items())
            constant = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() + "_MEANINGS"
            self.text.append(f"{constant}: Dict[{name}, str] = {{\n{rows}}}\n")

    def union(self, name: str, schema: Schema) -> None:
        names: List[str] = []
        for each in schema["oneOf"]:
            if "$ref" in each:
                names.append(self.reference(each["$ref"]))
            else:
                names.append(self.variant(name, each))
        about = f"# {one_line(schema['description'])}\n" if "description" in schema else ""
        self.text.append(f"{about}{name} = Union[\n" + "".join(f"    {each},\n" for each in names) + "]\n")

    def variant(self, name: str, schema: Schema) -> str:
        """One of an object's forms, named by the member that tells them apart."""
        tags = [
            value["const"] for member, value in schema["properties"].items() if "const" in value and member != "type"
        ]
        full = name.replace("Command", "") + camel(tags[0]) + ("Command" if "Command" in name else "")
        self.define(full, schema)
        return full

    def messages(self, name: str, schema: Schema) -> None:
        """Messages of the daemon: what they hold, and the member that says which one it is."""
        names: List[str] = []
        for each in schema["oneOf"]:
            held = self.reference(each["$ref"])
            tag = each["properties"]["type"]["const"]
            full = f"Daemon{camel(tag)}"
            text = docstring(one_line(each["description"]), [])
            self.text.append(f"class {full}({held}):\n{text}\n    type: {literal([tag])}\n")
            names.append(full)
        self.text.append(f"# {one_line(schema['description'])}\n{name} = Union[{', '.join(names)}]\n")

    def reference(self, reference: str) -> str:
        name = reference.rsplit("/", 1)[1]
        self.define(name, self.definitions[name])
        return name

    def type(self, owner: str, member: str, schema: Schema) -> str:
        if "$ref" in schema:
            return self.reference(schema["$ref"])
        if "const" in schema:
            return literal([schema["const"]])
        if "enum" in schema:
            return literal(schema["enum"])
        if "anyOf" in schema:
            return union([self.type(owner, member, each) for each in schema["anyOf"]])
        kinds = schema.get("type")
        if kinds is None:
            return "Any"
        if isinstance(kinds, list):
            each = cast(List[str], kinds)
            return union([self.type(owner, member, {**schema, "type": kind}) for kind in each])
        if kinds == "array":
            return f"List[{self.type(owner, member, schema.get('items', {}))}]"
        if kinds == "object":
            return self.nested(owner, member, schema)
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kinds]

    def nested(self, owner: str, member: str, schema: Schema) -> str:
        """An object that has no name of its own gets its member's."""
        if "properties" not in schema:
            others = schema.get("additionalProperties", True)
            if not isinstance(others, dict):
                return "Dict[str, Any]"
            return f"Dict[str, {self.type(owner, member, cast(Schema, others))}]"
        name = camel(member)
        if name in self.definitions or self.written.get(name, schema) != schema:
            name = owner + name
        self.define(name, schema)
        return name


def constants(schema: Schema) -> Optional[List[str]]:
    if "enum" in schema:
        return list(schema["enum"])
    each = schema.get("oneOf", [])
    return [one["const"] for one in each] if each and all("const" in one for one in each) else None


def literal(values: List[str]) -> str:
    return f"Literal[{', '.join(json.dumps(value) for value in values)}]"


def union(kinds: List[str]) -> str:
    if kinds[-1] == "None":
        return f"Optional[{union(kinds[:-1])}]"
    return kinds[0] if len(kinds) == 1 else f"Union[{', '.join(kinds)}]"


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def one_line(text: str) -> str:
    return " ".join(text.split())


def docstring(description: str, about: List[str]) -> str:
    text = description[:1].upper() + description[1:]
    if not text.endswith("."):
        text += "."
    lines = textwrap.wrap(text, 100)
    if about:
        lines.append("")
        for each in about:
            lines += textwrap.wrap(f"- {each}", 100, subsequent_indent="  ")
    if len(lines) == 1:
        return f'    """{lines[0]}"""\n'
    body = "\n".join(f"    {line}".rstrip() for line in lines)
    return f'    """{body.lstrip()}\n    """\n'


def main() -> int:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    text = Writer(schema["$defs"]).all()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print("clients/python/src/sinew/api.py is old: run python3 clients/python/scripts/make_types.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
