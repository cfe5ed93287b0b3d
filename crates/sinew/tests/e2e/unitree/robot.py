"""A G1 as its published protocol describes it, on aiortc: what Sinew's client has to get along with.

Shares nothing with Sinew. Prints what happens as JSON lines; ends with its standard input.
"""

import argparse
import asyncio
import base64
import datetime
import hashlib
import json
import os
import secrets
import struct
import sys
import threading

import aiortc
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc import rtcdtlstransport, rtcsctptransport
from Crypto.Cipher import AES, PKCS1_v1_5
from Crypto.PublicKey import RSA
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa

STATIC_KEY = bytes.fromhex("e85682bd16549b008e04a6682bb3ebe3")
PRESETS = [{"id": 99, "name": "release_arm"}, {"id": 27, "name": "shake_hand"},
           {"id": 1, "name": "turn_back_wave", "fsm": [500, 501]}]


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--new", help="HOST:PORT of con_notify")
    parser.add_argument("--old", help="HOST:PORT of /offer")
    parser.add_argument("--data2", type=int, default=2)
    parser.add_argument("--key", default="")
    parser.add_argument("--no-ack", action="store_true", help="no DCEP acknowledgement")
    parser.add_argument("--rsa", action="store_true", help="a certificate with an RSA key")
    parser.add_argument("--no-ems", action="store_true", help="no extended master secret")
    parser.add_argument("--cbc", action="store_true", help="only CBC ciphers")
    parser.add_argument("--busy", type=int, default=0, help="so many offers are rejected")
    parser.add_argument("--kvs", action="store_true", help="the answer as a real G1 shapes it")
    parser.add_argument("--passive", action="store_true", help="the client begins DTLS")
    parser.add_argument("--revalidate", type=float, default=0.0, help="a new challenge after so long")
    return parser.parse_args()


OPTIONS = arguments()


# What aiortc does not do by itself.

def without_acknowledgement():
    """The channel opens without a DCEP ACK, as with Amazon's KVS stack."""
    original = rtcsctptransport.RTCSctpTransport._data_channel_flush

    async def flush(self):
        queue = self._data_channel_queue
        for item in [item for item in queue if item[1] == 50 and item[2] == b"\x02"]:
            queue.remove(item)
        await original(self)

    rtcsctptransport.RTCSctpTransport._data_channel_flush = flush


def other_cryptography():
    original = rtcdtlstransport.RTCCertificate._create_ssl_context

    def context(self, *args, **kwargs):
        made = original(self, *args, **kwargs)
        ciphers = [b"ECDHE-ECDSA-AES128-SHA"] if OPTIONS.cbc else [b"ECDHE-ECDSA-AES128-GCM-SHA256"]
        # The ciphers' kind is that of the server's certificate, which is ours if we are passive.
        if OPTIONS.rsa and OPTIONS.passive:
            ciphers = [cipher.replace(b"ECDSA", b"RSA") for cipher in ciphers]
        made.set_cipher_list(b":".join(ciphers))
        if OPTIONS.no_ems:
            made.set_options(1)  # SSL_OP_NO_EXTENDED_MASTER_SECRET
        return made

    rtcdtlstransport.RTCCertificate._create_ssl_context = context


def rsa_certificate():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "robot")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
    made = made.not_valid_before(now - day).not_valid_after(now + day).sign(key, hashes.SHA256())
    return rtcdtlstransport.RTCCertificate(key=key, cert=made)


# Signalling.

