"""A program of its own in the fleet, with the package eclipse-zenoh and nothing of Sinew's.

    client.py ENDPOINT robots
    client.py ENDPOINT stop HOST ROBOT
    client.py ENDPOINT stop --all
    client.py ENDPOINT watch KEY SECONDS
    client.py ENDPOINT drive HOST ROBOT LINEAR SECONDS [--turn ANGULAR] [--beats] [--hang]

Prints a JSON object a line. Exit 0 where everything was answered with `ok`, 1 otherwise.
"""

import argparse
import json
import os
import queue
import secrets
import sys
import threading
import time

import zenoh

# How often a velocity is sent; the dead-man is 300 ms by default.
PERIOD = 0.05
# How long anything may take to be answered.
PATIENCE = 5.0
# The lease that this session announces: a daemon that hears nothing of it for so long takes its tokens for gone.
LEASE_MS = 2000

STOP = {"type": "Stop"}
ENABLE = {"type": "ComponentControl", "id": "drive", "action": {"type": "Enable"}}


def velocity(linear, angular):
    config = {"linear": {"F32": linear}, "angular": {"F32": angular}}
    return {"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": config}}


def say(**members):
    print(json.dumps(members), flush=True)


def micros():
    """This client's clock: any zero, as long as it never goes back."""
    return time.monotonic_ns() // 1000


def read(data):
    """JSON; of anything else how much it is."""
    data = bytes(data)
    try:
        return json.loads(data)
    except ValueError:
        return {"bytes": len(data)}


def open_session(endpoint, mode):
    config = zenoh.Config()
    for key, value in {
        "mode": mode,
        "connect/endpoints": [endpoint],
        "listen/endpoints": [],
        # Only what was named is connected to.
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
        "transport/link/tx/lease": LEASE_MS,
    }.items():
        config.insert_json5(key, json.dumps(value))
    try:
        return zenoh.open(config)
    except zenoh.ZError as error:
        sys.exit(f"{endpoint}: {error}")


def place(key):
    """Host and robot of a key."""
    _, host, robot, *_ = str(key).split("/")
    return host, robot


def alive(session):
    """All robots that are served."""
    replies = session.liveliness().get("sinew/*/*", timeout=PATIENCE)
    return {place(reply.ok.key_expr) for reply in replies if reply.ok}


def robots(session, _):
    served = alive(session)
    states = {}
    every = zenoh.QueryTarget.ALL
    for reply in session.get("sinew/*/*/state", target=every, timeout=PATIENCE):
        if reply.ok:
            message = read(reply.ok.payload)
            states[place(reply.ok.key_expr)] = message.get("data", message)
    for host, robot in sorted(served):
        say(host=host, robot=robot, state=states.get((host, robot)))
    return served <= states.keys()


def stop(session, arguments):
    names = ["*", "*"] if arguments.all else arguments.place
    if len(names) != 2:
        sys.exit("stop: wanted HOST ROBOT or --all")
    attachment = {"token": arguments.token} if arguments.token else {}
    begin = time.monotonic()
    replies = session.get(
        f"sinew/{names[0]}/{names[1]}/command",
        target=zenoh.QueryTarget.ALL,
        # Each robot's answer counts.
        consolidation=zenoh.ConsolidationMode.NONE,
        timeout=PATIENCE,
        priority=zenoh.Priority.REAL_TIME,
        congestion_control=zenoh.CongestionControl.BLOCK,
        express=True,
        payload=json.dumps(STOP),
        attachment=json.dumps(attachment),
    )
    answered = {}
    for reply in replies:
        ms = round((time.monotonic() - begin) * 1000, 1)
        if reply.ok:
            key = place(reply.ok.key_expr)
            answered[key] = read(reply.ok.payload)
            say(host=key[0], robot=key[1], reply=answered[key], ms=ms)
        else:
            say(error=read(reply.err.payload), ms=ms)
    # Who is served and said nothing was not stopped for all that is known.
    wanted = alive(session) if arguments.all else {tuple(names)}
    missing = sorted(wanted - answered.keys())
    for host, robot in missing:
        say(host=host, robot=robot, reply=None)
    return not missing and all(reply.get("ok") for reply in answered.values())


def watch(session, arguments):
    begin = time.monotonic()

    def heard(sample):
        at = round(time.monotonic() - begin, 3)
        say(key=str(sample.key_expr), at=at, payload=read(sample.payload))

    subscriber = session.declare_subscriber(arguments.key, heard)
    say(watching=arguments.key)
    time.sleep(arguments.seconds)
    subscriber.undeclare()
    return True


