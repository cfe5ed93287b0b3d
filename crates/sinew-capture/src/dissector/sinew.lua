-- Before Lua 5.3 Wireshark brings a library for bits, since then the language has them.
local bits = bit or bit32
if not bits then
  bits = load([[return {
    bxor = function(a, b) return a ~ b end,
    band = function(a, b) return a & b end,
    rshift = function(a, n) return a >> n end,
  }]])()
end

local crc_table = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    local odd = crc % 2 == 1
    crc = bits.rshift(crc, 1)
    if odd then crc = bits.bxor(crc, 0xEDB88320) end
    crc = crc % 4294967296
  end
  crc_table[byte] = crc
end

local function crc32(bytes)
  local crc = 0xFFFFFFFF
  for i = 1, #bytes do
    local low = bits.band(bits.bxor(crc, bytes:byte(i)), 0xFF)
    crc = bits.bxor(bits.rshift(crc, 8), crc_table[low]) % 4294967296
  end
  return bits.bxor(crc, 0xFFFFFFFF) % 4294967296
end

local function u16(bytes, at)
  local high, low = bytes:byte(at + 1, at + 2)
  return low and high * 256 + low
end

-- Fields ---------------------------------------------------------------------------------------

local gd32 = Proto("sinew_gd32", "GD32 frame")
local teach = Proto("sinew_teach", "G1 teaching datagram")
local delta2d = Proto("sinew_delta2d", "Delta-2D frame")
local serial = Proto("sinew_serial", "Robot's serial line")

local integers = {
  u8 = "uint8", u16 = "uint16", u32 = "uint32", u64 = "uint64", i16 = "int16", i32 = "int32",
}
local readers = {
  little = { u8 = "uint", u16 = "le_uint", i16 = "le_int", i32 = "le_int" },
  big = { u8 = "uint", u16 = "uint", i16 = "int", u32 = "uint" },
}
local registered = {}

local function made(proto, key, make)
  local fields = registered[proto] or {}
  registered[proto] = fields
  if not fields[key] then fields[key] = make(proto.name:lower() .. "." .. key) end
  return fields[key]
end

-- Makes what Wireshark is told of a part of a message, once for all messages that have it.
local function declared(proto, message, part)
  local key, label = message.key .. "." .. part.name, part.name
  local kind = part.kind
  part.field = made(proto, key, function(name)
    if kind == "bytes" then return ProtoField.bytes(name, label) end
    if kind == "text" or kind == "version" then return ProtoField.string(name, label) end
    if kind == "f32s" then return ProtoField.float(name, label) end
    if kind == "flag" then return ProtoField.bool(name, label, 8, nil, part.mask) end
    if kind == "samples" or kind == "keyframes" then return ProtoField.none(name, label) end
    if kind == "lookup" or part.scale then return ProtoField.double(name, label) end
    return ProtoField[integers[kind]](name, label, base.DEC, part.values)
  end)
  local function inner(suffix, type)
    return made(proto, key .. "." .. suffix, function(name) return ProtoField[type](name, suffix) end)
  end
  if kind == "version" then
    part.code = made(proto, message.key .. ".code", function(name)
      return ProtoField.int32(name, "code")
    end)
  elseif kind == "keyframes" then
    part.joint, part.time = inner("joint", "uint16"), inner("time_ms", "uint16")
    part.value = inner("value", "float")
  elseif kind == "samples" then
    part.quality, part.distance = inner("quality", "uint8"), inner("metres", "double")
  end
end

local by_command = {}
for _, message in ipairs(GD32.messages) do
  for _, part in ipairs(message.fields) do declared(gd32, message, part) end
  local of_command = by_command[message.command] or { host = {}, robot = {} }
  by_command[message.command] = of_command
  table.insert(of_command[message.from], message)
end
for _, layout in ipairs({ TEACH.documented, TEACH.compact }) do
  for _, message in pairs(layout.messages) do
    for _, part in ipairs(message.fields) do declared(teach, message, part) end
  end
end
for _, message in pairs(DELTA2D.messages) do
  for _, part in ipairs(message.fields) do declared(delta2d, message, part) end
end