class Signalling:
    def __init__(self, answer):
        self.answer = answer
        self.rsa = RSA.generate(2048)
        self.digits = "03691"

    async def serve(self, address, old):
        host, port = address.rsplit(":", 1)

        async def handle(reader, writer):
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = [line.split(":")[1] for line in head.split("\r\n")
                          if line.lower().startswith("content-length:")]
                body = await reader.readexactly(int(length[0]) if length else 0)
                method, path, _ = head.split(" ", 2)
                status, text = await self.reply(method, path, body, old)
            except asyncio.IncompleteReadError:
                writer.close()  # A probe: it connects and says nothing.
                return
            except Exception as error:  # A real one drops what it does not like.
                say("dropped", error=repr(error))
                writer.close()
                return
            head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n\r\n"
            writer.write(head.encode() + text)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(handle, host.strip("[]"), int(port))
        return server.sockets[0].getsockname()[1]

    async def reply(self, method, path, body, old):
        if method != "POST":
            return 405, b""
        if old:
            if path != "/offer":
                return 404, b""
            return 200, json.dumps(await self.answer(json.loads(body))).encode()
        if path == "/con_notify":
            if body:
                say("unexpected body", path=path)
            return 200, self.notify()
        if path != "/con_ing_" + self.digits:
            return 404, b""
        envelope = json.loads(body)
        wrapped = base64.b64decode(envelope["data2"])
        key = PKCS1_v1_5.new(self.rsa).decrypt(wrapped, b"")
        if len(key) != 32:
            raise ValueError("the session key is not 32 bytes")
        cipher = AES.new(key, AES.MODE_ECB)
        plain = cipher.decrypt(base64.b64decode(envelope["data1"]))
        offer = json.loads(plain[:-plain[-1]])
        text = json.dumps(await self.answer(offer)).encode()
        pad = 16 - len(text) % 16
        sealed = AES.new(key, AES.MODE_ECB).encrypt(text + bytes([pad]) * pad)
        return 200, base64.b64encode(sealed)

    def notify(self):
        public = base64.b64encode(self.rsa.publickey().export_key("DER")).decode()
        token = "".join(letter + "ABCDEFGHIJ"[int(digit)]
                        for letter, digit in zip("zyxwv", self.digits))
        data1 = "0123456789" + public + token
        if OPTIONS.data2 in (2, 3):
            key = STATIC_KEY if OPTIONS.data2 == 2 else bytes.fromhex(OPTIONS.key)
            nonce = secrets.token_bytes(12)
            sealed, tag = AES.new(key, AES.MODE_GCM, nonce=nonce).encrypt_and_digest(data1.encode())
            data1 = base64.b64encode(sealed + nonce + tag).decode()
        return base64.b64encode(json.dumps({"data1": data1, "data2": OPTIONS.data2}).encode())


def kvs_shaped(sdp):
    """The same answer in the words of a real G1: its candidates' trailer, no max-message-size."""
    lines, out = sdp.replace("\r\n", "\n").split("\n"), []
    for line in lines:
        if line.startswith("a=candidate:"):
            line = line.split(" typ host")[0] + \
                " typ host raddr 0.0.0.0 rport 0 generation 0 network-cost 999"
        if line.startswith(("a=max-message-size", "a=end-of-candidates")):
            continue
        if line.startswith("a=msid-semantic"):
            line = "a=msid-semantic: WMS myKvsVideoStream"
        if line.startswith("a=fingerprint:") and not line.startswith("a=fingerprint:sha-256"):
            continue
        out.append(line)
        if line.startswith("a=ice-pwd"):
            out.append("a=ice-options:trickle")
            out.append("a=candidate:0 1 udp 2130706431 192.168.123.161 40123 typ host raddr 0.0.0.0 "
                       "rport 0 generation 0 network-cost 999")
    return "\r\n".join(out)


# The robot.