class Driver:
    """A client that wants to control robots of a host."""

    def __init__(self, session, arguments):
        self.session = session
        self.host, self.robot, self.token = arguments.host, arguments.robot, arguments.token
        self.beats = arguments.beats
        # A name that went never comes back.
        self.client = f"python-{os.getpid()}-{secrets.token_hex(4)}"
        self.instance = self.find_instance()
        self.seq = 0
        # The newest answer: the daemon's clock, and when it came by ours.
        self.heard = None
        # Whether the daemon can tell how old our messages are, by its newest answer.
        self.in_step = False
        self.lock = threading.Lock()
        self.liveliness = session.liveliness().declare_token(f"sinew/{self.host}/@clients/{self.client}")

    def find_instance(self):
        key = f"sinew/{self.host}/@daemon/*"
        for reply in self.session.liveliness().get(key, timeout=PATIENCE):
            if reply.ok:
                return str(reply.ok.key_expr).rsplit("/", 1)[1]
        sys.exit(f"no daemon is called {self.host}")

    def attachment(self):
        with self.lock:
            self.seq += 1
            now = micros()
            attachment = {
                "client": self.client,
                "name": "client.py",
                "to": self.instance,
                "seq": self.seq,
                "sent_us": now,
                # Nothing waits here before it is sent.
                "since_us": 0,
            }
            if self.beats:
                attachment["beats"] = True
            if self.token:
                attachment["token"] = self.token
            if self.heard:
                daemon_us, at = self.heard
                attachment |= {"echo_us": daemon_us, "held_us": now - at}
        return attachment

    def send(self, command, answered, timeout):
        """Asks; `answered` gets the seq, the reply and the milliseconds, on another thread."""
        attachment = self.attachment()

        def came(reply):
            now = micros()
            if not reply.ok:
                answered(attachment["seq"], {"ok": False, "error": read(reply.err.payload)}, None)
                return
            about = read(reply.ok.attachment) if reply.ok.attachment else {}
            with self.lock:
                # The answer to an older message tells less.
                if "daemon_us" in about and (not self.heard or about["daemon_us"] >= self.heard[0]):
                    self.heard = (about["daemon_us"], now)
                    self.in_step = about.get("in_step", False)
            ms = round((now - attachment["sent_us"]) / 1000, 1)
            answered(attachment["seq"], read(reply.ok.payload), ms)

        self.session.get(
            f"sinew/{self.host}/{self.robot}/command",
            came,
            consolidation=zenoh.ConsolidationMode.NONE,
            timeout=timeout,
            # That of a stop: nothing overtakes what was sent before it.
            priority=zenoh.Priority.REAL_TIME,
            # A velocity that cannot be sent now is worth nothing later.
            congestion_control=zenoh.CongestionControl.DROP,
            express=True,
            payload=json.dumps(command),
            attachment=json.dumps(attachment),
        )

    def ask(self, command):
        """The same, with patience."""
        replies = queue.Queue()
        self.send(command, lambda *reply: replies.put(reply), PATIENCE)
        try:
            seq, reply, ms = replies.get(timeout=PATIENCE + 1)
        except queue.Empty:
            sys.exit(f"no answer to {command}")
        say(asked=command["type"], seq=seq, reply=reply, ms=ms)
        return reply.get("ok", False)

    def get_in_step(self):
        """Asks until the daemon knows our token and our clock: twice, as a rule."""
        begin = time.monotonic()
        while not self.in_step and time.monotonic() - begin < PATIENCE:
            if not self.ask({"type": "Ping"}):
                return False
        return self.in_step


def drive(session, arguments):
    driver = Driver(session, arguments)
    say(client=driver.client, instance=driver.instance)
    if not (driver.get_in_step() and driver.ask(ENABLE)):
        return False
    refused = []

    def answered(seq, reply, ms):
        if not reply.get("ok"):
            refused.append(seq)
        say(velocity=seq, reply=reply, ms=ms)

    begin = time.monotonic()
    beats = 0
    while (now := time.monotonic()) - begin < arguments.seconds:
        driver.send(velocity(arguments.linear, arguments.turn), answered, 1.0)
        beats += 1
        time.sleep(max(0.0, begin + beats * PERIOD - now))
    if arguments.hang:
        # The session's threads go on, and with them its lease and its token.
        say(hangs=True)
        threading.Event().wait()
    say(sent=beats, refused=len(refused))
    return not refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("endpoint", help="as tcp/127.0.0.1:7447")
    parser.add_argument("--mode", choices=["client", "peer"], default="client")
    parser.add_argument("--token", help="for daemons that ask for one")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("robots").set_defaults(run=robots)
    verb = verbs.add_parser("stop")
    verb.add_argument("place", nargs="*", metavar="HOST ROBOT")
    verb.add_argument("--all", action="store_true")
    verb.set_defaults(run=stop)
    verb = verbs.add_parser("watch")
    verb.add_argument("key")
    verb.add_argument("seconds", type=float)
    verb.set_defaults(run=watch)
    verb = verbs.add_parser("drive")
    verb.add_argument("host")
    verb.add_argument("robot")
    verb.add_argument("linear", type=float)
    verb.add_argument("seconds", type=float)
    verb.add_argument("--turn", type=float, default=0.0, metavar="ANGULAR")
    verb.add_argument("--beats", action="store_true", help="promise to be heard every second")
    verb.add_argument("--hang", action="store_true", help="send no more, but stay")
    verb.set_defaults(run=drive)
    arguments = parser.parse_args()
    with open_session(arguments.endpoint, arguments.mode) as session:
        done = arguments.run(session, arguments)
    sys.exit(0 if done else 1)


main()