local function common(proto)
  return {
    command = made(proto, "command", function(name) return ProtoField.uint8(name, "command", base.HEX) end),
    name = made(proto, "name", function(name) return ProtoField.string(name, "name") end),
    length = made(proto, "length", function(name) return ProtoField.uint16(name, "length") end),
    payload = made(proto, "payload", function(name) return ProtoField.bytes(name, "payload") end),
    rest = made(proto, "rest", function(name) return ProtoField.bytes(name, "not known") end),
    check = made(proto, "check", function(name)
      return ProtoField[proto == teach and "uint32" or "uint16"](name, "check", base.HEX)
    end),
    right = made(proto, "check_right", function(name) return ProtoField.bool(name, "check is right") end),
    short = ProtoExpert.new(proto.name:lower() .. ".short", "The payload is too short for its command",
      expert.group.MALFORMED, expert.severity.WARN),
    wrong = ProtoExpert.new(proto.name:lower() .. ".wrong", "The check is wrong",
      expert.group.CHECKSUM, expert.severity.WARN),
  }
end
local g, t, d = common(gd32), common(teach), common(delta2d)
t.layout = made(teach, "layout", function(name) return ProtoField.string(name, "layout") end)
t.sequence = made(teach, "sequence", function(name) return ProtoField.uint16(name, "sequence") end)
t.action_name = made(teach, "list.name", function(name) return ProtoField.string(name, "name") end)
t.metadata = made(teach, "list.metadata", function(name) return ProtoField.uint32(name, "metadata") end)
t.count = made(teach, "list.count", function(name) return ProtoField.uint16(name, "count") end)
d.version = made(delta2d, "version", function(name) return ProtoField.uint8(name, "version", base.HEX) end)
d.type = made(delta2d, "type", function(name) return ProtoField.uint8(name, "type", base.HEX) end)
local rubbish = ProtoField.bytes("sinew_serial.rubbish", "no frame")
serial.fields = { rubbish }
for proto, fields in pairs(registered) do
  local list = {}
  for _, field in pairs(fields) do table.insert(list, field) end
  proto.fields = list
end
gd32.experts, teach.experts, delta2d.experts = { g.short, g.wrong }, { t.short, t.wrong }, { d.short, d.wrong }

-- Parts of payloads ----------------------------------------------------------------------------

-- Text up to a NUL, or all of it.
local function text(range)
  local length = (range:raw():find("%z") or range:len() + 1) - 1
  if length == 0 then return "" end
  return range(0, length):string(ENC_UTF_8)
end

-- A version's text has its length before it where that fits, else it ends at a NUL.
local function version(range)
  local length = range(0, 1):uint()
  if length >= 128 or length >= range:len() then return text(range) end
  if length == 0 then return "" end
  return range(1, length):string(ENC_UTF_8)
end

local shown = {}

function shown.bytes(tree, part, range) tree:add(part.field, range) end

function shown.text(tree, part, range) tree:add(part.field, range, text(range)) end

function shown.flag(tree, part, range) tree:add(part.field, range) end

function shown.version(tree, part, range)
  tree:add(part.field, range, version(range))
  if range:len() >= 8 then tree:add_le(part.code, range(4, 4)) end
end

function shown.lookup(tree, part, range) tree:add(part.field, range, part.lookup[range:uint() + 1]) end

function shown.f32s(tree, part, range)
  for at = 0, range:len() - 4, 4 do tree:add(part.field, range(at, 4)) end
end

-- A slot of zeros is not used.
function shown.keyframes(tree, part, range)
  local all = tree:add(part.field, range)
  local size = range:len() / part.slots
  for slot = 0, part.slots - 1 do
    local bytes = range(slot * size, size)
    if bytes:raw():find("[^%z]") then
      all:add(part.joint, bytes(0, 2))
      all:add(part.time, bytes(2, 2))
      all:add(part.value, bytes(4, 4))
    end
  end
end

function shown.samples(tree, part, range)
  local all = tree:add(part.field, range)
  for at = 0, range:len() - 3, 3 do
    all:add(part.quality, range(at, 1))
    all:add(part.distance, range(at + 1, 2), range(at + 1, 2):uint() * part.scale)
  end
end