class Robot:
    def __init__(self):
        self.taught = {"Waist_Drum_Dance": 9.5}
        self.playing = self.recording = None
        self.returning = 0.0
        self.began = self.alive = 0.0
        self.mapping = False
        self.peer = None
        self.rejected = 0
        self.closing = set()

    async def answer(self, offer):
        if offer.get("type") != "offer" or "m=application" not in offer["sdp"]:
            raise ValueError("no offer")
        say("offer", keys=list(offer), id=offer["id"], sections=offer["sdp"].count("\nm="),
            credentials=len({line for line in offer["sdp"].split("\r\n") if "ice-ufrag" in line}),
            fingerprints=sorted({line.split()[0] for line in offer["sdp"].split("\r\n")
                                 if line.startswith("a=fingerprint")}))
        if self.peer is not None or self.rejected < OPTIONS.busy:
            self.rejected += 1
            say("rejected")
            return {"id": offer["id"], "type": "answer", "sdp": "reject"}
        peer = self.peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        if OPTIONS.rsa:
            # aiortc takes no certificate from outside.
            peer._RTCPeerConnection__certificates = [rsa_certificate()]

        @peer.on("datachannel")
        def opened(channel):
            Channel(self, channel)

        @peer.on("connectionstatechange")
        async def changed():
            say("connection", state=peer.connectionState)
            if peer.connectionState in ("failed", "closed") and self.peer is peer:
                self.peer = None

        sdp = offer["sdp"]
        # A robot is the DTLS client; aiortc would be that only if it were told to.
        setup = "active" if OPTIONS.passive else "passive"
        await peer.setRemoteDescription(RTCSessionDescription(
            sdp.replace("a=setup:actpass", "a=setup:" + setup), "offer"))
        await peer.setLocalDescription(await peer.createAnswer())
        sdp = peer.localDescription.sdp
        return {"type": "answer", "sdp": kvs_shaped(sdp) if OPTIONS.kvs else sdp, "id": offer["id"]}

    def arm_state(self, now):
        if self.recording and now - self.alive > 3:
            say("recording without keep-alive", name=self.recording)
            self.end_recording(now)
        if self.recording:
            return {"holding": False, "id": -1, "name": self.recording}
        if self.playing and now > self.began + self.taught.get(self.playing, 2.0):
            self.playing, self.returning = None, now + 4.0
        if self.playing:
            return {"holding": False, "id": 100, "name": self.playing}
        if now < self.returning:
            return {"holding": False, "id": 99, "name": "release_arm"}
        return {"holding": False, "id": 0, "name": ""}

    def end_recording(self, now):
        self.taught[self.recording] = round(now - self.began, 1)
        self.recording, self.returning = None, now + 4.0

    async def arm(self, api, parameter, now):
        text = json.loads(parameter) if parameter else {}
        name = text.get("action_name")
        if api != 7107:
            say("arm", api=api, parameter=parameter)
        if api == 7107:
            custom = [{"name": name, "time": time} for name, time in self.taught.items()]
            return 0, json.dumps([PRESETS, custom])
        if api == 7106:
            known = any(preset["id"] == text.get("data") for preset in PRESETS)
            return (0 if known else 7402), ""
        if api == 7108:
            await asyncio.sleep(0.33)
            if name not in self.taught:
                return 7402, ""
            if self.playing or self.recording:
                return 7400, ""
            self.playing, self.began = name, now
        elif api == 7109:
            if text["pre_name"] not in self.taught:
                return 7402, ""
            self.taught[text["new_name"]] = self.taught.pop(text["pre_name"])
        elif api == 7110 and parameter == "":
            if self.recording:
                self.end_recording(now)
        elif api == 7110 and name == "":
            self.alive = now
        elif api == 7110:
            await asyncio.sleep(0.33)
            self.recording, self.began, self.alive = name, now, asyncio.get_event_loop().time()
        elif api == 7112:
            if self.taught.pop(name, None) is None:
                return 7402, ""
        elif api == 7113:
            if self.playing:
                self.playing, self.returning = None, now + 4.0
        else:
            return 3203, ""
        return 0, ""

    def slam(self, api, parameter):
        say("slam", api=api, parameter=parameter)
        data = json.loads(parameter)["data"]
        if api == 1801:
            self.mapping = data["slam_type"] == "indoor"
        if api in (1802, 1901):
            self.mapping = False
        return 0, json.dumps({"succeed": True, "errorCode": 0, "info": "", "data": {}})


def cloud(number):
    """A wall of 50 points, 2 m ahead, in the form of a captured message."""
    points = [(2000, 20 * index, 10 * index) for index in range(50)]
    body = b"".join(struct.pack("<3H", *point) for point in points)
    head = json.dumps({
        "type": "msg", "topic": "rt/unitree/slam_mapping/points",
        "data": {"header": {"frame_id": "map"}, "is_dense": True, "xmin": -1.0, "xmax": 1.0,
                 "ymin": 0.5, "ymax": 1.48, "zmin": 0.0, "zmax": 0.49}}, separators=(",", ":"))
    head = head.encode()
    return struct.pack("<IIII", 2, len(head), len(body), 0)[:12] + head + body


