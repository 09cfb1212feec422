//===- Transfers.cpp - copies of inputs and outputs that overlap with computation -===//

#include "runtime/cuda/Transfers.h"

#include "runtime/base/Error.h"

#include <cstring>

namespace tessera::runtime::cuda {

/// Alignment of values in the staging buffer, as in the arena.
static constexpr int64_t valueAlignment = 64;

static int64_t alignedBytes(const ValueSpec &value) {
  return (value.bytes + valueAlignment - 1) / valueAlignment * valueAlignment;
}

static int64_t sumOf(const std::vector<ValueSpec> &values) {
  int64_t bytes = 0;
  for (const ValueSpec &value : values) bytes += alignedBytes(value);
  return bytes;
}

int64_t Transfers::bytesFor(const EntryFunction &entry) { return sumOf(entry.inputs); }

Transfers::Transfers(int64_t bytes, DevicePointer arena, const Mirror &mirror, Stream stream)
    : bytes(bytes), arena(arena), mirror(mirror), stream(stream) {
  driver.check(driver.streamCreate(&upload, streamNonBlocking), "cannot create a stream");
  if (bytes > 0)
    driver.check(driver.memAlloc(&staging, static_cast<size_t>(bytes)),
                 fmt::format("cannot allocate {} bytes for inputs", bytes));
  for (Event *event : {&sent, &taken, &slots[0].done, &slots[1].done})
    driver.check(driver.eventCreate(event, eventDisableTiming), "an event");
}

Transfers::~Transfers() {
  driver.streamSynchronize(upload);
  for (Slot &slot : slots) {
    if (slot.memory) driver.memFreeHost(slot.memory);
    driver.eventDestroy(slot.done);
  }
  driver.eventDestroy(sent);
  driver.eventDestroy(taken);
  if (staging) driver.memFree(staging);
  driver.streamDestroy(upload);
}

void Transfers::sendInputs(const EntryFunction &entry) {
  if (entry.inputs.empty()) return;
  driver.check(driver.streamWaitEvent(upload, taken, 0), "cannot wait for an event");
  DevicePointer at = staging;
  for (const ValueSpec &input : entry.inputs) {
    mirror.copyToDevice(at, input.offset, input.bytes, upload, "cannot copy input " + input.name);
    at += alignedBytes(input);
  }
  driver.check(driver.eventRecord(sent, upload), "an event");
  driver.check(driver.streamWaitEvent(stream, sent, 0), "cannot wait for an event");
  at = staging;
  for (const ValueSpec &input : entry.inputs) {
    driver.check(driver.memcpyDtoDAsync(arena + input.offset, at, input.bytes, stream),
                 "cannot copy input " + input.name);
    at += alignedBytes(input);
  }
  driver.check(driver.eventRecord(taken, stream), "an event");
  driver.check(driver.eventSynchronize(sent), "cannot copy the inputs");
}

void Transfers::fetchOutputs(const EntryFunction &entry) {
  Slot &slot = slots[nextFilled];
  if (int64_t bytes = sumOf(entry.outputs); bytes > slot.bytes) {
    if (slot.memory) driver.memFreeHost(slot.memory);
    slot.memory = nullptr;
    driver.check(driver.memHostAlloc(reinterpret_cast<void **>(&slot.memory), bytes, 0),
                 fmt::format("cannot allocate {} bytes of pinned memory", bytes));
    slot.bytes = bytes;
  }
  char *at = slot.memory;
  for (const ValueSpec &output : entry.outputs) {
    driver.check(driver.memcpyDtoHAsync(at, arena + output.offset, output.bytes, stream),
                 "cannot copy output " + output.name);
    at += alignedBytes(output);
  }
  driver.check(driver.eventRecord(slot.done, stream), "an event");
  nextFilled = (nextFilled + 1) % maxCallsInFlight;
  calls.push_back(&entry);
}

void Transfers::showOutputs() {
  const char *at = slots[nextWaited].memory;
  for (const ValueSpec &output : calls.front()->outputs) {
    memcpy(mirror.at(output.offset), at, output.bytes);
    at += alignedBytes(output);
  }
  nextWaited = (nextWaited + 1) % maxCallsInFlight;
  calls.pop_front();
}

} // namespace tessera::runtime::cuda