local function number(tree, part, range, order)
  local item
  if part.scale then
    item = tree:add(part.field, range, range[readers[order][part.kind]](range) * part.scale)
  elseif order == "little" then
    item = tree:add_le(part.field, range)
  else
    item = tree:add(part.field, range)
  end
  if part.unit then item:append_text(part.unit) end
end

-- Shows the parts of a message, and gives the place behind the last.
local function parts(tree, message, payload, order, experts)
  local at = 0
  for _, part in ipairs(message.fields) do
    local length = part.length
    if part.kind == "version" or part.kind == "samples" then length = payload:len() - part.at end
    if part.kind == "samples" then length = length - length % 3 end
    if length < 0 or part.at + length > payload:len() then
      tree:add_proto_expert_info(experts.short)
      return payload:len()
    end
    if length > 0 then
      local range = payload(part.at, length)
      if shown[part.kind] then shown[part.kind](tree, part, range) else number(tree, part, range, order) end
    end
    at = math.max(at, part.at + length)
  end
  return at
end

local function rest(tree, fields, payload, at)
  if at < payload:len() then tree:add(fields.rest, payload(at)) end
end

-- An empty range cannot be made of a packet, so it is given as a string of none.
local nothing = { len = function() return 0 end }

local function range_of(tvb, at, length)
  if length == 0 then return nothing end
  return tvb(at, length)
end

-- GD32 -----------------------------------------------------------------------------------------

-- The length of a frame with a right check, or of one that is damaged, and which of both.
local function gd32_length(bytes, at)
  local a, b, length, command = bytes:byte(at + 1, at + 4)
  if a ~= GD32.sync[1] or b ~= GD32.sync[2] or not command then return end
  -- 0x08 may come without a check.
  if length == 1 and command == 0x08 then return 4, true end
  if length < 3 or at + 3 + length > #bytes then return end
  local sum, last = 0, at + length
  for place = at + 3, last, 2 do
    if place + 1 <= last then
      sum = (sum + u16(bytes, place)) % 65536
    else
      sum = bits.bxor(sum, bytes:byte(place + 1))
    end
  end
  return 3 + length, sum == u16(bytes, last + 1)
end

local function gd32_fits(messages, length)
  for _, message in ipairs(messages) do
    if message.length == length or not message.length and length > 0 then return message end
  end
end

-- Which side sent it, where the capture does not say: what the payload's length speaks for.
local function gd32_guess(known, length)
  if #known.host == 0 then return "robot" end
  if gd32_fits(known.robot, length) and not gd32_fits(known.host, length) then return "robot" end
  return "host"
end

