"""All that a daemon of the fleet should not be asked, by the package eclipse-zenoh.

    rubbish.py ENDPOINT HOST ROBOT

Prints a JSON object a line: what was tried, and the codes of the answers.
"""

import json
import sys

import zenoh

PATIENCE = 3.0
MANY = 2**64 - 1


def open_session(endpoint):
    config = zenoh.Config()
    config.insert_json5("mode", '"client"')
    config.insert_json5("connect/endpoints", json.dumps([endpoint]))
    config.insert_json5("scouting/multicast/enabled", "false")
    return zenoh.open(config)


def main():
    endpoint, host, robot = sys.argv[1:]
    turn = {"linear": {"F32": 0.0}, "angular": {"F32": 0.5}}
    velocity = {"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": turn}}
    light = {"type": "ComponentControl", "id": "led", "action": {"type": "Configure", "config": {"state": {"U8": 9}}}}
    own = f"sinew/{host}/{robot}/command"
    with open_session(endpoint) as session:

        def code(reply):
            if not reply.ok:
                return "error"
            said = json.loads(bytes(reply.ok.payload))
            return "ok" if said["ok"] else said["error"]["code"]

        def ask(tried, payload, attachment=None, key=own):
            given = payload if isinstance(payload, bytes | None) else json.dumps(payload)
            beside = attachment if isinstance(attachment, bytes | None) else json.dumps(attachment)
            replies = session.get(key, payload=given, attachment=beside, timeout=PATIENCE)
            print(json.dumps({"tried": tried, "codes": [code(reply) for reply in replies]}), flush=True)

        ask("no JSON", b"\xff\xfe\x00 rubbish")
        ask("no payload", None)
        ask("deep JSON", b"[" * 100_000)
        ask("two MiB", b'{"type":"Stop","note":"' + b"x" * (2 << 20) + b'"}')
        ask("unknown command", {"type": "Explode"})
        ask("rubbish beside a light", light, b"\x00\xff{{{")
        ask("rubbish beside a stop", {"type": "Stop"}, b"\x00\xff{{{")
        ask("strange members beside a stop", {"type": "Stop"}, {"seq": -1, "client": 7, "more": [[]]})
        ask("velocity of nobody", velocity)
        ask("velocity for all", velocity, {"client": "x", "seq": 1}, "sinew/*/*/command")
        ask("unknown robot", light, None, f"sinew/{host}/nobody/command")
        ask("unknown key", light, None, f"sinew/{host}/{robot}/explode")
        ask("subscribe", {"type": "Subscribe", "topics": ["state"]})
        # Tokens of strange names, all of which are there at once.
        strange = ["ä ö", "x/y/z", "x" * 5000, "..", "%00", "\u202e", "a b"]
        tokens = [session.liveliness().declare_token(f"sinew/{host}/@clients/{name}") for name in strange]
        tokens += [session.liveliness().declare_token(f"sinew/{host}/ä ö"), session.liveliness().declare_token("sinew/a")]
        for name in strange:
            session.get(own, payload=json.dumps(velocity), attachment=json.dumps({"client": name, "seq": MANY}))
        ask("strange client", velocity, {"client": "ä ö", "name": "\u202e\u0000" * 1000, "seq": 1})
        # One that is there, with numbers that cannot be.
        tokens.append(session.liveliness().declare_token(f"sinew/{host}/@clients/numbers"))
        daemon = [reply.ok for reply in session.liveliness().get(f"sinew/{host}/@daemon/*")][0]
        to = str(daemon.key_expr).rsplit("/", 1)[1]
        numbers = {"client": "numbers", "to": to, "sent_us": MANY, "echo_us": MANY, "held_us": MANY, "since_us": MANY}
        for seq in [0, MANY, 0, 1]:
            ask("numbers too large", velocity, numbers | {"seq": seq})
        # What a hub hears.
        for topic in ["state", "events", "sensors/gd32_status", "map", "cloud"]:
            for payload in [b"", b"\xff" * 1000, b"{}", b'{"data":{}}', b"[" * 10_000, b"x" * (2 << 20)]:
                session.put(f"sinew/{host}/{robot}/{topic}", payload)
        ask("stop", {"type": "Stop"})


main()