class Channel:
    def __init__(self, robot, channel):
        self.robot, self.channel = robot, channel
        self.topics, self.valid = set(), False
        self.challenge = secrets.token_hex(16)
        say("channel", label=channel.label, id=channel.id)
        self.text({"type": "validation", "topic": "", "data": self.challenge})
        channel.on("message", lambda message: asyncio.ensure_future(self.hear(message)))
        self.ticker = asyncio.ensure_future(self.tick())
        channel.on("close", self.ticker.cancel)

    def text(self, message):
        if self.channel.readyState == "open":
            self.channel.send(json.dumps(message))

    async def tick(self):
        loop, count = asyncio.get_event_loop(), 0
        again = loop.time() + OPTIONS.revalidate if OPTIONS.revalidate else None
        while self.channel.readyState == "open":
            await asyncio.sleep(0.1)
            count += 1
            state = json.dumps(self.robot.arm_state(loop.time()))
            if again and loop.time() > again:
                self.valid, again = False, None
                self.challenge = secrets.token_hex(16)
                self.text({"type": "validation", "topic": "", "data": self.challenge})
            if not self.valid:
                continue
            if "rt/arm/action/state" in self.topics:
                self.text({"type": "msg", "topic": "rt/arm/action/state", "data": state})
            if self.robot.mapping and "rt/unitree/slam_mapping/points" in self.topics:
                self.channel.send(cloud(count))
            if self.robot.mapping and "rt/unitree/slam_mapping/odom" in self.topics:
                pose = {"position": {"x": 0.1 * count, "y": 0.0, "z": 0.0},
                        "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
                self.text({"type": "msg", "topic": "rt/unitree/slam_mapping/odom",
                           "data": {"header": {"frame_id": "map"}, "pose": {"pose": pose}}})

    async def hear(self, message):
        message = json.loads(message)
        kind, topic, data = message["type"], message.get("topic", ""), message.get("data")
        if kind == "validation":
            right = base64.b64encode(
                hashlib.md5(b"UnitreeGo2_" + self.challenge.encode()).digest()).decode()
            self.valid = data == right
            say("validation", right=self.valid)
            if self.valid:
                self.text({"type": "validation", "topic": "", "data": "Validation Ok."})
                self.text({"type": "errors", "data": [[1770000000, 200, 1]]})
            else:
                self.text({"type": "err", "info": "Validation Needed."})
        elif not self.valid:
            self.text({"type": "err", "info": "Validation Needed."})
        elif kind == "heartbeat":
            say("heartbeat", data=data)
            self.text(message)
        elif kind == "subscribe":
            if topic.startswith("rt/utlidar"):
                self.text({"type": "err", "info": "Invalid Topic." + topic})
            self.topics.add(topic)
        elif kind == "unsubscribe":
            self.topics.discard(topic)
        elif kind == "rtc_inner_req" and data.get("req_type") == "disable_traffic_saving":
            say("traffic saving", data=data)
            self.text({"type": "rtc_inner_req", "topic": "", "info": {
                "req_type": "disable_traffic_saving", "execution": "ok"}})
        elif kind == "req":
            await self.request(topic, data)

    async def request(self, topic, data):
        identity = data["header"]["identity"]
        now = asyncio.get_event_loop().time()
        api, parameter = identity["api_id"], data["parameter"]
        if topic == "rt/api/arm/request":
            code, text = await self.robot.arm(api, parameter, now)
        elif topic == "rt/api/slam_operate/request":
            code, text = self.robot.slam(api, parameter)
        elif topic == "rt/api/motion_switcher/request":
            code, text = 0, json.dumps({"form": "0", "name": "ai"})
        else:
            code, text = 3203, ""
        self.text({"type": "res", "topic": topic.replace("request", "response"), "data": {
            "header": {"identity": identity, "status": {"code": code}}, "data": text}})


async def main():
    if OPTIONS.no_ack:
        without_acknowledgement()
    if OPTIONS.rsa or OPTIONS.no_ems or OPTIONS.cbc:
        other_cryptography()
    robot = Robot()
    signalling = Signalling(robot.answer)
    ports = {}
    for name, address in (("new", OPTIONS.new), ("old", OPTIONS.old)):
        if address:
            ports[name] = await signalling.serve(address, name == "old")
    say("ready", aiortc=aiortc.__version__, **ports)
    ended, loop = asyncio.Event(), asyncio.get_event_loop()

    def listen():
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=listen, daemon=True).start()
    await ended.wait()
    if robot.peer:
        await robot.peer.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