local function gd32_frame(tvb, at, length, from, tree, pinfo)
  local is_checked = length > 4
  local frame = tree:add(gd32, tvb(at, length))
  local code = tvb(at + 3, 1):uint()
  local payload_length = is_checked and length - 6 or 0
  local payload = range_of(tvb, at + 4, payload_length)
  local known, message, name = by_command[code], nil, "Unknown"
  if known then
    from = from or gd32_guess(known, payload_length)
    local messages = known[from]
    message = gd32_fits(messages, payload_length) or messages[#messages]
    if message then name = message.name else name = known.host[1] and known.host[1].name or known.robot[1].name end
  end
  frame:append_text(string.format(", %s (0x%02X)", name, code))
  frame:add(g.length, tvb(at + 2, 1))
  frame:add(g.command, tvb(at + 3, 1))
  frame:add(g.name, tvb(at + 3, 1), name)
  if payload_length > 0 then frame:add(g.payload, payload) end
  rest(frame, g, payload, message and parts(frame, message, payload, "little", g) or 0)
  if is_checked then
    frame:add(g.check, tvb(at + length - 2, 2))
    frame:add(g.right, tvb(at + length - 2, 2), true)
  end
  return gd32, name
end

-- Delta-2D -------------------------------------------------------------------------------------

local function delta2d_length(bytes, at)
  if bytes:byte(at + 1) ~= DELTA2D.sync then return end
  local length, count = u16(bytes, at + 1), u16(bytes, at + 6)
  if not count or length ~= DELTA2D.header + count or count > DELTA2D.longest then return end
  if at + length + 2 > #bytes then return end
  local sum = 0
  for place = at + 1, at + length do sum = sum + bytes:byte(place) end
  return length + 2, sum % 65536 == u16(bytes, at + length)
end

local function delta2d_frame(tvb, at, length, _, tree)
  local frame = tree:add(delta2d, tvb(at, length))
  local code = tvb(at + 5, 1):uint()
  local message = DELTA2D.messages[code]
  local name = message and message.name or "Unknown"
  local payload = range_of(tvb, at + DELTA2D.header, length - DELTA2D.header - 2)
  frame:append_text(string.format(", %s (0x%02X)", name, code))
  frame:add(d.length, tvb(at + 1, 2))
  frame:add(d.version, tvb(at + 3, 1))
  frame:add(d.type, tvb(at + 4, 1))
  frame:add(d.command, tvb(at + 5, 1))
  frame:add(d.name, tvb(at + 5, 1), name)
  if payload:len() > 0 then frame:add(d.payload, payload) end
  rest(frame, d, payload, message and parts(frame, message, payload, "big", d) or 0)
  frame:add(d.check, tvb(at + length - 2, 2))
  frame:add(d.right, tvb(at + length - 2, 2), true)
  return delta2d, name
end

-- Serial lines ---------------------------------------------------------------------------------

-- A frame with a right check at this place: its length, and what shows it.
local function frame_at(bytes, at)
  local length, is_right = gd32_length(bytes, at)
  if is_right then return length, gd32_frame end
  length, is_right = delta2d_length(bytes, at)
  if is_right then return length, delta2d_frame end
end

local first_bytes = string.format("[%%%s%%%s]", string.char(GD32.sync[1]), string.char(DELTA2D.sync))

local function next_frame(bytes, at)
  while true do
    local place = bytes:find(first_bytes, at + 1)
    if not place then return #bytes end
    if frame_at(bytes, place - 1) then return place - 1 end
    at = place
  end
end

-- A frame that goes on in the next packet is not joined: a log has a frame in a packet.
local function walked(tvb, pinfo, tree, from)
  local bytes, at, said, last = tvb:raw(), 0, {}, serial
  while at < #bytes do
    local length, show = frame_at(bytes, at)
    if length then
      local name
      last, name = show(tvb, at, length, from, tree, pinfo)
      table.insert(said, name)
      at = at + length
    else
      local behind = next_frame(bytes, at)
      local line = tree:add(serial, tvb(at, behind - at))
      line:add(rubbish, tvb(at, behind - at))
      local damaged = gd32_length(bytes, at)
      if damaged then line:add_proto_expert_info(g.wrong) end
      at = behind
    end
  end
  pinfo.cols.protocol = last.description
  pinfo.cols.info = #said > 0 and table.concat(said, ", ") or "no frame"
  return #bytes
end

function serial.dissector(tvb, pinfo, tree)
  local sides = { [0] = "host", [1] = "robot" }
  return walked(tvb, pinfo, tree, sides[pinfo.p2p_dir])
end

-- Teaching datagrams ---------------------------------------------------------------------------

local teach_magic = string.char((table.unpack or unpack)(TEACH.magic))

-- The layout whose length field counts these bytes; bytes 8 to 12 decide when both would do.
local function teach_layout(bytes)
  if bytes:sub(1, #teach_magic) ~= teach_magic then return end
  local function fits(layout)
    local counted = u16(bytes, layout.header - 2)
    local payload = counted and counted - layout.counted
    return payload and payload >= 0 and layout.header + payload + 4 == #bytes
  end
  local documented, compact = fits(TEACH.documented), fits(TEACH.compact)
  if documented and compact then compact = bytes:sub(9, 12) ~= "\0\0\0\1" end
  if compact then return TEACH.compact, "compact" end
  if documented then return TEACH.documented, "documented" end
end

local function teach_check(bytes)
  return crc32(bytes:sub(1, -5)) == u16(bytes, #bytes - 4) * 65536 + u16(bytes, #bytes - 2)
end

local NAME, METADATA = TEACH.action.name, TEACH.action.metadata
local ACTION = NAME + METADATA

local function teach_list_fits(payload)
  if payload:len() < 2 then return false end
  return 2 + payload(0, 2):uint() * ACTION <= payload:len()
end

local function teach_list(tree, payload)
  if not teach_list_fits(payload) then
    tree:add_proto_expert_info(t.short)
    return 0
  end
  local count = payload(0, 2):uint()
  tree:add(t.count, payload(0, 2))
  for at = 2, 2 + (count - 1) * ACTION, ACTION do
    tree:add(t.action_name, payload(at, NAME), text(payload(at, NAME)))
    tree:add(t.metadata, payload(at + NAME, METADATA))
  end
  return 2 + count * ACTION
end

-- What a datagram says: answers have the sizes of requests, so the sender matters.
local function teach_message(layout, code, payload, from)
  local known, codes, length = layout.messages, TEACH.codes, payload:len()
  if not TEACH.names[code] then return end
  if code == codes.List then
    local brief = from == "robot" and (length < 4 or teach_list_fits(payload) and payload(0, 2):uint() > 0)
    if length > layout.control and from ~= "host" or brief then return "list" end
  end
  if code == codes.Subscribe and from ~= "host" and length >= known.status.length then return known.status end
  -- The compact layout's state is the shorter.
  if code == codes.Enter and from ~= "robot" and length >= TEACH.compact.messages.enter.length then
    return known.enter
  end
  if from == "robot" then return known.answer end
  local requests = {
    [codes.Ready] = known.ready, [codes.Enter] = known.maintain, [codes.Exit] = known.exit,
    [codes.Record] = known.record, [codes.Save] = known.save, [codes.Play] = known.play,
  }
  return requests[code]
end

function teach.dissector(tvb, pinfo, tree)
  local bytes = tvb:raw()
  local layout, word = teach_layout(bytes)
  if not layout then return 0 end
  local header, size = layout.header, #bytes
  local code = tvb(header - 3, 1):uint()
  local name = TEACH.names[code] or "Unknown"
  local from = pinfo.src_port == TEACH.port and "robot" or pinfo.dst_port == TEACH.port and "host" or nil
  local datagram = tree:add(teach, tvb())
  datagram:append_text(string.format(", %s (0x%02X), %s layout", name, code, word))
  datagram:add(t.layout, tvb(0, header), word)
  datagram:add(t.sequence, tvb(6, 2))
  datagram:add(t.command, tvb(header - 3, 1))
  datagram:add(t.name, tvb(header - 3, 1), name)
  datagram:add(t.length, tvb(header - 2, 2))
  local payload = range_of(tvb, header, size - header - 4)
  if payload:len() > 0 then datagram:add(t.payload, payload) end
  local is_right, behind = teach_check(bytes), 0
  if is_right then
    local message = teach_message(layout, code, payload, from)
    if message == "list" then
      behind = teach_list(datagram, payload)
    elseif message then
      behind = parts(datagram, message, payload, "big", t)
    end
  end
  rest(datagram, t, payload, behind)
  datagram:add(t.check, tvb(size - 4, 4))
  datagram:add(t.right, tvb(size - 4, 4), is_right)
  if not is_right then datagram:add_proto_expert_info(t.wrong) end
  pinfo.cols.protocol = "Teaching"
  pinfo.cols.info = string.format("%s, sequence %d%s", name, tvb(6, 2):uint(), is_right and "" or ", check wrong")
  return size
end

-- Where they are looked for --------------------------------------------------------------------

-- DTLS records begin the same way, and only the check tells: none of theirs is right.
teach:register_heuristic("udp", function(tvb, pinfo, tree)
  local bytes = tvb:raw()
  if not teach_layout(bytes) or not teach_check(bytes) then return false end
  teach.dissector(tvb, pinfo, tree)
  -- A damaged one of the same two ends is shown as such.
  pinfo.conversation = teach
  return true
end)

serial:register_heuristic("udp", function(tvb, pinfo, tree)
  if not frame_at(tvb:raw(), 0) then return false end
  walked(tvb, pinfo, tree)
  return true
end)

DissectorTable.get("udp.port"):add_for_decode_as(teach)
DissectorTable.get("udp.port"):add_for_decode_as(serial)
DissectorTable.get("wtap_encap"):add((wtap_encaps or wtap).USER0, serial)
