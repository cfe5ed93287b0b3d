"""What the daemon says, and what is said to it."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from typing import Any, Dict, get_args

import pytest
from conftest import PACKAGE, ROOT
from sinew import api, errors
from sinew._codec import Lines
from sinew._core import Address, Bytes, Core, Lost, Problem, Reply, Telemetry, own_name, understood, written


def test_the_types_are_those_of_the_schema() -> None:
    script = PACKAGE / "scripts" / "make_types.py"
    checked = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_every_command_of_the_page_has_a_type_with_its_members() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- examples -->\n```json\n(.*?)```", page, re.S)
    assert block is not None
    examples = [json.loads(line) for line in block[1].splitlines()]
    assert len(examples) > 10
    for example in examples:
        name = example["type"] + "".join(part.capitalize() for part in example.get("op", "").split("_")) + "Command"
        members = getattr(api, name).__annotations__
        assert set(example) <= set(members), name


def test_every_code_and_remedy_has_its_class_and_words() -> None:
    assert set(errors.BY_CODE) == set(get_args(api.Code)) == set(api.CODE_MEANINGS)
    assert set(errors.REMEDIES) == set(get_args(api.Remedy))
    for code, kind in errors.BY_CODE.items():
        error = errors.Refused.of({"code": code, "message": "no", "remedy": "confirm"})
        assert type(error) is kind and error.code == code
        assert str(error) == f"no ({code}); pass confirm=True"


def test_a_code_of_a_later_daemon_is_a_refusal_all_the_same() -> None:
    error = errors.Refused.of({"code": "asleep", "message": "no", "remedy": "wake"})
    assert type(error) is errors.Refused and (error.code, error.remedy, str(error)) == ("asleep", "wake", "no (asleep)")
    assert str(errors.Refused.of({"code": 7})) == "refused (refused)"


def test_requests_are_numbered_and_replies_known_by_it() -> None:
    core = Core(Lines())
    first = core.request({"type": "Ping"})
    second = core.request({"type": "Stop", "robot": None})
    assert (first.data, second.data) == (b'{"type":"Ping","req":1}\n', b'{"type":"Stop","req":2}\n')
    (reply,) = core.receive(b'{"type":"Reply","req":2,"ok":true,"data":{"a":1}}\n')
    assert reply == Reply(2, {"a": 1}, None)
    (refused,) = core.receive(b'{"type":"Reply","req":1,"ok":false,"error":{"code":"busy","message":"no"}}\n')
    assert isinstance(refused, Reply) and isinstance(refused.error, errors.Busy)


def test_messages_are_told_apart_and_later_kinds_left_alone() -> None:
    event = {"type": "Event", "topic": "state", "robot": "r", "data": 1}
    assert understood(json.dumps(event)) == Telemetry({"topic": "state", "robot": "r", "data": 1})
    assert understood('{"type":"Lost","count":3}') == Lost(3)
    problem = understood('{"type":"Error","error":{"code":"too_large","message":"no"}}')
    assert isinstance(problem, Problem) and isinstance(problem.error, errors.TooLarge)
    assert understood('{"type":"Weather"}') is None
    assert understood('{"type":"Reply","req":"another","ok":true}') is None
    assert Bytes(b"") != Bytes(b"x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "7",
        "{}",
        '{"type":"Reply","req":1}',
        '{"type":"Reply","req":1,"ok":false}',
        '{"type":"Reply","req":1,"ok":false,"error":7}',
        '{"type":"Event","topic":1,"robot":"r","data":1}',
        '{"type":"Event","topic":"state"}',
        '{"type":"Lost","count":-1}',
        '{"type":"Lost","count":"many"}',
        '{"type":"Error"}',
        '{"type":"Lost","count":NaN}',
        "[" * 100_000,
        '{"type":"Lost","count":' + "9" * 5000 + "x}",
    ],
)
def test_what_no_daemon_says_is_a_protocol_error(text: str) -> None:
    with pytest.raises(errors.ProtocolError):
        understood(text)


def test_rubbish_in_place_of_members_is_a_protocol_error_or_a_message() -> None:
    chance = random.Random(2)
    values: Any = [None, True, 7, -1, 1.5, "x", [], {}, {"code": []}]
    for _ in range(5000):
        names = ["type", "req", "ok", "data", "error", "topic", "robot", "count"]
        message: Dict[str, Any] = {name: chance.choice(values) for name in names if chance.random() < 0.7}
        message["type"] = chance.choice(["Reply", "Event", "Lost", "Error", 7])
        try:
            understood(json.dumps(message))
        except errors.ProtocolError:
            pass


def test_numbers_that_are_none_are_not_sent() -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="cannot be sent"):
            written({"type": "X", "speed": number})
    with pytest.raises(ValueError, match="cannot be sent"):
        written({"type": "X", "it": object()})
    assert "\n" not in written({"type": "X", "text": "a\nb"})


@pytest.mark.parametrize(
    "text, address",
    [
        ("robot", ("robot", 5556, False)),
        ("127.0.0.1:7", ("127.0.0.1", 7, False)),
        ("[::1]:7", ("::1", 7, False)),
        ("[::1]", ("::1", 5556, False)),
        ("ws://robot", ("robot", 8787, True)),
        ("ws://robot:80/ws", ("robot", 80, True)),
        ("ws://[::1]:80/", ("::1", 80, True)),
    ],
)
def test_addresses_are_read(text: str, address: Any) -> None:
    assert Address.parse(text) == address
    assert Address.parse(str(Address.parse(text))) == address


@pytest.mark.parametrize("text", ["", ":7", "h:", "h:0", "h:65536", "h:x", "http://h:7", "h:²", "ws://", "a/b"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="an address is"):
        Address.parse(text)


def test_a_client_has_a_name_of_at_most_64_characters() -> None:
    assert 0 < len(own_name()) <= 64
