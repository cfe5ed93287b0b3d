"""Reads a recording with the package `mcap`, every check on, and prints what is in it as JSON."""

import json
import sys
from collections import Counter

import jsonschema
from mcap.exceptions import EndOfFile
from mcap.reader import NonSeekingReader, make_reader
from mcap.stream_reader import StreamReader
from mcap_protobuf.decoder import DecoderFactory

path = sys.argv[1]
factory = DecoderFactory()
counts, decoders, validators = Counter(), {}, {}


def check(schema, channel, message):
    """One message is what its schema says."""
    counts[channel.topic] += 1
    if channel.message_encoding == "protobuf":
        if channel.id not in decoders:
            decoders[channel.id] = factory.decoder_for(channel.message_encoding, schema)
        decoded = decoders[channel.id](message.data)
        if schema.name == "foxglove.PointCloud":
            assert len(decoded.data) % decoded.point_stride == 0
            assert [field.name for field in decoded.fields][:3] == ["x", "y", "z"]
        elif schema.name == "foxglove.LaserScan":
            assert len(decoded.ranges) == len(decoded.intensities) == 360
        elif schema.name == "foxglove.Grid":
            assert len(decoded.data) % decoded.row_stride == 0
    elif channel.message_encoding == "json":
        assert schema.encoding == "jsonschema"
        if schema.id not in validators:
            validators[schema.id] = jsonschema.Draft202012Validator(json.loads(schema.data))
        validators[schema.id].validate(json.loads(message.data))
    else:
        assert schema is None and channel.message_encoding in ("text/plain", "application/octet-stream")


# Front to back, as far as the file goes: one that was not finished ends early.
finished = True
with open(path, "rb") as stream:
    schemas, channels = {}, {}
    try:
        for record in StreamReader(stream, validate_crcs=True).records:
            kind = type(record).__name__
            if kind == "Schema":
                schemas[record.id] = record
            elif kind == "Channel":
                channels[record.id] = record
            elif kind == "Message":
                channel = channels[record.channel_id]
                check(schemas.get(channel.schema_id), channel, record)
    except EndOfFile:
        finished = False

if finished:
    front = dict(counts)
    counts.clear()
    # By its index, in order of time.
    with open(path, "rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        assert not isinstance(reader, NonSeekingReader)
        summary = reader.get_summary()
        last = 0
        for schema, channel, message in reader.iter_messages():
            assert message.log_time >= last
            last = message.log_time
            check(schema, channel, message)
    assert dict(counts) == front, (counts, front)
    statistics = summary.statistics
    assert statistics.message_count == sum(counts.values())
    assert statistics.chunk_count == len(summary.chunk_indexes) > 0
    assert statistics.channel_count == len(summary.channels)
    by_topic = Counter()
    for channel, count in statistics.channel_message_counts.items():
        by_topic[summary.channels[channel].topic] += count
    assert by_topic == counts
    assert all(index.compression == "zstd" and index.message_index_offsets for index in summary.chunk_indexes)
    assert summary.metadata_indexes and summary.metadata_indexes[0].name == "sinew"

print(json.dumps({"finished": finished, "messages": sum(counts.values()), "topics": counts}))
