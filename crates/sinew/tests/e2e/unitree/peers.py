"""Two WebRTC peers on aiortc that talk over a data channel and send each other sound.

Shares nothing with Sinew. Prints how many messages came back, as JSON.
"""

import asyncio
import json

from aiortc import RTCConfiguration, RTCPeerConnection
from aiortc.mediastreams import AudioStreamTrack

MESSAGES = 60


async def main():
    here, there = (RTCPeerConnection(RTCConfiguration(iceServers=[])) for _ in range(2))
    here.addTrack(AudioStreamTrack())
    there.addTrack(AudioStreamTrack())
    channel = here.createDataChannel("data")
    came, done, is_open = [], asyncio.Event(), asyncio.Event()
    channel.on("open", is_open.set)

    @channel.on("message")
    def note(message):
        came.append(message)
        if len(came) == MESSAGES:
            done.set()

    @there.on("datachannel")
    def answer(other):
        other.on("message", other.send)

    await here.setLocalDescription(await here.createOffer())
    await there.setRemoteDescription(here.localDescription)
    await there.setLocalDescription(await there.createAnswer())
    await here.setRemoteDescription(there.localDescription)
    await asyncio.wait_for(is_open.wait(), 20)
    for number in range(MESSAGES):
        channel.send(json.dumps({"number": number}))
        await asyncio.sleep(0.03)
    await asyncio.wait_for(done.wait(), 20)
    await here.close()
    await there.close()
    print(json.dumps({"came": len(came)}))


asyncio.run(main())
